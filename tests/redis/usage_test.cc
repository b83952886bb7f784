// Usage in Redis: what is counted in a bucket's record reaches the usage of its hour, whoever writes the
// bucket next and whatever becomes of its key.
#include <gtest/gtest.h>

#include <thread>

#include "app/check_store.h"
#include "redis/usage_on.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::first_hour;
using tests::hour;
using tests::RedisServer;
using tests::UsageOn;

constexpr const char* record_key = "weir:default:{key}:b:key:r";
constexpr const char* usage_key = "weir:default:{key}:u:key:r";
constexpr const char* index_key = "weir:{default}:used";

class RedisUsage : public testing::Test {
 protected:
  RedisServer server;
  UsageOn on{server.patient_url() + "&cache_ms=1"};
};

TEST_F(RedisUsage, ThePlainChargeCountsInPlaceWithOneCommand) {
  on.take("key", {{"rpm", 1}, {"tpm", 500}});
  server.ask({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) on.take("key", {{"rpm", 1}, {"tpm", 20}});
  const std::string stats = server.ask({"INFO", "commandstats"});
  EXPECT_NE(stats.find("cmdstat_evalsha:calls=10,"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_hset"), std::string::npos) << stats;
  EXPECT_EQ(on.used("key"), "key r+0 11: rpm=11 tpm=700\n");
  on.clock.advance(1h);
  for (int i = 0; i < 3; ++i) on.take("key", {{"rpm", 1}});
  EXPECT_EQ(on.used("key"), "key r+0 11: rpm=11 tpm=700\nkey r+1 3: rpm=3\n");
  EXPECT_EQ(on.used_on("r"), on.used("key"));
  EXPECT_EQ(server.ask({"HGET", usage_key, "o"}), std::to_string(first_hour / hour + 1));
}

TEST_F(RedisUsage, AClockThatGoesBackCountsInTheHourThatItShows) {
  on.clock.advance(1h);
  on.take("key", {{"rpm", 1}});
  on.take("key", {{"rpm", 1}});
  on.clock.set(first_hour + hour - 500);
  on.take("key", {{"rpm", 4}});
  on.take("key", {{"rpm", 8}});
  on.clock.set(first_hour + hour + 500);
  on.take("key", {{"rpm", 16}});
  on.take("key", {{"rpm", 32}});
  EXPECT_EQ(on.used("key"), "key r+0 2: rpm=12\nkey r+1 4: rpm=50\n");
}

TEST_F(RedisUsage, SeveralProcessesCountEveryChargeOnce) {
  Limiter others[3] = {on.open(), on.open(), on.open()};
  for (int round = 0; round < 4; ++round) {
    std::vector<std::jthread> threads;
    for (Limiter& other : others) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) EXPECT_TRUE(other.acquire("key", "r", {{"rpm", 1}, {"tpm", 3}}));
      });
    }
    threads.clear();
    on.clock.advance(1h);
  }
  std::string all;
  for (int i = 0; i < 4; ++i) all += "key r+" + std::to_string(i) + " 150: rpm=150 tpm=450\n";
  EXPECT_EQ(on.used("key"), all);
}

TEST_F(RedisUsage, ALeaseThatAnotherProcessChangesCountsWhereItIsChanged) {
  ASSERT_TRUE(on.limiter.set_limits(Level::system(), {{"rpm", "1000/day"}, {"tpm", "100000/day"}}));
  on.take("key", {{"rpm", 1}});
  AcquireOptions long_lease;
  long_lease.lease_for = 3h;
  auto decision = on.limiter.acquire("key", "r", {{"rpm", 1}, {"tpm", 1000}}, long_lease);
  ASSERT_TRUE(decision && decision->admitted());
  const std::string id = *decision->lease().id();
  Limiter other = on.open();
  ASSERT_TRUE(other.adjust(id, {{"tpm", 500}}, "once"));
  ASSERT_TRUE(on.limiter.adjust(id, {{"tpm", 500}}, "once"));
  on.clock.advance(1h);
  ASSERT_TRUE(other.settle(id, {{"tpm", 200}}));
  ASSERT_TRUE(on.limiter.settle(id, {{"tpm", 200}}));
  EXPECT_EQ(on.used("key"), "key r+0 3: rpm=2 tpm=1500\nkey r+1 1: tpm=-1300\n");
}

