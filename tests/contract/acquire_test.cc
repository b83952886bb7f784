#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Acquire);

TEST_P(Acquire, AdmitsUpToCapacityAndThenRefuses) {
  set_system({{"rpm", "3/min"}});
  EXPECT_EQ(admitted_of(5, "key"), 3);
}

TEST_P(Acquire, ARefusalSaysTheExactWait) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  Decision refused = acquire("key", {{"rpm", 2}});
  ASSERT_TRUE(refused.refused());
  ASSERT_TRUE(refused.retry_after());
  advance(*refused.retry_after() - 1ms);
  EXPECT_FALSE(admits("key", {{"rpm", 2}}));
  advance(1ms);
  EXPECT_TRUE(admits("key", {{"rpm", 2}}));
}

TEST_P(Acquire, TheWaitIsFromNowEvenIfTheClockWentBack) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  const auto wait = *acquire("key", {{"rpm", 1}}).retry_after();
  advance(-10s);
  EXPECT_EQ(*acquire("key", {{"rpm", 1}}).retry_after(), wait + 10s);
}

TEST_P(Acquire, AClockThatGoesBackGrantsNothingTwice) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  EXPECT_EQ(admitted_of(20, "key"), 10);
  advance(-10s);
  EXPECT_EQ(admitted_of(20, "key"), 0);
  advance(10s);
  EXPECT_EQ(admitted_of(20, "key"), 0);
  advance(1s);
  EXPECT_EQ(admitted_of(20, "key"), 1);
}

TEST_P(Acquire, RefillIsExactHoweverOftenItIsAsked) {
  set_system({{"rph", "1/hour"}});
  ASSERT_TRUE(admits("key", {{"rph", 1}}));
  int admitted = 0;
  for (int second = 0; second < 24 * 3600; second += 5) {
    advance(5s);
    admitted += admits("key", {{"rph", 1}}) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 24);
}

TEST_P(Acquire, ABucketFillsToBurstAndNoFurther) {
  set_system({{"rpm", "10/min:15"}});
  EXPECT_EQ(remaining("key", "rpm"), "10");
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(5min);
  EXPECT_EQ(remaining("key", "rpm"), "15");
  EXPECT_EQ(admitted_of(20, "key"), 15);
}

TEST_P(Acquire, MoreThanBurstNeverFits) {
  set_system({{"tpm", "100/min:150"}});
  Decision decision = acquire("key", {{"tpm", 151}});
  EXPECT_TRUE(decision.refused());
  EXPECT_TRUE(decision.never_fits());
  EXPECT_FALSE(decision.retry_after());
  EXPECT_FALSE(decision.limits().find("tpm")->retry_after);
  EXPECT_FALSE(acquire("key", {{"tpm", 150}}).never_fits());
}

TEST_P(Acquire, ANewBucketGrowsAboveItsCapacityWhileACallerWaits) {
  set_system({{"tpm", "100/min:150"}});
  Decision refused = acquire("key", {{"tpm", 120}});
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(remaining("key", "tpm"), "100") << "a refusal changes no balance";
  advance(*refused.retry_after() - 1ms);
  EXPECT_FALSE(admits("key", {{"tpm", 120}}));
  advance(1ms);
  EXPECT_TRUE(admits("key", {{"tpm", 120}}));
}

TEST_P(Acquire, TheWaitIsTrueEvenIfItIsLongerThanAnUnusedBucketIsKept) {
  set_system({{"rpm", "10/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  Decision refused = acquire("key", {{"rpm", 100}});
  ASSERT_TRUE(refused.refused());
  ASSERT_GT(*refused.retry_after(), 7min);
  advance(*refused.retry_after() - 1ms);
  EXPECT_FALSE(admits("key", {{"rpm", 100}}));
  advance(1ms);
  EXPECT_TRUE(admits("key", {{"rpm", 100}}));
}

TEST_P(Acquire, WhoComesALittleLateIsAdmittedToo) {
  set_system({{"rpm", "10/min:100"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}));
  Decision refused = acquire("key", {{"rpm", 100}});
  advance(*refused.retry_after() + 5s);
  EXPECT_TRUE(admits("key", {{"rpm", 100}}));
}

TEST_P(Acquire, TheWaitIsTrueForALimitThatJustJoined) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"rpm", "10/min"}, {"rps", "3/s:7"}});
  Decision refused = acquire("key", {{"rps", 5}});
  ASSERT_TRUE(refused.refused());
  advance(*refused.retry_after());
  EXPECT_TRUE(admits("key", {{"rps", 5}}));
}

