// A cluster whose slots move and whose nodes fail.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/eventually.h"
#include "support/redis_cluster.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::eventually;
using tests::RedisCluster;
using tests::RedisServer;

constexpr const char* slow_refill = R"(,"refill_amount":0.001,"refill_period_ms":86400000})";

/// The node that has the slot.
std::size_t owner_of(RedisCluster& cluster, const std::string& key) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string answer = cluster.node(i).ask({"EXISTS", key});
    if (!answer.starts_with("-MOVED")) return i;
  }
  return 0;
}

TEST(RedisCluster, AcquiresGoOnWhileTheirSlotMovesToAnotherNode) {
  RedisCluster cluster;
  auto limiter = Limiter::open(cluster.patient_url());
  ASSERT_TRUE(limiter) << limiter.error().message;
  const std::string rpm = R"({"capacity":1000000)" + std::string(slow_refill);
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", rpm}}));
  ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}));
  std::atomic<bool> stop = false;
  std::atomic<int> admitted = 0;
  std::atomic<int> others = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        auto decision = limiter->acquire("key", "r", {{"rpm", 1}});
        decision && decision->admitted() ? ++admitted : ++others;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return admitted > 100; }));
  const std::string key = "weir:default:{project}:b:key:r";
  const std::string slot = std::to_string(wire::resp::slot_of(key));
  const std::size_t from = owner_of(cluster, key);
  const std::size_t to = (from + 1) % 3;
  const std::string from_id = cluster.node(from).ask({"CLUSTER", "MYID"});
  const std::string to_id = cluster.node(to).ask({"CLUSTER", "MYID"});
  const std::string port = std::to_string(cluster.node(to).port());
  EXPECT_EQ(cluster.node(to).ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", from_id}), "OK");
  EXPECT_EQ(cluster.node(from).ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", to_id}), "OK");
  // One key after the other, so that for a while a chain is here and there.
  for (;;) {
    const std::string next = cluster.node(from).ask({"CLUSTER", "GETKEYSINSLOT", slot, "1"});
    if (next.empty()) break;
    EXPECT_EQ(cluster.node(from).ask({"MIGRATE", "127.0.0.1", port, next, "0", "5000"}), "OK");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const int during = admitted;
  EXPECT_TRUE(eventually([&] { return admitted > during + 50; })) << "ASK leads to the new node";
  for (std::size_t i : {to, from}) cluster.node(i).ask({"CLUSTER", "SETSLOT", slot, "NODE", to_id});
  const int after = admitted;
  EXPECT_TRUE(eventually([&] { return admitted > after + 50; })) << "MOVED leads to the new node";
  stop = true;
  callers.clear();
  for (const char* const entity : {"key", "project"}) {
    const auto buckets = limiter->buckets(entity);
    ASSERT_TRUE(buckets) << buckets.error().message;
    ASSERT_EQ(buckets->items.size(), 1U);
    EXPECT_EQ(buckets->items[0].limits[0].consumed, Amount(admitted.load())) << entity;
  }
}

TEST(RedisCluster, BucketsOnAResourceAreFoundOnEveryNode) {
  RedisCluster cluster;
  auto limiter = Limiter::open(cluster.patient_url());
  ASSERT_TRUE(limiter) << limiter.error().message;
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/day"}}));
  ASSERT_TRUE(limiter->put_entity({.id = "key-05", .parent = "project", .cascade = true}));
  std::vector<std::string> expected;
  for (int i = 10; i < 40; ++i) {
    expected.push_back("key-" + std::to_string(i));
    ASSERT_TRUE(limiter->acquire(expected.back(), "r", {{"rpm", i}})->admitted());
  }
  ASSERT_TRUE(limiter->acquire("key-05", "r", {{"rpm", 50}})->admitted());
  expected.insert(expected.begin(), "key-05");
  expected.emplace_back("project");
  std::vector<std::string> found;
  Paging paging{.cursor = {}, .limit = 7};
  do {
    const auto page = limiter->buckets_on("r", {}, paging);
    ASSERT_TRUE(page) << page.error().message;
    for (const Bucket& bucket : page->items) found.push_back(bucket.entity);
    paging.cursor = page->next;
  } while (!paging.cursor.empty());
  EXPECT_EQ(found, expected);
  const auto least = limiter->buckets_on("r", {.order = BucketOrder::remaining}, {.cursor = {}, .limit = 3});
  ASSERT_TRUE(least) << least.error().message;
  EXPECT_EQ(least->items.at(0).entity, "key-05");
  EXPECT_EQ(least->items.at(2).entity, "key-39");
}

TEST(RedisCluster, AProcessWithTheOldChainMakesNoBucketInTheFamilyThatAnEntityHasLeft) {
  RedisCluster cluster;
  for (std::size_t i = 0; i < 3; ++i)
    cluster.node(i).ask({"ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"});
  const std::string more = "?cluster=true&cache_ms=3600000&deadline_ms=20000";
  auto one = Limiter::open("redis://" + cluster.node(0).address() + more);
  auto deaf = Limiter::open("redis://deaf:secret@" + cluster.node(0).address() + more);
  ASSERT_TRUE(one && deaf);
  ASSERT_TRUE(one->set_limits(Level::system(), {{"rpm", "10/365d"}}));
  ASSERT_TRUE(one->put_entity({.id = "below", .parent = "key", .cascade = true}));
  for (const char* const entity : {"key", "below"}) {
    ASSERT_TRUE(one->available(entity, "r"));
    ASSERT_TRUE(deaf->available(entity, "r"));
  }
  const auto put = one->put_entity({.id = "key", .parent = "project", .cascade = true});
  ASSERT_TRUE(put) << put.error().message;
  ASSERT_TRUE(deaf->acquire("below", "r", {{"rpm", 4}})->admitted());
  ASSERT_TRUE(deaf->acquire("key", "r", {{"rpm", 4}})->admitted());
  EXPECT_TRUE(one->acquire("key", "r", {{"rpm", 4}})->refused()) << "8 of 10 are gone, whoever took them";
  EXPECT_EQ(one->buckets("project")->items[0].limits[0].consumed, Amount(8));
}

TEST(RedisCluster, AFailoverIsSurvivedAndForgetsOnlyWhatTheReplicaHadNotHeardOf) {
  RedisCluster cluster(true);
  auto limiter = Limiter::open(cluster.url());
  ASSERT_TRUE(limiter) << limiter.error().message;
  constexpr int allowance = 3000;
  const std::string rpm = R"({"capacity":)" + std::to_string(allowance) + slow_refill;
  ASSERT_TRUE(limiter->set_limits(Level::entity("key", "r"), {{"rpm", rpm}}));
  const std::size_t victim = owner_of(cluster, "weir:default:{key}:b:key:r");
  ASSERT_LT(victim, 3U);
  // Its replica has to be one before it can take over.
  ASSERT_TRUE(eventually([&] {
    return cluster.node(victim + 3).ask({"INFO", "replication"}).find("master_link_status:up") !=
           std::string::npos;
  }));
  std::atomic<int> admitted = 0;
  std::atomic<int> unknown = 0;
  std::atomic<bool> gave_up = false;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int patience = 0; patience < 20'000;) {
        auto decision = limiter->acquire("key", "r", {{"rpm", 1}});
        if (decision && decision->refused()) return;
        if (decision) {
          ++admitted;
        } else if (decision.error().code == ErrorCode::outcome_unknown) {
          ++unknown;
        } else {
          ++patience;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      gave_up = true;
    });
  }
  ASSERT_TRUE(eventually([&] { return admitted > allowance / 4; }));
  cluster.node(victim).kill();
  callers.clear();
  EXPECT_FALSE(gave_up) << "the replica took over and went on";
  EXPECT_GE(admitted + unknown, allowance);
  const int forgotten = std::max(0, admitted - allowance);
  std::printf("failover: %d admitted of %d, %d in doubt, %d forgotten by Redis\n", admitted.load(), allowance,
              unknown.load(), forgotten);
  RecordProperty("forgotten", forgotten);
}

}  // namespace
}  // namespace weir
