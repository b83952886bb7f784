// Corrections of balances: an operator fills a bucket, a gateway lowers one.
#include "contract/contract.h"

namespace weir::contract {
namespace {

class Corrections : public Contract {
 public:
  void lower(std::string_view entity, std::initializer_list<Charge> at_most) {
    store_->between();
    auto lowered = limiter.lower(entity, resource, std::span(at_most.begin(), at_most.size()));
    ASSERT_TRUE(lowered) << lowered.error().message;
  }
  void reset(std::string_view entity, std::string_view on = {}) {
    store_->between();
    auto filled = limiter.reset(entity, on);
    ASSERT_TRUE(filled) << filled.error().message;
  }
  /// What the bucket says was consumed.
  std::string consumed(std::string_view entity, std::string_view limit) {
    auto page = limiter.buckets(entity);
    if (!page) return page.error().message;
    for (const Bucket& bucket : page->items) {
      for (const BucketLimit& one : bucket.limits) {
        if (bucket.resource == resource && one.name == limit) return one.consumed.to_string();
      }
    }
    return "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Corrections, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Corrections, FillToCapacityAndCountNothing) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min:150"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}, {"tpm", 60}}));
  for (int i = 0; i < 2; ++i) {
    reset("key", "gpt-4");
    EXPECT_EQ(remaining("key", "rpm"), "10");
    EXPECT_EQ(remaining("key", "tpm"), "100") << "to capacity, not to burst";
    EXPECT_EQ(consumed("key", "rpm"), "10");
  }
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
}

TEST_P(Corrections, NeverLowerWhenTheyFillAndNeverRaiseWhenTheyLower) {
  set_system({{"rpm", "10/min:20"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(2min);
  ASSERT_EQ(remaining("key", "rpm"), "20");
  reset("key");
  EXPECT_EQ(remaining("key", "rpm"), "20");
  lower("key", {{"rpm", 25}});
  EXPECT_EQ(remaining("key", "rpm"), "20");
  lower("key", {{"rpm", 3}});
  EXPECT_EQ(remaining("key", "rpm"), "3");
  lower("key", {{"rpm", 5}});
  EXPECT_EQ(remaining("key", "rpm"), "3");
  EXPECT_EQ(consumed("key", "rpm"), "1");
  advance(6s);
  EXPECT_EQ(remaining("key", "rpm"), "4") << "it refills from there";
}

TEST_P(Corrections, LowerABucketThatDoesNotExistYetAndFillNone) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  lower("key", {{"rpm", 2}});
  EXPECT_EQ(remaining("key", "rpm"), "2");
  EXPECT_EQ(remaining("key", "tpm"), "100");
  EXPECT_EQ(consumed("key", "rpm"), "0");
  ASSERT_TRUE(admits("key", {{"rpm", 2}, {"tpm", 1}}));
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
  auto none = limiter.reset("other");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST_P(Corrections, PayDebtsAndKeepThem) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 60}});
  ASSERT_TRUE(decision.lease().settle({{"tpm", 90}}));
  ASSERT_EQ(remaining("key", "tpm"), "-30");
  lower("key", {{"tpm", 0}});
  EXPECT_EQ(remaining("key", "tpm"), "-30");
  reset("key");
  EXPECT_EQ(remaining("key", "tpm"), "60");
  EXPECT_EQ(consumed("key", "tpm"), "90");
}

TEST_P(Corrections, ChangeOnlyTheBucketThatIsNamed) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  put("project", "organisation");
  for (const char* on : {"gpt-4", "other"}) {
    resource = on;
    ASSERT_TRUE(admits("key", {{"rpm", 5}}));
  }
  reset("key", "gpt-4");
  EXPECT_EQ(remaining("key", "rpm"), "5");
  resource = "gpt-4";
  EXPECT_EQ(remaining("key", "rpm"), "10");
  EXPECT_EQ(remaining("project", "rpm"), "5");
  lower("organisation", {{"rpm", 1}});
  EXPECT_EQ(remaining("organisation", "rpm"), "1");
  EXPECT_EQ(remaining("project", "rpm"), "5");
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  EXPECT_FALSE(admits("key", {{"rpm", 1}})) << "the organisation has nothing left";
  auto all = limiter.reset("key");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2U);
}

TEST_P(Corrections, LeaveLeasesAndConcurrentLimitsAlone) {
  set_system({{"tpm", "100/min"}, {"calls", "2:concurrent"}});
  Decision decision = acquire("key", {{"tpm", 40}, {"calls", 1}});
  ASSERT_TRUE(decision.admitted());
  reset("key");
  EXPECT_EQ(remaining("key", "calls"), "1");
  EXPECT_EQ(remaining("key", "tpm"), "100");
  ASSERT_TRUE(decision.lease().settle({{"tpm", 10}}));
  EXPECT_EQ(remaining("key", "tpm"), "100") << "what is given back spills over the burst";
  EXPECT_EQ(remaining("key", "calls"), "2");
  EXPECT_ERROR("invalid-argument", "concurrent",
               limiter.lower("key", resource, std::vector<Charge>{{"calls", 1}}));
}

TEST_P(Corrections, FollowAChangeOfLimitsFirst) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  set(Level::system(), {{"rpm", "4/min"}, {"tpm", "100/min"}});
  reset("key");
  EXPECT_EQ(remaining("key", "rpm"), "4");
  EXPECT_EQ(remaining("key", "tpm"), "100");
  set(Level::system(), {{"rpm", "40/min"}});
  EXPECT_EQ(remaining("key", "rpm"), "4") << "raising gives nothing";
  reset("key");
  EXPECT_EQ(remaining("key", "rpm"), "40");
}

TEST_P(Corrections, KeepABucketAsLongAsItRefills) {
  set_system({{"rpm", "1/h"}}, {.bucket_ttl_refill_multiplier = 1});
  lower("key", {{"rpm", 0}});
  advance(59min);
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
  advance(1min);
  EXPECT_TRUE(admits("key", {{"rpm", 1}}));
}

TEST_P(Corrections, AreRefusedWithAReason) {
  EXPECT_ERROR("no-limits", "key", limiter.lower("key", resource, std::vector<Charge>{{"rpm", 1}}));
  set_system({{"rpm", "10/min"}});
  EXPECT_ERROR("invalid-argument", "\"tpm\"",
               limiter.lower("key", resource, std::vector<Charge>{{"tpm", 1}}));
  EXPECT_ERROR("invalid-argument", "negative",
               limiter.lower("key", resource, std::vector<Charge>{{"rpm", Amount::milli(-1)}}));
  EXPECT_ERROR("invalid-argument", "no limit", limiter.lower("key", resource, {}));
  EXPECT_ERROR("invalid-argument", "a b", limiter.reset("a b"));
  EXPECT_ERROR("invalid-argument", "a b", limiter.reset("key", "a b"));
}

TEST_P(Corrections, AreInTheAuditWhenAnOperatorFills) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  reset("key");
  const auto events = limiter.audit("key");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 1U);
  EXPECT_EQ(events->items[0].action, "entity.reset");
  EXPECT_EQ(events->items[0].resource, "gpt-4");
}

}  // namespace
}  // namespace weir::contract
