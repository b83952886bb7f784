// What users saw break: repeats after a bucket was made anew, waits that were not kept, limits that outgrew
// their burst.
#include "contract/contract.h"

namespace weir::contract {
namespace {

class Promises : public Contract {
 public:
  /// The request has to wait for so long, to the millisecond.
  void expect_wait_of(std::chrono::milliseconds wait, std::string_view entity,
                      std::initializer_list<Charge> consume) {
    EXPECT_EQ(acquire(entity, consume).retry_after(), wait);
    advance(wait - 1ms);
    EXPECT_FALSE(admits(entity, consume));
    advance(1ms);
    EXPECT_TRUE(admits(entity, consume));
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Promises, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Promises, AnAcquireRepeatedAfterItsBucketWasMadeAnewAnswersWithTheFirstLease) {
  set_system({{"rpm", "60/min"}}, {.bucket_ttl_refill_multiplier = 1});
  ASSERT_TRUE(acquire_keyed("key", {{"rpm", 6}}, "once").admitted());
  advance(1min + 30s);  // it has expired, and its deadline is in ten minutes
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  Decision again = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(again.admitted());
  EXPECT_EQ(again.limits()[0].remaining, Amount(50)) << "nothing is charged again";
  ASSERT_TRUE(again.lease().rollback());
  EXPECT_EQ(remaining("key", "rpm"), "50") << "the new bucket was never charged by it";
  const auto buckets = limiter.buckets("key", {});
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->items[0].limits[0].consumed, Amount(10));
}

TEST_P(Promises, AnAcquireRepeatedAfterItsChainHasChangedAnswersWithTheFirstLease) {
  set_system({{"rpm", "60/min"}}, {.bucket_ttl_refill_multiplier = 1});
  put("project", "", false);
  put("key", "project");
  ASSERT_TRUE(acquire_keyed("key", {{"rpm", 6}}, "once").admitted());
  advance(1min + 30s);
  put("other", "", false);
  put("key", "other");
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  Decision again = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(again.admitted());
  ASSERT_TRUE(again.lease().rollback());
  EXPECT_EQ(remaining("key", "rpm"), "50");
  EXPECT_EQ(remaining("other", "rpm"), "50");
}

TEST_P(Promises, AnAcquireRepeatedAfterItsLimitHasLeftAnswersWithTheFirstLease) {
  set_system({{"rpm", "60/min"}, {"tpm", "60/min"}});
  Decision first = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(first.admitted());
  set_system({{"tpm", "60/min"}});
  Decision again = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(again.admitted());
  EXPECT_EQ(*again.lease().id(), *first.lease().id());
  EXPECT_ERROR("unknown-limit", "\"rpm\"",
               limiter.acquire("key", resource, {{"rpm", 6}}, {.idempotency_key = "other"}));
  ASSERT_TRUE(again.lease().rollback());
  set_system({{"rpm", "60/min"}, {"tpm", "60/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "60");
}

TEST_P(Promises, AnAcquireRepeatedAfterAllLimitsHaveLeftAnswersWithTheFirstLease) {
  set_system({{"rpm", "60/min"}});
  Decision first = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(first.admitted());
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  Decision again = acquire_keyed("key", {{"rpm", 6}}, "once");
  ASSERT_TRUE(again.admitted());
  EXPECT_EQ(*again.lease().id(), *first.lease().id());
  EXPECT_ERROR("no-limits", "key",
               limiter.acquire("key", resource, {{"rpm", 6}}, {.idempotency_key = "other"}));
}

TEST_P(Promises, AWaitIsTrueThoughLimitsWereRaisedTwiceWithinAMillisecond) {
  set_system({{"rpm", "1/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"rpm", "10/min"}});
  set_system({{"rpm", "60/min"}});
  const Decision refused = acquire("key", {{"rpm", 5}});
  ASSERT_TRUE(refused.refused());
  ASSERT_TRUE(refused.retry_after());
  expect_wait_of(*refused.retry_after(), "key", {{"rpm", 5}});
}

TEST_P(Promises, AWaitIsKeptThoughOthersRollBackSettleAndNameZero) {
  set_system({{"rpm", "1/min:10"}}, {.bucket_ttl_refill_multiplier = 1});
  Decision charged = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(charged.admitted());
  const Decision refused = acquire("key", {{"rpm", 10}});
  ASSERT_TRUE(refused.refused());
  ASSERT_TRUE(refused.retry_after());
  advance(4min);
  ASSERT_TRUE(charged.lease().rollback());
  ASSERT_TRUE(admits("key", {{"rpm", 0}}));
  expect_wait_of(*refused.retry_after() - 5min, "key", {{"rpm", 10}});
}

TEST_P(Promises, ARefusedRequestForMoreThanTheCapacityGrowsFromTheFirstRefusalOn) {
  set_system({{"rpm", "1/min:10"}}, {.bucket_ttl_refill_multiplier = 1});
  const Decision refused = acquire("key", {{"rpm", 5}});
  ASSERT_TRUE(refused.retry_after());
  advance(2min);
  expect_wait_of(*refused.retry_after() - 2min, "key", {{"rpm", 5}});
}

TEST_P(Promises, NoWaitIsNamedThatABucketWouldNotLiveToSee) {
  set(Level::entity_default("slow"), {{"rpm", "1/day"}});
  set(Level::entity_default("key"), {{"rpm", "1/min:10"}});
  put("slow", "", false);
  put("key", "slow");
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  const Decision refused = acquire("key", {{"rpm", 1}});
  EXPECT_TRUE(refused.retry_after()) << "a bucket that is made anew holds its capacity of 1";
  set(Level::entity_default("slow"), {{"rpm", "1/day:5"}});
  const Decision more = acquire("key", {{"rpm", 2}});
  EXPECT_FALSE(more.retry_after()) << "key expires after 11 minutes, and then has to grow again";
  EXPECT_FALSE(more.never_fits());
}

TEST_P(Promises, ARefusalWritesNothing) {
  set_system({{"rpm", "10/min:20"}, {"tpm", "100/min"}});
  put("project", "", false);
  put("key", "project");
  ASSERT_TRUE(admits("key", {{"rpm", 4}, {"tpm", 100}}));
  const auto texts = [&] {
    std::string text;
    for (const char* const entity : {"key", "project"}) {
      const auto page = limiter.buckets(entity, {});
      for (const Bucket& bucket : page->items) {
        text += bucket.entity + std::to_string(bucket.refilled_at) + " " +
                std::to_string(bucket.expires_at.value_or(0)) + " " + std::to_string(bucket.version);
        for (const auto& limit : bucket.limits)
          text += " " + limit.tokens.to_string() + " " + limit.consumed.to_string();
      }
    }
    return text;
  };
  const std::string before = texts();
  for (int i = 0; i < 3; ++i) {
    advance(1s);
    ASSERT_FALSE(admits("key", {{"rpm", 1}, {"tpm", 90}}));
    ASSERT_FALSE(admits("key", {{"rpm", 20}}));
    ASSERT_FALSE(admits("key", {{"rpm", 21}}));
  }
  EXPECT_EQ(texts(), before);
}

TEST_P(Promises, ALimitThatWasLoweredAndRemovedWhileItsBucketSleptKeepsTheLowerBurst) {
  set_system({{"rpm", "10/min"}, {"tpm", "60/h:60"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 60}}));
  set_system({{"rpm", "10/min"}, {"tpm", "2/h:2"}});
  set_system({{"rpm", "10/min"}});
  advance(30min);
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"rpm", "10/min"}, {"tpm", "60/h:60"}});
  EXPECT_EQ(remaining("key", "tpm"), "1") << "half an hour at the lowest rate";
}

TEST_P(Promises, ARaisedLimitCountsFromTheChangeOn) {
  set_system({{"rpm", "60/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set(Level::entity("key", "gpt-4"), {{"rpm", "60000/min"}});
  advance(1s);
  EXPECT_EQ(remaining("key", "rpm"), "1010");
}

TEST_P(Promises, ALeaseThatWasAdjustedUpCanBeAdjustedDownAgain) {
  set_system({{"tpm", "100/min"}});
  Decision charged = acquire("key", {{"tpm", 1}});
  ASSERT_TRUE(charged.admitted());
  const std::string id = *charged.lease().id();
  ASSERT_TRUE(limiter.adjust(id, {{"tpm", 5}}, "a"));
  auto down = limiter.adjust(id, {{"tpm", -3}}, "b");
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_EQ(remaining("key", "tpm"), "97");
  ASSERT_TRUE(limiter.settle(id, {{"tpm", 2}}));
  EXPECT_ERROR("conflict", "settled", limiter.adjust(id, {{"tpm", -3}}, "c"));
}

TEST_P(Promises, AChainOfThreeAndOfEightIsChargedTheSecondTimeToo) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  put("e1", "", false);
  for (int i = 2; i <= 8; ++i) put("e" + std::to_string(i), "e" + std::to_string(i - 1));
  for (int round = 1; round <= 3; ++round) {
    const Decision three = acquire("e3", {{"rpm", 1}, {"tpm", 5}});
    ASSERT_TRUE(three.admitted());
    EXPECT_EQ(three.limits().size(), 6U);
    const Decision eight = acquire("e8", {{"rpm", 1}, {"tpm", 5}});
    ASSERT_TRUE(eight.admitted());
    EXPECT_EQ(eight.limits().size(), 16U);
    EXPECT_EQ(remaining("e1", "rpm"), std::to_string(10 - 2 * round));
    EXPECT_EQ(remaining("e8", "tpm"), std::to_string(100 - 5 * round));
  }
  EXPECT_FALSE(admits("e8", {{"rpm", 5}}));
  EXPECT_EQ(remaining("e8", "rpm"), "7");
}

}  // namespace
}  // namespace weir::contract
