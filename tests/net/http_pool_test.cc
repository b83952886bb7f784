// The pool, against servers that answer as they are told to, and against ours.
#include "net/http_pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <latch>
#include <mutex>

#include "certificates.h"
#include "handlers.h"
#include "scripted.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;
using namespace std::chrono_literals;

/// A call, and waiting for its end.
class Asked final : public HttpCall {
 public:
  explicit Asked(std::string target_of_it = "/", std::chrono::milliseconds patience = 60s) {
    method = wire::http::Method::get;
    target = std::move(target_of_it);
    within = patience;
  }
  void on_reply(const HttpReply& reply) override {
    const std::scoped_lock lock(mutex_);
    status = reply.status;
    body_text = reply.body;
    test_field = reply.fields.find("x-test").value_or("");
    end();
  }
  void on_failure(const HttpFailure& failed) override {
    const std::scoped_lock lock(mutex_);
    failure = failed;
    end();
  }
  Asked& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    return *this;
  }
  Asked& over(HttpPool& pool) {
    pool.send(*this);
    return wait();
  }

  int status = 0;
  std::string body_text;
  std::string test_field;
  HttpFailure failure;

 private:
  void end() {
    EXPECT_FALSE(ended_) << "told twice";
    ended_ = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

HttpPoolOptions options_for(const Address& address) { return {.host = address.host(), .port = address.port}; }
std::unique_ptr<HttpPool> pool_for(const Address& address) { return *HttpPool::start(options_for(address)); }

/// Our own server, which answers with the method, the path and the body.
class HttpPoolTest : public testing::Test {
 protected:
  HttpPoolTest() : server(*Server::start(test_options(), handler)), address(server->addresses()[0]) {}
  TestHandler handler;
  std::unique_ptr<Server> server;
  Address address;
};

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

TEST_F(HttpPoolTest, AsksAndIsAnswered) {
  auto pool = pool_for(address);
  Asked asked("/x?y");
  asked.method = wire::http::Method::post;
  asked.body = "hello";
  asked.over(*pool);
  EXPECT_EQ(asked.status, 200);
  EXPECT_EQ(asked.body_text, "POST /x?y hello");
  EXPECT_EQ(asked.test_field, "yes");
}

TEST_F(HttpPoolTest, KeepsItsConnections) {
  auto pool = pool_for(address);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Asked().over(*pool).status, 200);
  EXPECT_EQ(server->status().accepted, 1U);
}

TEST_F(HttpPoolTest, SharesAFewConnectionsAmongMany) {
  auto options = options_for(address);
  options.most_connections = 4;
  auto pool = *HttpPool::start(options);
  std::vector<std::unique_ptr<Asked>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(
        std::make_unique<Asked>(i % 2 == 0 ? "/later?" + std::to_string(i) : "/" + std::to_string(i)));
    pool->send(*calls.back());
  }
  for (int i = 0; i < 500; ++i) {
    calls[static_cast<std::size_t>(i)]->wait();
    EXPECT_EQ(calls[static_cast<std::size_t>(i)]->body_text,
              "GET /" + std::string(i % 2 == 0 ? "later?" : "") + std::to_string(i) + " ");
  }
  EXPECT_LE(server->status().accepted, 4U);
}

TEST_F(HttpPoolTest, IsAskedByManyThreadsAtOnce) {
  auto pool = pool_for(address);
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) answered += Asked().over(*pool).status == 200 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
}

TEST_F(HttpPoolTest, RefusesMoreCallsThanItHolds) {
  auto options = options_for(address);
  options.most_connections = 1;
  options.most_calls = 3;
  auto pool = *HttpPool::start(options);
  Asked held("/hold");
  Asked second;
  Asked third;
  Asked fourth;
  for (Asked* const asked : {&held, &second, &third}) pool->send(*asked);
  fourth.over(*pool);
  EXPECT_NE(fourth.failure.detail.find("too many"), std::string::npos);
  EXPECT_FALSE(fourth.failure.sent);
  handler.gate.open();
  for (Asked* const asked : {&held, &second, &third}) EXPECT_EQ(asked->wait().status, 200);
  EXPECT_EQ(Asked().over(*pool).status, 200);
}

