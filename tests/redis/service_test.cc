// A service on Redis while Redis is unavailable, from the start or later: what callers are told, and that
// nobody has to start anything again.
#include <gtest/gtest.h>

#include <sstream>

#include "app/check_store.h"
#include "service/api.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/slow_proxy.h"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using tests::eventually;
using tests::RedisServer;

class OnRedis : public Api {
 protected:
  ~OnRedis() override { stop(); }

  /// As `weir serve` does.
  void serve(const std::string& url, std::optional<OnUnavailable> policy) {
    auto store = app::open_store(url + "?deadline_ms=2000", {.must_be_reachable = false}, clock, *entropy_);
    ASSERT_TRUE(store) << store.error().message;
    start(*std::move(store), {.on_unavailable = policy, .log = &log});
  }
  /// "200 admitted", "200 degraded", "503 store-unavailable".
  std::string outcome(const std::string& fields = {}) {
    const Seen seen = post("/v1/acquire", R"({"entity":"e","resource":"gpt-4","consume":{"rpm":1}})", fields);
    if (seen.status != 200) return problem_of(seen);
    return seen.at("/degraded") == "true" ? "200 degraded" : "200 admitted";
  }
  bool set_limits() { return put("/v1/limits/system", R"({"limits":{"rpm":"1000000/day"}})").status == 200; }
  /// Until a request is answered by the store.
  bool recovers() {
    return eventually([&] { return outcome() == "200 admitted"; }) && get("/readyz").status == 200;
  }
  std::string up() {
    std::istringstream lines(get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("weir_store_up ")) return line.substr(14);
    }
    return "none";
  }
  int logged(const std::string& text) const {
    const std::string all = logged_.str();
    int count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }

  std::ostringstream logged_;
  telemetry::Log log{logged_, *clock, {}};
};

INSTANTIATE_TEST_SUITE_P(Stores, OnRedis, testing::Values("memory"),
                         [](const auto& /*parameter*/) { return std::string("redis"); });

TEST_P(OnRedis, ItStartsWithoutRedisAndAdmitsUntilRedisIsThere) {
  RedisServer server;
  server.kill();
  serve(server.url(), OnUnavailable::allow);
  EXPECT_EQ(logged("the store is unavailable"), 1) << logged_.str();
  EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(outcome("Idempotency-Key: k\r\n"), "200 degraded");
  EXPECT_EQ(up(), "0");
  const Seen readiness = get("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_NE(readiness.body.find("cannot be reached"), std::string::npos) << readiness.body;
  EXPECT_EQ(problem_of(post("/v1/leases/anything/settle", "{}")), "503 store-unavailable")
      << "whether it is a lease cannot be known yet";

  server.start();
  ASSERT_TRUE(eventually([&] { return set_limits(); }));
  EXPECT_TRUE(recovers());
  EXPECT_EQ(up(), "1");
  EXPECT_EQ(problem_of(post("/v1/leases/anything/settle", "{}")), "404 not-found");
  EXPECT_EQ(logged("the store is unavailable"), 1) << logged_.str();
  EXPECT_EQ(logged("the store is back"), 1) << logged_.str();
}

TEST_P(OnRedis, ItStartsWithoutRedisAndDeniesUntilRedisIsThere) {
  RedisServer server;
  server.kill();
  serve(server.url(), std::nullopt);
  EXPECT_EQ(outcome(), "503 store-unavailable");
  server.start();
  ASSERT_TRUE(eventually([&] { return set_limits(); }));
  EXPECT_TRUE(recovers());
}

TEST_P(OnRedis, WhatWasSetUpBeforeItStartedHoldsOnceRedisIsThere) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  std::string lease;
  {
    auto limiter = Limiter::open(server.patient_url());
    ASSERT_TRUE(limiter) << limiter.error().message;
    ASSERT_TRUE(
        limiter->set_limits(Level::system(), {{"rpm", "10/day"}}, {.on_unavailable = OnUnavailable::allow}));
    auto decision = limiter->acquire("e", "gpt-4", {{"rpm", 4}});
    ASSERT_TRUE(decision) << decision.error().message;
    lease = *decision->lease().id();
  }
  server.kill();
  serve(server.url(), std::nullopt);
  EXPECT_EQ(outcome(), "503 store-unavailable") << "nobody has said yet that it may be admitted";
  server.start();
  EXPECT_TRUE(recovers());
  EXPECT_EQ(post("/v1/leases/" + lease + "/settle", R"({"actual":{"rpm":1}})").status, 200);
  server.kill();
  EXPECT_TRUE(eventually([&] { return outcome() == "200 degraded"; })) << "by now it is known";
}

