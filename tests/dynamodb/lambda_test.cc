// The aggregator as a function of Lambda, with a runtime API that hands out events of a real stream, some of
// them several times.
#include "app/lambda.h"

#include <poll.h>

#include <thread>

#include "base/json.h"
#include "dynamodb/table.h"
#include "store/dynamodb/description.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

/// The runtime API of Lambda: one connection, one event after the other.
class FakeRuntime {
 public:
  explicit FakeRuntime(std::vector<std::string> events) : events_(std::move(events)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&name), size), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&name), &size);
    EXPECT_EQ(::listen(listening_, 4), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(name.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeRuntime() { thread_.join(); }

  std::string address;
  std::vector<std::string> answers;  ///< path and body, once it has ended

 private:
  void serve() {
    // A client that lost its connection may come back.
    while (!over_) {
      pollfd waiting{listening_, POLLIN, 0};
      if (::poll(&waiting, 1, 60'000) != 1) break;
      connection_ = ::accept(listening_, nullptr, nullptr);
      while (!over_ && answer_one()) {
      }
      ::close(connection_);
    }
    ::close(listening_);
  }
  bool answer_one() {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      char c = 0;
      if (::read(connection_, &c, 1) != 1) return false;
      head += c;
    }
    std::string body(length_in(head), '\0');
    for (std::size_t at = 0; at < body.size();) {
      const ssize_t got = ::read(connection_, body.data() + at, body.size() - at);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    const std::string path = head.substr(head.find(' ') + 1, head.find(" HTTP") - head.find(' ') - 1);
    if (head.starts_with("GET")) {
      if (next_ == events_.size()) return over_ = true, false;
      const std::string& event = events_[next_];
      return send("200 OK", "Lambda-Runtime-Aws-Request-Id: id-" + std::to_string(next_++) + "\r\n", event);
    }
    answers.push_back(path + " " + body);
    return send("202 Accepted", "", "{}");
  }
  static std::size_t length_in(const std::string& head) {
    const std::size_t at = head.find("ontent-");
    const std::size_t length = head.find("ength:", at);
    return length == std::string::npos ? 0 : std::stoul(head.substr(length + 6));
  }
  bool send(const std::string& status, const std::string& fields, const std::string& body) const {
    const std::string answer = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                               "\r\n" + fields + "\r\n" + body;
    return ::write(connection_, answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
  }

  const std::vector<std::string> events_;
  std::size_t next_ = 0;
  int listening_ = -1;
  int connection_ = -1;
  bool over_ = false;
  std::thread thread_;
};

/// The records of a table's stream, as events of Lambda have them.
std::vector<std::string> records_of(const TestTable& table) {
  const SystemClock clock;
  base::SystemEntropy entropy;
  auto client = *connect_to_streams({.table = table.table, .endpoint = table.endpoint, .deadline = 60s},
                                    clock, entropy);
  const std::string arn =
      read_table(table.client->ask("DescribeTable", named(table.table), true).body).stream_arn;
  const std::string of_stream = "{\"StreamArn\":" + base::json_string(arn);
  const auto text_in = [](const std::string& json, const std::string& name) {
    const std::size_t at = json.find('"' + name + "\":\"");
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + name.size() + 4;
    return json.substr(begin, json.find('"', begin) - begin);
  };
  const std::string shard = text_in(client->ask("DescribeStream", of_stream + "}", true).body, "ShardId");
  std::string iterator = text_in(
      client
          ->ask("GetShardIterator",
                of_stream + ",\"ShardId\":\"" + shard + R"(","ShardIteratorType":"TRIM_HORIZON"})", true)
          .body,
      "ShardIterator");
  std::vector<std::string> records;
  for (bool more = true; more;) {
    const auto page =
        client->ask("GetRecords", "{\"ShardIterator\":" + base::json_string(iterator) + "}", true);
    wire::json::Reader reader(page.body);
    std::string member;
    more = false;
    for (reader.object(); reader.member(member);) {
      if (member == "NextShardIterator") {
        reader.string(iterator);
      } else if (member == "Records") {
        for (reader.array(); reader.element(); more = true) {
          std::string_view raw;
          reader.raw(raw);
          records.push_back("{\"eventSourceARN\":" + base::json_string(arn) + "," +
                            std::string(raw.substr(1)));
        }
      } else {
        reader.skip();
      }
    }
  }
  return records;
}

TEST(LambdaFunction, EventsThatComeAgainAreCountedOnce) {
  TestTable table;
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "1000000/min"}}));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(limiter.acquire("key-" + std::to_string(i % 3), "gpt-4", {{"rpm", 1 + i % 5}})->admitted());
    table.clock.advance(3min);
  }
  const std::vector<std::string> records = records_of(table);
  ASSERT_GT(records.size(), 200U);
  std::vector<std::string> events;
  for (std::size_t at = 0; at < records.size(); at += 7) {
    // Each batch begins a little before the end of the last one, and some come twice.
    std::string event = "{\"Records\":[";
    const std::size_t from = at - std::min<std::size_t>(at, 3);
    for (std::size_t i = from; i < std::min(records.size(), at + 7); ++i)
      event += (i == from ? "" : ",") + records[i];
    event += "]}";
    for (std::size_t copies = 1 + at % 2; copies > 0; --copies) events.push_back(event);
    if (at == 70) events.push_back(events[2]);
  }
  events.emplace_back(R"({"source":"aws.events"})");
  events.emplace_back("not an event");
  std::vector<std::string> reported;
  {
    FakeRuntime runtime(events);
    const auto ran = app::run_lambda(
        table.url(), {runtime.address, [&](const std::string& message) { reported.push_back(message); }});
    EXPECT_FALSE(ran) << "it ends with the API";
    ASSERT_EQ(runtime.answers.size(), events.size());
    EXPECT_EQ(runtime.answers.front(),
              R"(/2018-06-01/runtime/invocation/id-0/response {"batchItemFailures":[]})");
    EXPECT_NE(runtime.answers.back().find("/error {\"errorType\""), std::string::npos);
  }
  EXPECT_EQ(reported.size(), 1U);
  auto store = table.store();
  for (int i = 0; i < 3; ++i) {
    const std::string entity = "key-" + std::to_string(i);
    const auto page = store::wait_for<Page<Usage>>([&](store::Completion<Page<Usage>> done) {
      store->usage().read({.name_space = "default", .entity = entity, .to = last_window}, {.limit = 1000},
                          done);
    });
    ASSERT_TRUE(page);
    std::int64_t rpm = 0;
    std::int64_t counted = 0;
    for (const Usage& row : page->items) {
      rpm += row.limits.at(0).amount.millitokens();
      counted += row.events;
    }
    EXPECT_EQ(counted, i < 2 ? 67 : 66);
    std::int64_t charged = 0;
    for (int j = i; j < 200; j += 3) charged += 1000 * (1 + j % 5);
    EXPECT_EQ(rpm, charged);
    EXPECT_GT(page->items.size(), 9U) << "ten hours";
  }
}

}  // namespace
}  // namespace weir::dynamodb