TEST_F(HttpPoolTest, TellsOfADeadlineAndThatTheRequestWasSent) {
  auto pool = pool_for(address);
  Asked slow("/hold", 500ms);
  slow.over(*pool);
  EXPECT_EQ(slow.failure.kind, Kind::slow);
  EXPECT_TRUE(slow.failure.sent);
  handler.gate.open();
  EXPECT_EQ(Asked().over(*pool).status, 200) << "on another connection";
}

TEST_F(HttpPoolTest, TellsOfADeadlineThatPassedBeforeAnythingWasSent) {
  auto options = options_for(address);
  options.most_connections = 1;
  auto pool = *HttpPool::start(options);
  Asked held("/hold");
  Asked waits("/", 30ms);
  pool->send(held);
  waits.over(*pool);
  EXPECT_EQ(waits.failure.kind, Kind::slow);
  EXPECT_FALSE(waits.failure.sent);
  handler.gate.open();
  EXPECT_EQ(held.wait().status, 200);
}

TEST_F(HttpPoolTest, CarriesLargeBodiesBothWays) {
  auto pool = pool_for(address);
  Asked asked("/echo");
  asked.method = wire::http::Method::post;
  asked.body = std::string(3'000'000, 'b');
  asked.over(*pool);
  EXPECT_TRUE(asked.body_text == asked.body);
}

TEST_F(HttpPoolTest, FailsWhatIsLeftAtItsEnd) {
  Asked held("/hold");
  Asked other("/hold");
  {
    auto options = options_for(address);
    options.most_connections = 1;
    auto pool = *HttpPool::start(options);
    pool->send(held);
    pool->send(other);
    while (server->status().open_connections == 0) std::this_thread::yield();
  }
  EXPECT_NE(held.wait().failure.detail.find("ending"), std::string::npos);
  EXPECT_FALSE(other.wait().failure.sent);
  handler.gate.open();
}

TEST_F(HttpPoolTest, ClosesConnectionsThatNobodyUses) {
  auto options = options_for(address);
  options.idle_for = 20ms;
  auto pool = *HttpPool::start(options);
  EXPECT_EQ(Asked().over(*pool).status, 200);
  while (pool->connections() != 0) std::this_thread::yield();
  EXPECT_EQ(Asked().over(*pool).status, 200);
}

TEST_F(HttpPoolTest, ACallMayBeSentAgainFromItsEnd) {
  auto pool = pool_for(address);
  class Again final : public HttpCall {
   public:
    explicit Again(HttpPool& pool) : pool_(pool) { method = wire::http::Method::get; }
    void on_reply(const HttpReply&) override {
      if (++replies < 20) return pool_.send(*this);
      gate.open();
    }
    void on_failure(const HttpFailure& failure) override { ADD_FAILURE() << failure.detail; }
    int replies = 0;
    Gate gate;

   private:
    HttpPool& pool_;
  } again(*pool);
  pool->send(again);
  again.gate.wait();
  EXPECT_EQ(again.replies, 20);
  EXPECT_EQ(server->status().accepted, 1U);
}

TEST_F(HttpPoolTest, RunsThingsAfterAWhileOrAtItsEnd) {
  Gate soon;
  std::atomic<bool> at_the_end{false};
  {
    auto pool = pool_for(address);
    pool->after(1ms, [&] { soon.open(); });
    pool->after(1h, [&] { at_the_end = true; });
    soon.wait();
    EXPECT_FALSE(at_the_end);
  }
  EXPECT_TRUE(at_the_end);
}

TEST_F(HttpPoolTest, RunsOnceWhatIsDueInTheTurnInWhichItEnds) {
  auto own = pool_for(address);
  int runs = 0;
  own->after(5ms, [&] { ++runs; });
  // The end is asked for while the loop is held up, so that it and the timer are due in one turn.
  std::latch held(1);
  own->after(1ms, [&] {
    held.count_down();
    std::this_thread::sleep_for(20ms);
  });
  held.wait();
  own->stop();
  EXPECT_EQ(runs, 1);
}

TEST(HttpPool, SaysThatNobodyListens) {
  std::optional<Address> free;
  {
    const Scripted server({});
    free = server.address;
  }
  auto pool = pool_for(*free);
  Asked asked;
  asked.over(*pool);
  EXPECT_EQ(asked.failure.kind, Kind::refused);
  EXPECT_FALSE(asked.failure.sent);
}