TEST_P(OnRedis, AServerThatHasForgottenEverythingKeepsTheKeyOfLeases) {
  RedisServer server;
  serve(server.url(), OnUnavailable::deny);
  ASSERT_TRUE(set_limits());
  const std::string key = server.ask({"HGET", "weir:store", "lease_key"});
  server.kill();
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 503; }));
  server.start();
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }));
  EXPECT_TRUE(eventually([&] { return server.ask({"HGET", "weir:store", "lease_key"}) == key; }));
}

TEST_P(OnRedis, AFullServerIsSaidToBeFullUntilItHasRoom) {
  RedisServer server({"--maxmemory-policy", "noeviction"});
  serve(server.url(), OnUnavailable::allow);
  ASSERT_TRUE(set_limits());
  EXPECT_TRUE(recovers());
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(outcome(), "200 degraded");
  const Seen readiness = get("/readyz");
  EXPECT_NE(readiness.body.find("no memory left"), std::string::npos) << readiness.body;
  EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(logged("the store is unavailable"), 1) << logged_.str();
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; })) << "though nobody acquires";
  EXPECT_TRUE(recovers());
  EXPECT_EQ(logged("the store is back"), 1) << logged_.str();
}

TEST_P(OnRedis, AReplicaIsSaidToBeOneUntilItIsPromoted) {
  RedisServer primary({"--repl-diskless-sync-delay", "0"});
  serve(primary.url(), OnUnavailable::allow);
  ASSERT_TRUE(set_limits());
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())});
  ASSERT_TRUE(eventually([&] { return replica.ask({"DBSIZE"}) == primary.ask({"DBSIZE"}); }));
  serve(replica.url(), OnUnavailable::allow);
  EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_NE(get("/readyz").body.find("replica"), std::string::npos);
  replica.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(recovers());
}

TEST_P(OnRedis, AWrongPasswordIsToldUntilItIsRight) {
  RedisServer server({"--requirepass", "right"});
  serve("redis://:wrong@" + server.address(), OnUnavailable::allow);
  EXPECT_EQ(outcome(), "200 degraded");
  const Seen readiness = get("/readyz");
  EXPECT_NE(readiness.body.find("WRONGPASS"), std::string::npos) << readiness.body;
  EXPECT_EQ(readiness.body.find(":wrong"), std::string::npos) << readiness.body;
  tests::RedisProbe probe(server.port());
  ASSERT_EQ(probe.ask({"AUTH", "right"}), "OK");
  probe.ask({"CONFIG", "SET", "requirepass", "wrong"});
  ASSERT_TRUE(eventually([&] { return set_limits(); }));
  EXPECT_TRUE(recovers());
}

TEST_P(OnRedis, APausedOrSlowServerIsAwayUntilItAnswersAgain) {
  RedisServer server;
  tests::SlowProxy proxy(server.port());
  serve("redis://127.0.0.1:" + std::to_string(proxy.port()), OnUnavailable::allow);
  ASSERT_TRUE(set_limits());
  EXPECT_TRUE(recovers());
  server.pause();
  EXPECT_EQ(outcome(), "503 outcome-unknown") << "it was sent, and may be charged when Redis goes on";
  EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(up(), "0");
  server.resume();
  EXPECT_TRUE(recovers());
  proxy.set_delay(5000ms);
  EXPECT_EQ(outcome(), "503 outcome-unknown");
  EXPECT_EQ(outcome(), "200 degraded");
  proxy.set_delay(0ms);
  EXPECT_TRUE(recovers());
}

}  // namespace
}  // namespace weir::service
