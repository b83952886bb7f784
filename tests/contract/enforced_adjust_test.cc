// Adjusts that must not leave a debt.
#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(EnforcedAdjust);

TEST_P(EnforcedAdjust, TakesWhatIsThereAndChangesNothingWhereItDoesNotSuffice) {
  set_system({{"tpm", "1000/min"}, {"rpm", "10/min"}});
  for (const std::string_view entity : {"new", "new"}) {
    Decision decision = acquire(entity, {{"tpm", 100}, {"rpm", 1}});
    ASSERT_TRUE(decision.admitted());
    const std::string before = remaining(entity, "tpm");
    EXPECT_ERROR("exhausted", "\"tpm\" lacks",
                 decision.lease().adjust({{"tpm", 901}, {"rpm", 1}}, Debt::refused));
    EXPECT_EQ(remaining(entity, "tpm"), before);
    EXPECT_TRUE(decision.lease().open());
    ASSERT_TRUE(decision.lease().adjust({{"tpm", 700}, {"rpm", 1}}, Debt::refused));
    ASSERT_TRUE(decision.lease().adjust({{"tpm", -650}}, Debt::refused)) << "giving back is never refused";
    ASSERT_TRUE(decision.lease().settle({{"tpm", 50}, {"rpm", 1}}));
  }
  EXPECT_EQ(remaining("new", "tpm"), "900");
  EXPECT_EQ(remaining("new", "rpm"), "8");
}

TEST_P(EnforcedAdjust, ReachesZeroAndNotFurtherUntilRefill) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 20}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 40}}, Debt::refused));
  EXPECT_EQ(remaining("key", "tpm"), "0");
  EXPECT_ERROR("exhausted", "lacks 1 ", decision.lease().adjust({{"tpm", 1}}, Debt::refused));
  advance(999ms);
  EXPECT_ERROR("exhausted", "lacks 0.001 ", decision.lease().adjust({{"tpm", 1}}, Debt::refused));
  advance(1ms);
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 1}}, Debt::refused));
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 30}})) << "a debt is allowed unless it is refused";
  EXPECT_EQ(remaining("key", "tpm"), "-30");
  EXPECT_ERROR("exhausted", "lacks 31 ", decision.lease().adjust({{"tpm", 1}}, Debt::refused));
}

TEST_P(EnforcedAdjust, GivesBackToALimitInDebtWhileItTakesOfAnother) {
  set_system({{"tpm", "60/min"}, {"rpm", "10/min"}});
  Decision decision = acquire("key", {{"tpm", 20}, {"rpm", 1}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 70}}));
  EXPECT_EQ(remaining("key", "tpm"), "-30");
  const auto adjusted = decision.lease().adjust({{"rpm", 1}, {"tpm", -1}}, Debt::refused);
  EXPECT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_EQ(remaining("key", "tpm"), "-29");
  EXPECT_EQ(remaining("key", "rpm"), "8");
}

TEST_P(EnforcedAdjust, IsRefusedByAnyLimitOfTheWholeChain) {
  set_system({{"tpm", "1000/min"}, {"rpm", "10/min"}});
  put("project", "organisation");
  put("team", "project");
  put("key", "team");
  ASSERT_TRUE(admits("organisation", {{"tpm", 800}}));
  for (int i = 0; i < 2; ++i) {
    Decision decision = acquire("key", {{"tpm", 10}, {"rpm", 1}});
    EXPECT_ERROR("exhausted", "tpm", decision.lease().adjust({{"rpm", 1}, {"tpm", 200}}, Debt::refused));
    EXPECT_ERROR("exhausted", "rpm", decision.lease().adjust({{"rpm", 10}, {"tpm", 1}}, Debt::refused));
    EXPECT_EQ(remaining("key", "tpm"), "990");
    EXPECT_EQ(remaining("organisation", "tpm"), "190");
    EXPECT_EQ(remaining("project", "rpm"), "9");
    ASSERT_TRUE(decision.lease().adjust({{"tpm", 190}, {"rpm", 9}}, Debt::refused));
    EXPECT_EQ(remaining("organisation", "tpm"), "0");
    EXPECT_EQ(remaining("key", "rpm"), "0");
    ASSERT_TRUE(decision.lease().rollback());
  }
}

TEST_P(EnforcedAdjust, ByItsIdCanBeRepeatedAndARefusalUsesNoKey) {
  set_system({{"tpm", "100/min"}});
  Decision decision = acquire("key", {{"tpm", 50}});
  const std::string id = *decision.lease().id();
  const Charge sixty[] = {{"tpm", 60}};
  EXPECT_ERROR("exhausted", "lacks 10 ", limiter.adjust(id, sixty, "a", Debt::refused));
  Decision other = acquire("key", {{"tpm", 0}});
  advance(6s);
  ASSERT_TRUE(limiter.adjust(id, sixty, "a", Debt::refused));
  EXPECT_EQ(remaining("key", "tpm"), "0");
  ASSERT_TRUE(limiter.adjust(id, sixty, "a", Debt::refused)) << "sent again, it is the same adjust";
  EXPECT_EQ(remaining("key", "tpm"), "0");
  EXPECT_ERROR("exhausted", "tpm", limiter.adjust(id, sixty, "b", Debt::refused));
}

TEST_P(EnforcedAdjust, IsNotRefusedByALimitInShadowMode) {
  set_system({{"tpm", "100/min"}, {"watched", "100/min:shadow"}});
  Decision decision = acquire("key", {{"tpm", 10}, {"watched", 90}});
  ASSERT_TRUE(decision.lease().adjust({{"watched", 50}, {"tpm", 90}}, Debt::refused));
  EXPECT_EQ(remaining("key", "watched"), "-40");
  EXPECT_ERROR("exhausted", "tpm", decision.lease().adjust({{"watched", 50}, {"tpm", 1}}, Debt::refused));
}

TEST_P(EnforcedAdjust, HoldsNoMoreOfAConcurrentLimitThanItHas) {
  set_system({{"calls", "3:concurrent"}});
  Decision decision = acquire("key", {{"calls", 1}});
  EXPECT_ERROR("exhausted", "calls", decision.lease().adjust({{"calls", 3}}, Debt::refused));
  ASSERT_TRUE(decision.lease().adjust({{"calls", 2}}, Debt::refused));
  EXPECT_EQ(remaining("key", "calls"), "0");
  ASSERT_TRUE(decision.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "3");
}

}  // namespace
}  // namespace weir::contract