TEST_P(Acquire, TheWaitIsTrueWhenARequestBringsFasterLimits) {
  const auto slow = RequestLimits::make({{"rpm", "10/day"}});
  const auto fast = RequestLimits::make({{"rpm", "1000/s"}});
  ASSERT_TRUE(admits("key", {{"rpm", 10}}, {.limits = &*slow}));
  Decision refused = acquire("key", {{"rpm", 5}}, {.limits = &*fast});
  ASSERT_TRUE(refused.refused());
  advance(*refused.retry_after());
  EXPECT_TRUE(admits("key", {{"rpm", 5}}, {.limits = &*fast}));
}

TEST_P(Acquire, CapacityZeroBlocks) {
  set_system({{"rpm", "0"}});
  EXPECT_TRUE(acquire("key", {{"rpm", 1}}).never_fits());
  EXPECT_TRUE(acquire("key", {{"rpm", Amount::milli(1)}}).never_fits());
  EXPECT_TRUE(admits("key", {{"rpm", 0}}));
  advance(1h);
  EXPECT_TRUE(acquire("key", {{"rpm", 1}}).never_fits());
}

TEST_P(Acquire, SeveralLimitsAreDecidedTogether) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 900}}));
  Decision refused = acquire("key", {{"rpm", 1}, {"tpm", 200}});
  ASSERT_TRUE(refused.refused());
  EXPECT_TRUE(refused.limits().find("tpm")->exceeded);
  EXPECT_FALSE(refused.limits().find("rpm")->exceeded);
  EXPECT_EQ(remaining("key", "rpm"), "9") << "a refused call must not eat another limit";
  EXPECT_EQ(remaining("key", "tpm"), "100");
}

TEST_P(Acquire, TheWaitIsThatOfTheSlowestLimit) {
  set_system({{"rpm", "60/min"}, {"rph", "10/hour"}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}, {"rph", 10}}));
  Decision refused = acquire("key", {{"rpm", 1}, {"rph", 1}});
  EXPECT_EQ(refused.retry_after(), refused.limits().find("rph")->retry_after);
  EXPECT_GT(*refused.limits().find("rph")->retry_after, *refused.limits().find("rpm")->retry_after);
}

TEST_P(Acquire, ALimitThatIsNotNamedIsNeitherCheckedNorCharged) {
  set_system({{"rpm", "1/min"}, {"tpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  EXPECT_TRUE(admits("key", {{"tpm", 100}})) << "rpm is empty but not named";
  EXPECT_EQ(remaining("key", "rpm"), "0");
}

TEST_P(Acquire, ANamedZeroIsCheckedInDebtAndAnUnnamedLimitIsNot) {
  set_system({{"rpm", "10/min"}, {"tpm", "60/min"}});
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 60}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 10}}));
  EXPECT_EQ(remaining("key", "tpm"), "-10");
  Decision refused = acquire("key", {{"rpm", 1}, {"tpm", 0}});
  ASSERT_TRUE(refused.refused());
  EXPECT_TRUE(refused.limits().find("tpm")->exceeded);
  EXPECT_NEAR(static_cast<double>(refused.retry_after()->count()), 10'000, 1);
  EXPECT_TRUE(admits("key", {{"rpm", 1}}));
  advance(10s);
  EXPECT_TRUE(admits("key", {{"tpm", 0}})) << "out of debt again";
}

