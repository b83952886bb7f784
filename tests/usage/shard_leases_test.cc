// Which shards a worker takes.
#include "usage/shard_leases.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::usage {
namespace {

constexpr Time now = 1'000'000;

ShardLease lease(std::string shard, std::string owner, Time until = now + 1, bool finished = false) {
  return {std::move(shard), std::move(owner), until, "7", finished};
}

/// The shards that the worker "me" takes.
std::set<std::string> taken(const std::vector<Shard>& shards, const std::vector<ShardLease>& leases,
                            const std::set<std::string>& reads = {}) {
  const std::string me = "me";
  std::set<std::string> ids;
  const auto plan = plan_leases({me, now, 1000}, shards, leases,
                                [&](const std::string& shard) { return reads.contains(shard); });
  for (const LeaseChange& change : plan.take) {
    EXPECT_EQ(change.next.owner, "me");
    EXPECT_EQ(change.next.until, now + 1000);
    EXPECT_EQ(change.next.sequence, change.before ? change.before->sequence : "");
    ids.insert(change.next.shard);
  }
  return ids;
}

using Ids = std::set<std::string>;

TEST(ShardLeases, AWorkerAloneTakesEverything) {
  EXPECT_EQ(taken({{"a"}, {"b"}}, {}), (Ids{"a", "b"}));
  EXPECT_EQ(taken({{"a"}, {"b"}}, {lease("a", "")}), (Ids{"a", "b"}));
}

TEST(ShardLeases, AChildWaitsUntilItsParentIsFinishedOrGone) {
  EXPECT_EQ(taken({{"a"}, {"b", "a"}}, {}), Ids{"a"});
  EXPECT_EQ(taken({{"a"}, {"b", "a"}}, {lease("a", "other")}), Ids{});
  EXPECT_EQ(taken({{"a"}, {"b", "a"}}, {lease("a", "other", now, true)}), Ids{"b"});
  EXPECT_EQ(taken({{"b", "a"}}, {}), Ids{"b"});
  EXPECT_EQ(taken({{"b", "a"}}, {lease("a", "other")}), Ids{}) << "somebody still has records of it";
}

TEST(ShardLeases, AnExpiredLeaseIsTakenOver) {
  EXPECT_EQ(taken({{"a"}}, {lease("a", "other", now)}), Ids{"a"});
  EXPECT_EQ(taken({{"a"}}, {lease("a", "other", now + 1)}), Ids{});
}

TEST(ShardLeases, WorkersShareAndALateOneTakesFromTheBusiest) {
  EXPECT_EQ(taken({{"a"}, {"b"}, {"c"}, {"d"}}, {lease("a", "other")}).size(), 2U) << "half of them";
  const std::vector<Shard> four = {{"a"}, {"b"}, {"c"}, {"d"}};
  EXPECT_EQ(taken(four, {lease("a", "x"), lease("b", "x"), lease("c", "x"), lease("d", "y")}).size(), 1U);
  EXPECT_EQ(taken({{"a"}, {"b"}}, {lease("a", "x"), lease("b", "y")}).size(), 0U);
}

TEST(ShardLeases, ALeaseThatWasTakenWithoutAnAnswerIsTakenAgain) {
  EXPECT_EQ(taken({{"a"}}, {lease("a", "me")}), Ids{"a"});
  EXPECT_EQ(taken({{"a"}}, {lease("a", "me")}, {"a"}), Ids{});
}

TEST(ShardLeases, LeasesOfShardsThatAreGoneAreErased) {
  const std::string me = "me";
  const auto plan = plan_leases({me, now, 1000}, {{"c"}},
                                {lease("a", "x", now, true), lease("b", "x", now), lease("d", "x")},
                                [](const std::string&) { return false; });
  ASSERT_EQ(plan.erase.size(), 2U);
  EXPECT_TRUE(plan.erase[0].finished);
  EXPECT_FALSE(plan.erase[1].finished) << "its last records were lost";
}

}  // namespace
}  // namespace weir::usage
