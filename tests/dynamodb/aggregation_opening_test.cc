// Aggregators that start before DynamoDB can be reached, or before there is a table.
#include <sys/wait.h>

#include "dynamodb/faulty_proxy.h"
#include "dynamodb/table.h"
#include "store/dynamodb/aggregation.h"
#include "support/eventually.h"

namespace weir::dynamodb {
namespace {

using tests::DynamoDbLocal;
using tests::eventually;
using tests::FaultyProxy;

/// `weir serve --aggregate`, on a free port of 127.0.0.1.
class ServeProgram {
 public:
  explicit ServeProgram(const std::string& store) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(WEIR_PROGRAM, WEIR_PROGRAM, "serve", "--aggregate", "--listen", "127.0.0.1:0",
              "--on-unavailable", "allow", "--store", store.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    FILE* const greeting = ::fdopen(ends[0], "r");
    unsigned port = 0;
    EXPECT_EQ(std::fscanf(greeting, "weir listens on http://127.0.0.1:%u", &port), 1) << "it did not start";
    std::fclose(greeting);
    client_.emplace(net::HttpClientOptions{
        .host = "127.0.0.1", .port = static_cast<std::uint16_t>(port), .timeout = 60s});
  }
  ~ServeProgram() { end(); }
  /// It must finish by itself.
  void end() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  ServeProgram(const ServeProgram&) = delete;
  ServeProgram& operator=(const ServeProgram&) = delete;

  /// "200 BODY".
  std::string get(const std::string& target) { return ask(wire::http::Method::get, target, {}); }
  std::string acquire() {
    return ask(wire::http::Method::post, "/v1/acquire",
               R"({"entity":"key","resource":"gpt-4","consume":{"rpm":2}})");
  }

 private:
  std::string ask(wire::http::Method method, const std::string& target, const std::string& body) {
    auto answered = client_->ask({.method = method, .target = target, .body = body, .repeatable = true});
    const auto* const answer = std::get_if<net::HttpAnswer>(&answered);
    return answer == nullptr ? "no answer" : std::to_string(answer->status) + " " + answer->body;
  }

  pid_t pid_ = -1;
  std::optional<net::HttpClient> client_;
};

AggregationOptions waiting_for(const std::string& table, const std::string& endpoint) {
  AggregationOptions options;
  options.store = {.table = table, .endpoint = endpoint, .deadline = 10s, .must_be_reachable = false};
  options.worker.batch = 1;
  options.worker.poll_idle = 5;
  options.worker.retry_after = 5;
  return options;
}

TEST(AggregationOpening, AServiceThatStartsBeforeDynamoDbCountsOnceItIsThere) {
  TestTable table;
  const std::uint16_t port = DynamoDbLocal::free_port();
  ServeProgram program("dynamodb://" + table.table + "?endpoint=http://127.0.0.1:" + std::to_string(port) +
                       "&deadline_ms=10000");
  EXPECT_TRUE(program.acquire().starts_with(R"(200 {"allowed":true,"degraded":true)")) << program.acquire();
  EXPECT_TRUE(program.get("/readyz").starts_with("503 ")) << program.get("/readyz");
  Limiter admin = *Limiter::open(table.url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1000000/min"}}));
  const FaultyProxy there(
      DynamoDbLocal::shared().port(), [](const std::string&) { return FaultyProxy::Fault::none; }, port);
  EXPECT_TRUE(eventually([&] { return program.get("/readyz").starts_with("200 "); }))
      << program.get("/readyz");
  ASSERT_EQ(program.acquire().find("degraded"), std::string::npos) << program.acquire();
  const auto counted = [&] { return program.get("/v1/usage?entity=key").find(R"("events":)"); };
  EXPECT_TRUE(eventually([&] { return counted() != std::string::npos; }))
      << program.get("/v1/usage?entity=key");
  // While it can still give its leases back.
  program.end();
}

TEST(AggregationOpening, AnAggregatorThatStartsBeforeItsTableCountsOnceItIsMade) {
  const std::string name = DynamoDbLocal::shared().table();
  auto aggregation = Aggregation::start(waiting_for(name, DynamoDbLocal::shared().url()));
  ASSERT_TRUE(aggregation) << aggregation.error().message;
  EXPECT_TRUE((*aggregation)->state().waits);
  EXPECT_NE((*aggregation)->state().trouble.find("no such table"), std::string::npos)
      << (*aggregation)->state().trouble;
  const SystemClock system;
  base::SystemEntropy entropy;
  auto client =
      *connect({.table = name, .endpoint = DynamoDbLocal::shared().url(), .deadline = 60s}, system, entropy);
  ASSERT_TRUE(make_table(*client, name, {}));
  Limiter limiter = *Limiter::open("dynamodb://" + name + "?endpoint=" + DynamoDbLocal::shared().url() +
                                   "&deadline_ms=60000");
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "1000000/min"}}));
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 2}}));
  EXPECT_TRUE(eventually([&] { return !(*aggregation)->state().waits; }));
  EXPECT_TRUE((*aggregation)->count_all(60s)) << (*aggregation)->state().trouble;
  EXPECT_EQ((*aggregation)->state().events, 1U);
}

TEST(AggregationOpening, AnAggregatorThatWaitsCanBeStopped) {
  const std::string nowhere = "http://127.0.0.1:" + std::to_string(DynamoDbLocal::free_port());
  auto aggregation = Aggregation::start(waiting_for("nowhere", nowhere));
  ASSERT_TRUE(aggregation) << aggregation.error().message;
  (*aggregation)->stop(60s);
  EXPECT_TRUE((*aggregation)->state().waits);
}

TEST(AggregationOpening, AnAggregatorThatMustReachItsTableSaysWhyItCannot) {
  AggregationOptions insisting =
      waiting_for("nowhere", "http://127.0.0.1:" + std::to_string(DynamoDbLocal::free_port()));
  insisting.store.must_be_reachable = true;
  const auto refused = Aggregation::start(insisting);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weir::dynamodb