TEST_P(Acquire, FractionsOfATokenAreExact) {
  set_system({{"usd", "1/day"}});
  const int parts = rounds(1000);
  for (int i = 0; i < parts; ++i) ASSERT_TRUE(admits("key", {{"usd", Amount::milli(1000 / parts)}})) << i;
  EXPECT_FALSE(admits("key", {{"usd", Amount::milli(1)}}));
}

TEST_P(Acquire, TheAnswerReportsEveryLimit) {
  set_system({{"rpm", "10/min:12"}, {"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 250}});
  ASSERT_EQ(decision.limits().size(), 2U);
  const LimitStatus tpm = *decision.limits().find("tpm");
  EXPECT_EQ(tpm.entity, "key");
  EXPECT_EQ(tpm.resource, "gpt-4");
  EXPECT_EQ(tpm.requested, Amount(250));
  EXPECT_EQ(tpm.remaining, Amount(750));
  EXPECT_EQ(tpm.source, Source::system);
  EXPECT_FALSE(tpm.exceeded);
  EXPECT_EQ(tpm.retry_after, 0ms);
  const LimitStatus rpm = *decision.limits().find("rpm");
  EXPECT_EQ(rpm.capacity, Amount(10));
  EXPECT_EQ(rpm.burst, Amount(12));
  EXPECT_EQ(rpm.requested, Amount(0));
  EXPECT_EQ(rpm.remaining, Amount(10));
}

TEST_P(Acquire, EntitiesAndResourcesHaveBucketsOfTheirOwn) {
  set_system({{"rpm", "1/min"}});
  EXPECT_TRUE(admits("first", {{"rpm", 1}}));
  EXPECT_TRUE(admits("second", {{"rpm", 1}}));
  resource = "gpt-5";
  EXPECT_TRUE(admits("first", {{"rpm", 1}}));
  EXPECT_FALSE(admits("first", {{"rpm", 1}}));
}

TEST_P(Acquire, AvailabilityIsWhatAcquireWouldSayAndChargesNothing) {
  set_system({{"rpm", "2/min"}});
  for (int i = 0; i < 5; ++i) {
    auto look = limiter.available("key", resource, {{"rpm", 2}});
    ASSERT_TRUE(look);
    EXPECT_TRUE(look->admitted());
    EXPECT_EQ(look->limits().find("rpm")->remaining, Amount(2));
    EXPECT_FALSE(look->lease().open());
  }
  ASSERT_TRUE(admits("key", {{"rpm", 2}}));
  auto look = limiter.available("key", resource, {{"rpm", 1}});
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->refused());
  EXPECT_EQ(look->retry_after(), acquire("key", {{"rpm", 1}}).retry_after());
}

TEST_P(Acquire, SixteenLimitsAreDecidedTogether) {
  std::vector<std::string> names;
  std::vector<NamedLimit> limits;
  for (int i = 0; i < 16; ++i)
    limits.push_back({"a-limit-with-a-long-name-" + std::to_string(i), *Limit::parse("10/min")});
  ASSERT_TRUE(limiter.set_limits(Level::system(), limits));
  std::vector<Charge> charges;
  for (const NamedLimit& limit : limits) charges.push_back({limit.name, 1});
  for (int i = 0; i < 12; ++i) {
    auto decision = limiter.acquire("key", resource, charges);
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_EQ(decision->admitted(), i < 10);
    EXPECT_EQ(decision->limits().size(), 16U);
  }
}

TEST_P(Acquire, TheWindowSaysInWhichTimeAnEmptyBucketRefills) {
  set_system({{"rpd", "100/day"}, {"rps", "5/10s"}, {"slow", "3/s:9"}, {"zero", "0"}});
  const auto look = limiter.available("key", resource);
  EXPECT_EQ(look->limits().find("rpd")->window, 24h);
  EXPECT_EQ(look->limits().find("rps")->window, 10s);
  EXPECT_EQ(look->limits().find("slow")->window, 1s);
  EXPECT_EQ(look->limits().find("zero")->window, 1s) << "never 0: a window has a length";
}

}  // namespace
}  // namespace weir::contract