TEST_F(RedisUsage, ABucketThatExpiresWaitsForItsCollectionAndThenLeaves) {
  ASSERT_TRUE(
      on.limiter.set_limits(Level::system(), {{"rpm", "100/min"}}, {.bucket_ttl_refill_multiplier = 1}));
  on.take("key", {{"rpm", 40}});
  const Time left = std::stoll(server.ask({"PTTL", record_key}));
  EXPECT_GT(left, 25 * hour);
  on.clock.advance(10min);
  EXPECT_TRUE(on.limiter.buckets("key")->items.empty());
  EXPECT_EQ(on.collect().segments, 0) << "the hour is not over";
  on.take("key", {{"rpm", 2}});
  on.clock.advance(5h);
  EXPECT_EQ(on.used("key"), "key r+0 2: rpm=42\n");
  EXPECT_EQ(on.collect().segments, 1);
  EXPECT_EQ(server.ask({"EXISTS", record_key}), "0");
  EXPECT_EQ(on.used("key"), "key r+0 2: rpm=42\n");
  EXPECT_EQ(on.collect().segments, 0);
  on.take("key", {{"rpm", 1}});
  EXPECT_EQ(on.used("key"), "key r+0 2: rpm=42\nkey r+5 1: rpm=1\n");
}

TEST_F(RedisUsage, ALiveBucketIsCollectedAndGoesOn) {
  ASSERT_TRUE(on.limiter.set_limits(Level::system(), {{"rpd", "1000/day"}}));
  on.take("key", {{"rpd", 40}});
  on.clock.advance(2h);
  EXPECT_EQ(on.collect().segments, 1);
  EXPECT_EQ(on.limiter.buckets("key")->items.size(), 1U);
  EXPECT_EQ(on.limiter.buckets("key")->items[0].limits[0].consumed, Amount(40));
  on.take("key", {{"rpd", 1}});
  on.take("key", {{"rpd", 1}});
  EXPECT_EQ(on.used("key"), "key r+0 1: rpd=40\nkey r+2 2: rpd=2\n");
  on.clock.advance(1h);
  on.take("key", {{"rpd", 5}});
  on.clock.advance(1h);
  EXPECT_EQ(on.collect().segments, 1);
  EXPECT_EQ(on.collect().lost, 0);
  EXPECT_EQ(on.used("key"), "key r+0 1: rpd=40\nkey r+2 2: rpd=2\nkey r+3 1: rpd=5\n");
}

TEST_F(RedisUsage, HoursThatNobodyCollectedInTimeAreCountedAsLost) {
  on.take("key", {{"rpm", 1}});
  on.take("other", {{"rpm", 1}});
  on.clock.advance(1h);
  // As its expiry would.
  server.ask({"DEL", record_key, "weir:default:{other}:b:other:r"});
  on.take("other", {{"rpm", 2}});
  EXPECT_EQ(on.collect().lost, 2);
  EXPECT_EQ(on.collect().lost, 0);
  EXPECT_EQ(on.used("key"), "");
  EXPECT_EQ(on.used("other"), "other r+1 1: rpm=2\n");
  EXPECT_EQ(on.store().warnings().size(), 2U);
  for (const store::Counter& counter : on.store().counters()) {
    if (counter.name == std::string("weir_usage_hours_lost_total")) {
      EXPECT_EQ(counter.value, 2);
    }
  }
}

TEST_F(RedisUsage, ADeletedEntityKeepsItsUsage) {
  ASSERT_TRUE(on.limiter.put_entity({.id = "key"}));
  on.take("key", {{"rpm", 5}});
  ASSERT_TRUE(on.limiter.delete_entity("key"));
  EXPECT_EQ(server.ask({"EXISTS", record_key, "weir:default:{key}:i:key"}), "0");
  EXPECT_EQ(on.used("key"), "key r+0 1: rpm=5\n");
  on.take("key", {{"rpm", 1}});
  EXPECT_EQ(on.used("key"), "key r+0 2: rpm=6\n");
  EXPECT_EQ(on.collect().lost, 0);
}

TEST_F(RedisUsage, LimitsThatLeaveAndReturnKeepWhatTheyCounted) {
  on.take("key", {{"rpm", 3}, {"tpm", 10}});
  ASSERT_TRUE(on.limiter.set_limits(Level::system(), {{"rpm", "1000/min"}}));
  on.take("key", {{"rpm", 1}});
  on.clock.advance(20min);
  on.take("key", {{"rpm", 1}});
  ASSERT_TRUE(on.limiter.set_limits(Level::system(), {{"rpm", "1000/min"}, {"tpm", "100000/min"}}));
  on.take("key", {{"rpm", 1}, {"tpm", 5}});
  EXPECT_EQ(on.used("key"), "key r+0 4: rpm=6 tpm=15\n");
}

TEST_F(RedisUsage, CanBeOffAndOnAgain) {
  AcquireOptions off;
  off.usage = false;
  on.take("key", {{"rpm", 1}}, off);
  on.take("key", {{"rpm", 1}}, off);
  EXPECT_EQ(server.ask({"EXISTS", usage_key, index_key}), "0");
  on.take("key", {{"rpm", 4}});
  on.take("key", {{"rpm", 1}}, off);
  on.take("key", {{"rpm", 2}});
  on.take("key", {{"rpm", 2}});
  EXPECT_EQ(on.used("key"), "key r+0 3: rpm=8\n");
}

