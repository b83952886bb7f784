// Usage in Redis over random histories, and in a cluster.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "redis/usage_on.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::first_hour;
using tests::hour;
using tests::RedisServer;
using tests::UsageOn;

/// Random histories beside a sum that is kept in the test.
class History {
 public:
  History(UsageOn& on, unsigned seed) : on_(on), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
    compare();
  }

 private:
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  void count(const std::string& entity, const std::string& resource, const std::vector<Charge>& charges,
             int sign = 1) {
    bool any = false;
    Row& row = rows_[{entity, resource, on_.clock.now() / hour * hour}];
    for (const Charge& charge : charges) {
      any = any || charge.amount != Amount();
      row.amounts[std::string(charge.limit)] += sign * charge.amount.millitokens();
    }
    if (any) ++row.events;
  }
  void step() {
    const std::string entity = "e" + std::to_string(below(4));
    const std::string resource = "r" + std::to_string(below(2));
    switch (below(12)) {
      case 0:
        return on_.clock.advance(std::chrono::minutes(below(90)));
      case 1:
        return on_.clock.advance(std::chrono::hours(below(8)));
      case 2: {
        const bool both = below(2) == 0;
        std::vector<LimitText> limits{{"rpm", "100000/min"}};
        if (both) limits.push_back({"tpm", "100000/min"});
        ASSERT_TRUE(on_.limiter.set_limits(Level::resource(resource), limits));
        limits_[resource] = both;
        return;
      }
      case 3:
        ASSERT_TRUE(on_.limiter.put_entity({.id = entity}));
        ASSERT_TRUE(on_.limiter.delete_entity(entity));
        return;
      case 4:
        on_.collect();
        return;
      default:
        return charge(entity, resource);
    }
  }
  void charge(const std::string& entity, const std::string& resource) {
    std::vector<Charge> charges{{"rpm", Amount(below(3))}};
    if (limits_.try_emplace(resource, true).first->second) charges.push_back({"tpm", Amount(below(100))});
    auto decision = on_.limiter.acquire(entity, resource, charges);
    ASSERT_TRUE(decision) << decision.error().message;
    ASSERT_TRUE(decision->admitted());
    count(entity, resource, charges);
    if (below(4) != 0) return;
    const Amount settled(below(5));
    ASSERT_TRUE(decision->lease().settle({{"rpm", settled}}));
    count(entity, resource,
          {{"rpm", Amount::milli(settled.millitokens() - charges[0].amount.millitokens())}});
  }
  void compare() {
    std::string expected;
    std::string last;
    std::string actual;
    for (auto& [key, row] : rows_) {
      const auto& [entity, resource, start] = key;
      if (row.events == 0) continue;
      expected += entity + " " + resource + "+" + std::to_string((start - first_hour) / hour) + " " +
                  std::to_string(row.events) + ":";
      for (const auto& [limit, amount] : row.amounts) {
        if (amount != 0) expected += " " + limit + "=" + Amount::milli(amount).to_string();
      }
      expected += "\n";
    }
    for (int i = 0; i < 4; ++i) actual += on_.used("e" + std::to_string(i));
    EXPECT_EQ(actual, expected);
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    for (const std::size_t page : {1U, 3U, 1000U})
      EXPECT_EQ(lines(on_.used_on("r0", page)) + lines(on_.used_on("r1", page)), lines(expected)) << page;
    EXPECT_EQ(on_.collect().lost, 0);
  }

  struct Row {
    std::int64_t events = 0;
    std::map<std::string, std::int64_t> amounts;
  };
  UsageOn& on_;
  std::mt19937 random_;
  std::map<std::tuple<std::string, std::string, Time>, Row> rows_;
  std::map<std::string, bool> limits_;
};

TEST(RedisUsageHistory, IsSummedExactly) {
  RedisServer server;
  for (unsigned seed = 1; seed <= 4 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    server.ask({"FLUSHALL"});
    UsageOn fresh(server.patient_url() + "&cache_ms=1");
    History(fresh, seed).run(400);
  }
}

TEST(RedisUsageInACluster, IsCountedAndReadOverAllNodesWhereverAnEntityMoves) {
  tests::RedisCluster cluster;
  UsageOn on(cluster.patient_url() + "&cache_ms=1");
  for (int i = 0; i < 12; ++i) on.take("key-" + std::to_string(i), {{"rpm", Amount(i + 1)}});
  ASSERT_TRUE(on.limiter.put_entity({.id = "child", .parent = "one", .cascade = true}));
  on.take("child", {{"rpm", 5}});
  EXPECT_EQ(on.used("one"), "one r+0 1: rpm=5\n");
  // The buckets have expired, but not what they counted.
  on.clock.advance(1h);
  const auto moved = on.limiter.put_entity({.id = "child", .parent = "two", .cascade = true});
  ASSERT_TRUE(moved) << moved.error().message;
  on.take("child", {{"rpm", 7}});
  const std::string child = "child r+0 1: rpm=5\nchild r+1 1: rpm=7\n";
  EXPECT_EQ(on.used("child"), child);
  EXPECT_EQ(on.used("two"), "two r+1 1: rpm=7\n");
  std::string all;
  for (const int i : {0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9})
    all += "key-" + std::to_string(i) + " r+0 1: rpm=" + std::to_string(i + 1) + "\n";
  all = "child r+0 1: rpm=5\n" + all + "one r+0 1: rpm=5\nchild r+1 1: rpm=7\ntwo r+1 1: rpm=7\n";
  for (const std::size_t page : {1U, 3U, 20U, 1000U}) EXPECT_EQ(on.used_on("r", page), all) << page;
  EXPECT_EQ(on.collect().segments, 14);
  EXPECT_EQ(on.used("child"), child);
  EXPECT_EQ(on.used_on("r"), all);
  ASSERT_TRUE(on.limiter.delete_entity("child"));
  EXPECT_EQ(on.used("child"), child);
  on.clock.advance(1h);
  // The same hour in both families is one row.
  ASSERT_TRUE(on.limiter.put_entity({.id = "child", .parent = "one", .cascade = true}));
  on.take("child", {{"rpm", 1}});
  ASSERT_TRUE(on.limiter.delete_entity("child"));
  ASSERT_TRUE(on.limiter.put_entity({.id = "child", .parent = "two", .cascade = true}));
  on.take("child", {{"rpm", 1}});
  EXPECT_EQ(on.used("child"), child + "child r+2 2: rpm=2\n");
  on.clock.advance(30h);
  EXPECT_EQ(on.collect().lost, 0);
  EXPECT_EQ(on.used("child"), child + "child r+2 2: rpm=2\n");
}

TEST(RedisUsageHistory, IsSummedExactlyInACluster) {
  tests::RedisCluster cluster;
  UsageOn on(cluster.patient_url() + "&cache_ms=1");
  History(on, 7).run(400);
}

}  // namespace
}  // namespace weir
