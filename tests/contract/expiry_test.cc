#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Expiry);

// A bucket that has vanished shows itself by its burst: a new one holds capacity, an old one what it saved.

TEST_P(Expiry, AnUnusedBucketVanishesAfterSevenTimesItsTimeToFill) {
  set_system({{"rpm", "10/min:15"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(7min - 1ms);
  EXPECT_NE(remaining("key", "rpm"), "10");
  advance(1ms);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Expiry, TheMultiplierIsPartOfTheSystemsLimits) {
  set_system({{"rpm", "10/min:15"}}, {.bucket_ttl_refill_multiplier = 3});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(3min - 1ms);
  EXPECT_NE(remaining("key", "rpm"), "10");
  advance(1ms);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Expiry, ABurstAboveTheCapacityIsKeptUntilItIsFullAndCouldFillOnceMore) {
  set_system({{"rpm", "10/min:100"}}, {.bucket_ttl_refill_multiplier = 1});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  advance(11min - 1ms);
  EXPECT_EQ(remaining("key", "rpm"), "100");
  advance(1ms);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Expiry, EveryChargePutsTheExpiryOff) {
  set_system({{"rpm", "10/min:100"}});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(admits("key", {{"rpm", 1}}));
    advance(6min);
  }
  EXPECT_EQ(remaining("key", "rpm"), "100");
}

TEST_P(Expiry, ABucketInDebtDoesNotVanishBeforeItWouldHoldItsCapacity) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 60}});
  ASSERT_TRUE(decision.lease().settle({{"tpm", 60 * 20}}));
  advance(19min);
  EXPECT_EQ(remaining("key", "tpm"), "0");
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
  advance(30s);
  EXPECT_EQ(remaining("key", "tpm"), "30");
}

TEST_P(Expiry, ABucketUnderAnOperatorsOwnLimitsNeverVanishes) {
  set(Level::entity("key", "gpt-4"), {{"rpm", "10/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(24h * 365);
  EXPECT_EQ(remaining("key", "rpm"), "100");
}

TEST_P(Expiry, TheSourceOfTheLimitsSetsAndRemovesTheExpiry) {
  set_system({{"rpm", "10/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set(Level::entity("key", "gpt-4"), {{"rpm", "10/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(24h);
  EXPECT_EQ(remaining("key", "rpm"), "100") << "under limits of its own it stays";
  ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "gpt-4")));
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(24h);
  EXPECT_EQ(remaining("key", "rpm"), "10") << "under the system's it vanishes again";
}

TEST_P(Expiry, AChangeOfTheEntitysLimitsReachesTheExpiryAtOnce) {
  set(Level::entity_default("key"), {{"rpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 100}}));
  set(Level::entity("key", "gpt-4"), {{"rpm", "100/day"}});
  advance(10min);
  EXPECT_LE(admitted_of(20, "key"), 1) << "after seven minutes it would have vanished under the old limits";
}

TEST_P(Expiry, ABucketOutlivesLimitsThatExpireIntoSlowerOnes) {
  set_system({{"rpm", "100/day"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "100/min"}}, {.owner = Owner::sync, .expires_in = 1s});
  ASSERT_TRUE(admits("key", {{"rpm", 100}}));
  advance(10min);
  EXPECT_LE(admitted_of(20, "key"), 5);
}

TEST_P(Expiry, ABucketIsFullUnderTheLimitsThatFollowBeforeItVanishes) {
  set_system({{"rpm", "100/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_in = 390s});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(420s);  // seven times the time to fill the limit of 1 a minute
  EXPECT_EQ(remaining("key", "rpm"), "51") << "1 and half a minute of 100 a minute";
  EXPECT_FALSE(admits("key", {{"rpm", 100}}));
}

TEST_P(Expiry, ADebtOutlivesTheFasterLimitsUnderWhichItWasMade) {
  set_system({{"rpm", "1/s:10"}}, {.bucket_ttl_refill_multiplier = 2});
  set(Level::entity("key", "gpt-4"), {{"rpm", "100/s"}}, {.owner = Owner::sync, .expires_in = 2s});
  Decision charged = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(charged.admitted());
  ASSERT_TRUE(charged.lease().adjust({{"rpm", 1100}}));
  advance(60s);
  const Decision refused = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(refused.refused()) << "a debt of more than 700 is paid by one a second";
  ASSERT_TRUE(refused.retry_after());
  EXPECT_GT(*refused.retry_after(), 10min);
}

TEST_P(Expiry, ADeletedMultiplierIsGone) {
  set_system({{"rpm", "10/min:15"}}, {.bucket_ttl_refill_multiplier = 50});
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  set_system({{"rpm", "10/min:15"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(7min);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Expiry, LimitsOwnedBySyncDoNotKeepABucket) {
  set_system({{"rpm", "10/min:15"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "10/min:15"}}, {.owner = Owner::sync, .expires_in = 24h});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(7min);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Expiry, ARemovedLimitIsForgottenOnlyWhenItWouldHoldItsCapacity) {
  set_system({{"rpm", "60/min"}, {"tpm", "60/min:120"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 60}}));
  set_system({{"rpm", "60/min"}});
  advance(59s);
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"rpm", "60/min"}, {"tpm", "60/min:120"}});
  EXPECT_EQ(remaining("key", "tpm"), "59");
  set_system({{"rpm", "60/min"}});
  advance(30s);
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"rpm", "60/min"}, {"tpm", "60/min:120"}});
  EXPECT_EQ(remaining("key", "tpm"), "60") << "a forgotten limit starts at capacity";
}

}  // namespace
}  // namespace weir::contract