TEST_F(RedisUsage, ACounterBeyondTheDoublesIsExact) {
  ASSERT_TRUE(on.limiter.set_limits(
      Level::system(),
      {{"rpm", R"({"capacity":1000000000000,"refill_amount":1000000000000,"refill_period_ms":1})"}}));
  constexpr std::int64_t most = 1'000'000'000'000;
  for (int i = 0; i < 20; ++i) {
    on.take("key", {{"rpm", Amount(most)}});
    on.clock.advance(1ms);
  }
  EXPECT_EQ(on.used("key"), "key r+0 20: rpm=" + Amount::milli(20 * most * 1000).to_string() + "\n");
}

TEST_F(RedisUsage, OldHoursBecomeDaysAndOldDaysGo) {
  ASSERT_TRUE(on.store().keep_usage({.hours = 48 * hour, .days = 120 * hour}));
  on.clock.set(first_hour - first_hour % (24 * hour));
  const Time start = on.clock.now();
  for (int i = 0; i < 24 * 7; ++i) {
    on.take("key", {{"rpm", 1}});
    on.clock.advance(1h);
    if (i % 5 == 0) on.collect();
  }
  for (const bool collected : {false, true}) {
    if (collected) on.collect();
    const auto page = store::wait_for<weir::Page<Usage>>([&](auto done) {
      on.store().usage().read(
          {.name_space = "default", .entity = "key", .from = 0, .to = start + 1000 * hour},
          {.cursor = {}, .limit = 1000}, done);
    });
    ASSERT_TRUE(page);
    ASSERT_EQ(page->items.size(), 3U + 48U);
    for (const Usage& row : page->items) {
      const bool day = row.start < start + 5 * 24 * hour;
      EXPECT_EQ(row.window, day ? UsageWindow::day : UsageWindow::hour);
      EXPECT_EQ(row.events, day ? 24 : 1);
    }
  }
  EXPECT_EQ(server.ask({"HLEN", usage_key}), "6") << "3 days in one, 2 of hours, and the open hour";
}

TEST_F(RedisUsage, ABucketWithoutUsageLeavesTheIndex) {
  on.take("key", {{"rpm", 1}});
  EXPECT_EQ(server.ask({"ZCARD", index_key}), "2");
  on.collect();
  EXPECT_EQ(server.ask({"ZCARD", index_key}), "2");
  server.ask({"DEL", record_key, usage_key});
  on.collect();
  EXPECT_EQ(server.ask({"EXISTS", index_key}), "0");
  on.take("key", {{"rpm", 1}});
  EXPECT_EQ(server.ask({"ZCARD", index_key}), "2");
}

TEST_F(RedisUsage, KeysOfAnotherTypeAreReportedAndStopNothing) {
  server.ask({"SET", usage_key, "nonsense"});
  on.take("key", {{"rpm", 1}});
  on.take("key", {{"rpm", 1}});
  on.clock.advance(1h);
  on.take("key", {{"rpm", 1}});
  EXPECT_NE(on.limiter.warnings().at(0).find("usage of \"key\" on \"r\""), std::string::npos);
  server.ask({"DEL", index_key});
  server.ask({"SET", index_key, "nonsense"});
  on.take("other", {{"rpm", 1}});
  server.ask({"DEL", index_key, usage_key});
  server.ask({"SET", record_key, "nonsense"});
  on.take("third", {{"rpm", 1}});
  server.ask(
      {"ZADD", index_key, "0", "e key r", "0", "r r key", "0", "e nonsense", "0", "r r a b c d", "0", "r r"});
  EXPECT_EQ(on.used_on("r"), "third r+1 1: rpm=1\n");
  on.collect();
  EXPECT_GE(on.store().warnings().size(), 2U);
}

TEST_F(RedisUsage, DamagedTextsAreReportedAndTheRestIsRead) {
  on.take("key", {{"rpm", 1}});
  on.clock.advance(1h);
  on.take("key", {{"rpm", 2}});
  const std::string day = std::to_string(first_hour / hour / 24);
  const std::string good = server.ask({"HGET", usage_key, day});
  for (const char* const text : {"", "x", "1", "24 1 rpm 1", "-1 1", "1 -1", "1 1 rpm", "1 1 9 9",
                                 "1 1 rpm x", "1 99999999999999999999", "1 1\n\n", "1 9007199254740992"}) {
    server.ask({"HSET", usage_key, day, text});
    EXPECT_EQ(on.used("key"), "key r+1 1: rpm=2\n") << text;
    on.collect();
    const auto found = app::check_store(server.patient_url(), {});
    std::string findings;
    for (const auto& finding : *found) findings += finding.detail + "\n";
    EXPECT_NE(findings.find("usage of \"key\" on \"r\""), std::string::npos) << text << findings;
  }
  server.ask(
      {"HSET", usage_key, day, good, "99999999999999999", "1 1", "d99999999999999999", "1", "odd", "1"});
  EXPECT_EQ(on.used("key"), "key r+0 1: rpm=1\nkey r+1 1: rpm=2\n");
  on.collect();
}

}  // namespace
}  // namespace weir
