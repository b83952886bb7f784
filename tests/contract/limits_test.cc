#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Limits);

TEST_P(Limits, TheStrongestLevelWinsWhole) {
  const auto request = RequestLimits::make({{"rpm", "1/min"}});
  const AcquireOptions options{.limits = &*request};
  EXPECT_EQ(acquire("key", {{"rpm", 1}}, options).limits()[0].source, Source::request);
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  EXPECT_EQ(acquire("key", {{"rpm", 1}}, options).limits()[0].source, Source::system);
  set(Level::resource("gpt-4"), {{"rpm", "20/min"}});
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].source, Source::resource);
  EXPECT_ERROR("unknown-limit", "tpm", limiter.acquire("key", resource, {{"tpm", 1}}));
  set(Level::entity_default("key"), {{"rpm", "30/min"}});
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].source, Source::entity_default);
  set(Level::entity("key", "gpt-4"), {{"rpm", "40/min"}});
  const Decision decision = acquire("key", {{"rpm", 1}});
  EXPECT_EQ(decision.limits()[0].source, Source::entity);
  EXPECT_EQ(decision.limits()[0].capacity, Amount(40));
  EXPECT_EQ(acquire("other", {{"rpm", 1}}).limits()[0].source, Source::resource);
}

TEST_P(Limits, TheEffectiveLimitsSayWhereTheyComeFrom) {
  EXPECT_ERROR("no-limits", "key", limiter.effective_limits("key", resource));
  set_system({{"rpm", "10/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "40/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  auto effective = limiter.effective_limits("key", resource);
  ASSERT_TRUE(effective);
  EXPECT_EQ(effective->source, Source::entity);
  EXPECT_EQ(effective->owner, Owner::sync);
  ASSERT_EQ(effective->limits.size(), 1U);
  EXPECT_EQ(effective->limits[0].limit.capacity(), Amount(40));
  effective = limiter.effective_limits("other", resource);
  ASSERT_TRUE(effective);
  EXPECT_EQ(effective->source, Source::system);
}

TEST_P(Limits, StoredLimitsAreReadBackAsTheyWereSet) {
  set(Level::entity("key", "gpt-4"),
      {{"tpm", "5/10s:7.5"}, {"rpm", R"({"capacity":1,"refill_amount":2,"refill_period_ms":3})"}});
  auto stored = limiter.limits(Level::entity("key", "gpt-4"));
  ASSERT_TRUE(stored);
  ASSERT_EQ(stored->limits.size(), 2U);
  EXPECT_EQ(stored->limits[0].name, "rpm");
  EXPECT_EQ(stored->limits[0].limit.to_json(),
            R"({"capacity":1,"burst":1,"refill_amount":2,"refill_period_ms":3})");
  EXPECT_EQ(stored->limits[1].limit.to_json(),
            R"({"capacity":5,"burst":7.5,"refill_amount":5,"refill_period_ms":10000})");
  EXPECT_EQ(stored->owner, Owner::operator_);
  EXPECT_FALSE(stored->expires_at);
  EXPECT_ERROR("not-found", "gpt-5", limiter.limits(Level::entity("key", "gpt-5")));
}

TEST_P(Limits, DeletedLimitsAreGoneAndTheNextLevelHolds) {
  set_system({{"rpm", "10/min"}});
  set(Level::resource("gpt-4"), {{"rpm", "1/min"}});
  EXPECT_EQ(admitted_of(3, "key"), 1);
  ASSERT_TRUE(limiter.delete_limits(Level::resource("gpt-4")));
  EXPECT_ERROR("not-found", "gpt-4", limiter.limits(Level::resource("gpt-4")));
  EXPECT_ERROR("not-found", "gpt-4", limiter.delete_limits(Level::resource("gpt-4")));
  EXPECT_EQ(limiter.effective_limits("key", resource)->source, Source::system);
  EXPECT_EQ(remaining("key", "rpm"), "0") << "nothing is given by raising";
}

TEST_P(Limits, RaisingGivesNothingAtOnce) {
  set_system({{"rpm", "60/min"}});
  advance(1s);
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  set_system({{"rpm", "120/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "0");
  advance(30s);
  EXPECT_EQ(remaining("key", "rpm"), "60");
}

TEST_P(Limits, WhatExceedsALowerBurstIsCut) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  set_system({{"rpm", "20/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "20");
  set_system({{"rpm", "60/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "20") << "and does not come back by raising again";
}

TEST_P(Limits, AChangeOfRateIsClaimedInTwoParts) {
  set_system({{"rpm", "60/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", R"({"capacity":60,"burst":100,"refill_amount":600})"}});
  advance(1s);
  EXPECT_EQ(remaining("key", "rpm"), "20") << "ten seconds at 1/s and one at 10/s";
  ASSERT_TRUE(admits("key", {{"rpm", 0}}));
  set_system({{"rpm", R"({"capacity":60,"burst":100,"refill_amount":6})"}});
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "21") << "ten more at 1/10s, none of it retroactive";
}

TEST_P(Limits, AChangeThatABucketSleptThroughCountsFromWhenItHappened) {
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":60})"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  advance(50s);
  EXPECT_EQ(admitted_of(600, "key"), 510) << "ten seconds at 1/s, fifty at 10/s";
}

TEST_P(Limits, WhereSeveralChangesWereMissedTheLowestRateHolds) {
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":60})"}});
  advance(10s);
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "120") << "twenty seconds at 1/s, ten at 10/s";
}

TEST_P(Limits, ChangesBelowTheLevelThatHoldsAreNotFelt) {
  set(Level::entity("key", "gpt-4"), {{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", "0"}});
  set_system({{"rpm", "1/min"}});
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "200") << "twenty seconds at 10/s";
}

TEST_P(Limits, AMissedChangeCountsFromItsOwnMomentNotFromALaterOneBelow) {
  set(Level::entity("key", "gpt-4"), {{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set(Level::entity("key", "gpt-4"), {{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":60})"}});
  advance(10s);
  set_system({{"rpm", "1/min"}});
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "120") << "ten seconds at 10/s, twenty at 1/s";
}

TEST_P(Limits, WhileAStrongerLevelIsGoneTheWeakerOneHolds) {
  set_system({{"rpm", "1/hour"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "1000/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1000}}));
  ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "gpt-4")));
  advance(2h);
  set(Level::entity("key", "gpt-4"), {{"rpm", "1000/min"}});
  EXPECT_LE(admitted_of(20, "key"), 2);
}

TEST_P(Limits, AGapThatLiesManyChangesBackStillCounts) {
  set_system({{"rpm", "1/hour"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "1000/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1000}}));
  ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "gpt-4")));
  advance(1h);
  for (int i = 0; i < 20; ++i) set(Level::entity("key", "gpt-4"), {{"rpm", "1000/min"}});
  EXPECT_LE(admitted_of(20, "key"), 2);
}

TEST_P(Limits, ABucketWhoseVersionRanAheadStillFollowsAnOperator) {
  const auto small = RequestLimits::make({{"rpm", "99999/day"}});
  const auto large = RequestLimits::make({{"rpm", "100000/day"}});
  ASSERT_TRUE(admits("key", {{"rpm", 99999}}, {.limits = &*small}));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(admits("key", {{"rpm", 0}}, {.limits = i % 2 == 0 ? &*large : &*small}));
  set_system({{"rpm", R"({"capacity":100000,"refill_amount":1,"refill_period_ms":86400000})"}});
  advance(6h);
  EXPECT_LE(admitted_of(20, "key"), 1);
}

TEST_P(Limits, LimitsOfARequestHoldFromThatRequestOn) {
  const auto slow = RequestLimits::make({{"rpm", "10/day"}});
  const auto fast = RequestLimits::make({{"rpm", "1000/hour"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}, {.limits = &*slow}));
  set_system({{"rpm", "10/day"}});
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  advance(3h);
  auto look = limiter.available("key", resource, {}, {.limits = &*fast});
  ASSERT_TRUE(look);
  EXPECT_LT(look->limits().find("rpm")->remaining, Amount(2));
}

TEST_P(Limits, ABlockThatABucketSleptThroughLeavesNothing) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  set_system({{"rpm", "0"}});
  advance(1min);
  set_system({{"rpm", "60/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "0");
  advance(1s);
  EXPECT_EQ(remaining("key", "rpm"), "1");
}

TEST_P(Limits, AnAddedLimitStartsAtCapacity) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 4}}));
  advance(1h);
  set_system({{"rpm", "10/min"}, {"tpm", "100/min:1000"}});
  EXPECT_EQ(remaining("key", "tpm"), "100");
  EXPECT_TRUE(admits("key", {{"tpm", 100}}));
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
}

TEST_P(Limits, RemovingALimitAndAddingItAgainMintsNothing) {
  set_system({{"rpm", "60/min"}, {"tpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 60}}));
  set_system({{"rpm", "60/min"}});
  EXPECT_EQ(remaining("key", "tpm"), "none");
  EXPECT_ERROR("unknown-limit", "tpm", limiter.acquire("key", resource, {{"tpm", 1}}));
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(10s);
  set_system({{"rpm", "60/min"}, {"tpm", "60/min"}});
  EXPECT_EQ(remaining("key", "tpm"), "10") << "it refilled while it was away";
}

TEST_P(Limits, AlternatingSetsOfLimitsMintNothing) {
  const auto first = RequestLimits::make({{"rpm", "10/min"}});
  const auto second = RequestLimits::make({{"tpm", "10/min"}});
  const AcquireOptions with_first{.limits = &*first};
  const AcquireOptions with_second{.limits = &*second};
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    admitted += admits("key", {{"rpm", 1}}, with_first) ? 1 : 0;
    ASSERT_TRUE(admits("key", {{"tpm", 0}}, with_second));
  }
  EXPECT_EQ(admitted, 10);
}

TEST_P(Limits, AlternatingParametersMintNothing) {
  const auto small = RequestLimits::make({{"rpm", "10/min"}});
  const auto large = RequestLimits::make({{"rpm", "20/min"}});
  int admitted = 0;
  for (int i = 0; i < 50; ++i)
    admitted += admits("key", {{"rpm", 1}}, {.limits = i % 2 == 0 ? &*small : &*large}) ? 1 : 0;
  EXPECT_EQ(admitted, 10);
}

TEST_P(Limits, TheSameLimitsWrittenAgainChangeNothing) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  for (int i = 0; i < 60; ++i) {
    advance(1s);
    set_system({{"rpm", "60/min"}});
  }
  EXPECT_EQ(remaining("key", "rpm"), "60");
}

TEST_P(Limits, LimitsSentWithTheRequestHoldOnlyForTheEntityItself) {
  set(Level::entity("project", "gpt-4"), {{"rpm", "5/min"}});
  put("key", "project");
  const auto limits = RequestLimits::make({{"rpm", "2/min"}});
  const Decision decision = acquire("key", {{"rpm", 1}}, {.limits = &*limits});
  ASSERT_EQ(decision.limits().size(), 2U);
  EXPECT_EQ(decision.limits()[0].capacity, Amount(2));
  EXPECT_EQ(decision.limits()[1].capacity, Amount(5));
}

TEST_P(Limits, SyncNeverOverwritesAnOperator) {
  const Level level = Level::entity("key", "gpt-4");
  set(level, {{"rpm", "40/min"}});
  EXPECT_ERROR("operator-owned", "key",
               limiter.set_limits(level, {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_in = 30s}));
  EXPECT_EQ(limiter.limits(level)->limits[0].limit.capacity(), Amount(40));
  ASSERT_TRUE(limiter.delete_limits(level));
  set(level, {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  set(level, {{"rpm", "2/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  EXPECT_EQ(limiter.limits(level)->owner, Owner::sync);
  EXPECT_EQ(limiter.limits(level)->expires_at, now() + 30'000);
  set(level, {{"rpm", "50/min"}});
  EXPECT_EQ(limiter.limits(level)->owner, Owner::operator_);
}

TEST_P(Limits, ARenewalBySyncIsNoEventOfTheAudit) {
  const auto write = [&](const char* limit) {
    set(Level::entity("key", resource), {{"rpm", limit}}, {.owner = Owner::sync, .expires_in = 30s});
    advance(10s);
  };
  for (const char* const limit : {"10/min", "10/min", "10/min", "20/min", "20/min"}) write(limit);
  const auto record = limiter.limits(Level::entity("key", resource));
  ASSERT_TRUE(record);
  EXPECT_GE(record->expires_at.value_or(0), now() + 20'000);
  auto events = limiter.audit("key");
  ASSERT_TRUE(events);
  EXPECT_EQ(events->items.size(), 2U);
  // Without limits in force, it is a change again.
  advance(60s);
  write("20/min");
  set(Level::entity("key", resource), {{"rpm", "20/min"}});
  events = limiter.audit("key");
  ASSERT_TRUE(events);
  EXPECT_EQ(events->items.size(), 4U);
}

TEST_P(Limits, ExpiredLimitsAreAbsentAtOnce) {
  set_system({{"rpm", "10/min"}});
  const Level level = Level::entity("key", "gpt-4");
  set(level, {{"rpm", "2/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].capacity, Amount(2));
  advance(30s - 1ms);
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].capacity, Amount(2));
  advance(1ms);
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].capacity, Amount(10));
  EXPECT_ERROR("not-found", "key", limiter.limits(level));
  EXPECT_EQ(limiter.effective_limits("key", resource)->source, Source::system);
}

TEST_P(Limits, TheEndOfAnExpiredLimitIsClaimedFromItsMoment) {
  set_system({{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":600})"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", R"({"capacity":60,"burst":1000,"refill_amount":60})"}},
      {.owner = Owner::sync, .expires_in = 10s});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(20s);
  EXPECT_EQ(remaining("key", "rpm"), "110") << "ten seconds at 1/s, then ten at 10/s";
}

TEST_P(Limits, NamespacesAreIsolated) {
  set_system({{"rpm", "1/min"}});
  auto other = store_->open({.name_space = "other"});
  ASSERT_TRUE(other);
  EXPECT_ERROR("no-limits", "key", other->acquire("key", resource, {{"rpm", 1}}));
}

}  // namespace
}  // namespace weir::contract
