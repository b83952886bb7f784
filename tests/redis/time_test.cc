// Redis decides by the clock of its server, at the moment of the script: no delay of a request or an answer
// is worth a token.
#include <gtest/gtest.h>

#include <thread>

#include "store/redis/context.h"
#include "support/redis_server.h"
#include "support/slow_proxy.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::RedisServer;

/// Of the machine, which is the server's.
Time wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr const char* fast = R"({"capacity":1000,"burst":1000,"refill_amount":1,"refill_period_ms":1})";

/// How many of these were admitted.
int take(Limiter& limiter, int amount, int times) {
  int admitted = 0;
  for (int i = 0; i < times; ++i) {
    const auto decision = limiter.acquire("key", "r", {{"rps", amount}});
    EXPECT_TRUE(decision) << decision.error().message;
    if (decision && decision->admitted()) admitted += amount;
  }
  return admitted;
}

TEST(RedisTime, TheEstimateIsNeverAheadOfTheServerWhateverThePhasesOfTheClocks) {
  for (std::int64_t server = 5'000'000; server < 5'001'000; server += 37) {
    for (std::int64_t here = 9'000'000; here < 9'001'000; here += 41) {
      redis::TimeOffset offset;
      offset.learn(server / 1000, here);
      for (std::int64_t passed = 0; passed < 3000; passed += 53) {
        const Time real = (server + passed) / 1000;
        const Time estimate = offset.at(here + passed);
        ASSERT_LE(estimate, real) << server << ' ' << here << ' ' << passed;
        ASSERT_GE(estimate, real - 1) << server << ' ' << here << ' ' << passed;
      }
    }
  }
}

TEST(RedisTime, AFullBucketAdmitsItsBurstOnceHoweverLongTheServerWasPaused) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rps", fast}}));
  ASSERT_EQ(take(*limiter, 0, 3), 0);
  server.pause();
  int admitted = 0;
  std::jthread sent([&] { admitted += take(*limiter, 1000, 1); });
  std::this_thread::sleep_for(1500ms);
  const Time from = wall_clock();
  server.resume();
  sent.join();
  admitted += take(*limiter, 100, 20);
  EXPECT_LE(admitted, 1000 + wall_clock() - from);
  EXPECT_GE(admitted, 1000);
}

TEST(RedisTime, AFullBucketAdmitsItsBurstOnceHoweverLateAnswersAre) {
  RedisServer server;
  tests::SlowProxy proxy(server.port());
  const std::string url = "redis://127.0.0.1:" + std::to_string(proxy.port()) + "?deadline_ms=20000";
  auto limiter = Limiter::open(url);
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rps", fast}}));
  ASSERT_EQ(take(*limiter, 0, 3), 0);
  // One answer comes late, and with it what the server's time was.
  proxy.set_delay(700ms);
  ASSERT_EQ(take(*limiter, 0, 1), 0);
  proxy.set_delay(0ms);
  const Time from = wall_clock();
  const int admitted = take(*limiter, 500, 8);
  EXPECT_LE(admitted, 1000 + wall_clock() - from);
  EXPECT_GE(admitted, 1000);
}

TEST(RedisTime, ARaisedLimitCountsFromTheChangeAndNotFromBefore) {
  RedisServer server;
  tests::SlowProxy proxy(server.port());
  const std::string url = "redis://127.0.0.1:" + std::to_string(proxy.port()) + "?deadline_ms=20000";
  auto limiter = Limiter::open(url);
  for (const Level& level : {Level::system(), Level::entity_default("key"), Level::entity("key", "r")}) {
    ASSERT_TRUE(limiter->set_limits(level, {{"rps", "10/365d"}}));
    ASSERT_EQ(take(*limiter, 10, 1), 10);
    proxy.set_delay(1500ms);
    ASSERT_EQ(take(*limiter, 1, 1), 0);
    proxy.set_delay(0ms);
    const Time from = wall_clock();
    ASSERT_TRUE(limiter->set_limits(
        level, {{"rps", R"({"capacity":1000000,"refill_amount":1,"refill_period_ms":1})"}}));
    const auto look = limiter->available("key", "r");
    ASSERT_TRUE(look) << look.error().message;
    EXPECT_LE(look->limits()[0].remaining, Amount(wall_clock() - from));
    server.ask({"DEL", "weir:default:{key}:b:key:r"});
  }
}

TEST(RedisTime, AKeyWhoseExpirySomebodyHasChangedStillGoesByTheServersClock) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rps", fast}}));
  const std::string key = "weir:default:{key}:b:key:r";
  for (const char* const expiry : {"3600000", "60000", "never"}) {
    ASSERT_LE(take(*limiter, 1000, 1), 1000);
    if (std::string_view(expiry) == "never") {
      ASSERT_EQ(server.ask({"PERSIST", key}), "1");
    } else {
      ASSERT_EQ(server.ask({"PEXPIRE", key, expiry}), "1");
    }
    const Time from = wall_clock();
    const int admitted = take(*limiter, 100, 20);
    EXPECT_LE(admitted, wall_clock() - from + 1000) << expiry;
    ASSERT_EQ(take(*limiter, 0, 1), 0);
    const auto buckets = limiter->buckets("key");
    ASSERT_TRUE(buckets);
    EXPECT_LE(buckets->items[0].refilled_at, wall_clock()) << expiry;
    EXPECT_GE(buckets->items[0].refilled_at, from) << expiry;
  }
}

TEST(RedisTime, ABucketThatNeverExpiresTellsTheTimeToo) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::entity("key", "r"), {{"rps", fast}}));
  ASSERT_EQ(take(*limiter, 0, 2), 0);
  const Time from = wall_clock();
  ASSERT_EQ(take(*limiter, 1, 1), 1);
  const auto buckets = limiter->buckets("key");
  ASSERT_TRUE(buckets);
  EXPECT_GE(buckets->items[0].refilled_at, from);
  EXPECT_LE(buckets->items[0].refilled_at, wall_clock());
  EXPECT_FALSE(buckets->items[0].expires_at);
}

}  // namespace
}  // namespace weir