TEST(HttpPool, SaysThatANameLeadsNowhere) {
  auto pool = *HttpPool::start({.host = "nowhere.invalid", .port = 80});
  Asked asked;
  asked.over(*pool);
  EXPECT_EQ(asked.failure.kind, Kind::no_such_host);
  EXPECT_FALSE(asked.failure.sent);
}

TEST(HttpPool, FindsThisMachineByName) {
  TestHandler handler;
  auto server = *Server::start(test_options(), handler);
  auto pool = *HttpPool::start({.host = "localhost", .port = server->addresses()[0].port});
  EXPECT_EQ(Asked().over(*pool).status, 200);
}

TEST(HttpPool, SaysThatTheRequestMayHaveHadItsEffect) {
  Scripted server({[](int client) { read_request(client); },
                   [](int client) {
                     read_request(client);
                     send_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi");
                   },
                   [](int client) {
                     read_request(client);
                     send_text(client, "SSH-2.0-x\r\n");
                   }});
  auto pool = pool_for(server.address);
  for (const Kind kind : {Kind::lost, Kind::lost, Kind::not_http}) {
    Asked asked;
    asked.over(*pool);
    EXPECT_EQ(asked.failure.kind, kind);
    EXPECT_TRUE(asked.failure.sent);
  }
  EXPECT_EQ(server.accepted, 3) << "nothing is sent twice";
}

TEST(HttpPool, TakesAnotherConnectionWhenTheServerHasClosedOne) {
  Scripted server({answering({ok}), answering({ok, ok})});
  auto pool = pool_for(server.address);
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
  // Whether it notices before or after it sends is up to chance, unless it has noticed.
  while (pool->connections() != 0) std::this_thread::yield();
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
  EXPECT_EQ(server.accepted, 2);
}

TEST(HttpPool, DoesNotKeepOneThatSaysMoreThanItWasAsked) {
  Scripted server({answering({ok + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"}), answering({ok})});
  auto pool = pool_for(server.address);
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
  EXPECT_EQ(server.accepted, 2);
}

TEST(HttpPool, ReadsEveryKindOfBody) {
  Scripted server(
      {answering({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                  "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nuntil the end"})});
  auto pool = pool_for(server.address);
  EXPECT_EQ(Asked().over(*pool).body_text, "abcde");
  EXPECT_EQ(Asked().over(*pool).status, 204);
  EXPECT_EQ(Asked().over(*pool).body_text, "until the end");
  EXPECT_EQ(server.accepted, 1);
}

TEST(HttpPool, RefusesAnswersThatAreTooLarge) {
  Scripted server({answering({"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"})});
  auto options = options_for(server.address);
  options.largest_body = 999;
  auto pool = *HttpPool::start(options);
  Asked asked;
  asked.over(*pool);
  EXPECT_EQ(asked.failure.kind, Kind::too_large);
}

TEST(HttpPool, ReadsAnAnswerThatComesByteByByte) {
  Scripted server({[](int client) {
    read_request(client);
    for (const char c : ok) send_text(client, std::string(1, c));
  }});
  auto pool = pool_for(server.address);
  EXPECT_EQ(Asked().over(*pool).body_text, "hi");
}

TEST(HttpPool, BelievesOnlyWhomItIsToldToBelieve) {
  const TemporaryFolder folder;
  TestHandler handler;
  auto options = test_options();
  options.tls = make_certificate(folder, "first");
  options.listen = {{.address = "127.0.0.1", .tls = true}};
  auto server = *Server::start(options, handler);
  const auto asked_with = [&](const std::string& host, const std::string& ca_file) {
    auto pool = *HttpPool::start(
        {.host = host, .port = server->addresses()[0].port, .tls = true, .ca_file = ca_file});
    auto asked = std::make_unique<Asked>();
    asked->over(*pool);
    return asked;
  };
  EXPECT_EQ(asked_with("localhost", options.tls->certificate)->body_text, "GET /  tls");
  for (const auto& refused :
       {asked_with("localhost", ""), asked_with("127.0.0.1", options.tls->certificate)}) {
    EXPECT_EQ(refused->failure.kind, Kind::tls);
    EXPECT_FALSE(refused->failure.sent);
    EXPECT_FALSE(refused->failure.detail.empty());
  }
  EXPECT_FALSE(HttpPool::start({.host = "localhost", .tls = true, .ca_file = folder.file("none")}));
}

}  // namespace
}  // namespace weir::net
