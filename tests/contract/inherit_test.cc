#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Inherit);

constexpr const char* one_per_second = R"({"capacity":60,"burst":1000,"refill_amount":60})";
constexpr const char* ten_per_second = R"({"capacity":60,"burst":1000,"refill_amount":600})";
const SetLimitsOptions inherit{.inherit = true};

/// The level of each limit: "rpm entity, tpm system".
std::string sources(const LimitReport& report, std::string_view entity) {
  std::string text;
  for (const LimitStatus status : report) {
    if (status.entity != entity) continue;
    text += (text.empty() ? "" : ", ") + std::string(status.name) + " " + name_of(status.source);
  }
  return text;
}

TEST_P(Inherit, LimitsThatALevelDoesNotNameComeFromTheNext) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}, {"ipm", "5/min"}});
  set(Level::resource("gpt-4"), {{"rpm", "20/min"}, {"tpm", "2000/min"}}, inherit);
  ASSERT_TRUE(admits("key", {{"tpm", 500}}));
  set(Level::entity("key", "gpt-4"), {{"rpm", "40/min"}}, inherit);
  for (int second = 0; second < 2; ++second) {
    const Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 100}, {"ipm", 1}});
    EXPECT_TRUE(decision.admitted());
    EXPECT_EQ(sources(decision.limits(), "key"), "ipm system, rpm entity, tpm resource");
  }
  EXPECT_EQ(remaining("key", "tpm"), "1300") << "the balance goes on";
  EXPECT_EQ(remaining("key", "ipm"), "3");
  EXPECT_EQ(admitted_of(10, "key", "ipm"), 3);
  const auto effective = limiter.effective_limits("key", resource);
  ASSERT_TRUE(effective);
  EXPECT_EQ(effective->source, Source::entity);
  ASSERT_EQ(effective->sources.size(), 3U);
  EXPECT_EQ(effective->sources[0], Source::system);
  EXPECT_EQ(effective->sources[1], Source::entity);
  EXPECT_EQ(effective->sources[2], Source::resource);
  EXPECT_EQ(effective->limits[2].limit.capacity(), Amount(2000));
}

TEST_P(Inherit, MoreLimitsThanABucketHoldsAreAnErrorForAnExistingBucketToo) {
  std::vector<std::string> names;
  for (int i = 0; i < 24; ++i) names.push_back("l" + std::to_string(i));
  std::vector<LimitText> low;
  std::vector<LimitText> high;
  for (std::size_t i = 0; i < 12; ++i) low.push_back({names[i], "10/min"});
  for (std::size_t i = 12; i < 24; ++i) high.push_back({names[i], "10/min"});
  set_system(low);
  put("team", "", false);
  put("key", "team");
  ASSERT_TRUE(admits("key", {{"l0", 1}}));
  for (const Level& level :
       {Level::entity_default("key"), Level::entity("key", "gpt-4"), Level::entity_default("team")}) {
    set(level, high, inherit);
    for (int second = 0; second < 2; ++second)
      EXPECT_ERROR("invalid-argument", "24 together", limiter.acquire("key", resource, {{"l12", 1}}));
    ASSERT_TRUE(limiter.delete_limits(level));
    ASSERT_TRUE(admits("key", {{"l0", 1}}));
  }
}

TEST_P(Inherit, ALevelThatDoesNotInheritEndsIt) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  set(Level::resource("gpt-4"), {{"ipm", "5/min"}});
  set(Level::entity_default("key"), {{"rpm", "40/min"}}, inherit);
  EXPECT_EQ(sources(acquire("key", {{"rpm", 1}}).limits(), "key"), "ipm resource, rpm entity_default");
  EXPECT_ERROR("unknown-limit", "tpm", limiter.acquire("key", resource, {{"tpm", 1}}));
}

TEST_P(Inherit, IsReadBackListedAndTakenBack) {
  set_system({{"tpm", "1000/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "40/min"}}, inherit);
  auto other = store_->open({});
  ASSERT_TRUE(other);
  std::vector<Limiter*> limiters{&limiter};
  if (GetParam().name != "memory") limiters.push_back(&*other);
  for (Limiter* with : limiters) {
    auto stored = with->limits(Level::entity("key", "gpt-4"));
    ASSERT_TRUE(stored);
    EXPECT_TRUE(stored->inherit);
    auto listed = with->list_limits({.level = Source::entity});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->items.size(), 1U);
    EXPECT_TRUE(listed->items[0].inherit);
    EXPECT_TRUE((*with->acquire("key", resource, {{"rpm", 1}, {"tpm", 1}})).admitted());
  }
  set(Level::entity("key", "gpt-4"), {{"rpm", "40/min"}});
  EXPECT_ERROR("unknown-limit", "tpm", limiter.acquire("key", resource, {{"tpm", 1}}));
  EXPECT_FALSE(limiter.limits(Level::entity("key", "gpt-4"))->inherit);
  const auto audit = limiter.audit("key");
  ASSERT_TRUE(audit);
  ASSERT_EQ(audit->items.size(), 2U);
  EXPECT_NE(audit->items[0].before.find("\"inherit\":true"), std::string::npos);
  EXPECT_EQ(audit->items[0].after.find("inherit"), std::string::npos);
}

TEST_P(Inherit, AnInheritedLimitThatIsRaisedWhileTheBucketSleepsCountsFromTheChange) {
  set_system({{"rpm", one_per_second}});
  set(Level::entity_default("key"), {{"tpm", "10/min"}}, inherit);
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", ten_per_second}});
  advance(50s);
  EXPECT_EQ(admitted_of(600, "key"), 510) << "ten seconds at 1/s, fifty at 10/s";
}

TEST_P(Inherit, ChangesOfALimitThatAStrongerLevelNamesAreNotFelt) {
  set_system({{"rpm", "60/min"}, {"tpm", "7/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", ten_per_second}}, inherit);
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set_system({{"rpm", "0"}, {"tpm", "7/min"}});
  set_system({{"rpm", "1/min"}, {"tpm", "7/min"}});
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "200") << "twenty seconds at 10/s";
  EXPECT_EQ(remaining("key", "tpm"), "7");
}

TEST_P(Inherit, ALimitThatWasInheritedMeanwhileIsTheStrictest) {
  set_system({{"rpm", one_per_second}});
  set(Level::entity("key", "gpt-4"), {{"rpm", ten_per_second}}, inherit);
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  set(Level::resource("gpt-4"), {{"rpm", "1/min"}}, inherit);
  set(Level::entity("key", "gpt-4"), {{"tpm", "5/min"}}, inherit);
  EXPECT_LE(admitted_of(200, "key"), 100) << "never more than ten seconds at 10/s";
}

TEST_P(Inherit, TurningItOnAndOffMintsNothing) {
  set_system({{"tpm", "100/day"}});
  set(Level::entity_default("key"), {{"rpm", "1000/min"}}, inherit);
  int admitted = 0;
  for (int turn = 0; turn < 10; ++turn) {
    admitted += admitted_of(30, "key", "tpm");
    set(Level::entity_default("key"), {{"rpm", "1000/min"}});
    ASSERT_TRUE(admits("key", {{"rpm", 1}}));
    set(Level::entity_default("key"), {{"rpm", "1000/min"}}, inherit);
  }
  EXPECT_EQ(admitted, 100);
}

TEST_P(Inherit, LimitsOfTheRequestAreTheLowestLevel) {
  const auto sent = RequestLimits::make({{"rpm", "1/min"}, {"ipm", "2/day"}});
  const AcquireOptions options{.limits = &*sent};
  set(Level::entity_default("key"), {{"rpm", "40/min"}}, inherit);
  const Decision decision = acquire("key", {{"rpm", 1}, {"ipm", 1}}, options);
  EXPECT_EQ(sources(decision.limits(), "key"), "ipm request, rpm entity_default");
  EXPECT_TRUE(admits("key", {{"ipm", 1}}, options));
  EXPECT_FALSE(admits("key", {{"ipm", 1}}, options));
  // A raised limit of the request holds from that request on.
  const auto raised = RequestLimits::make({{"ipm", "1000/hour"}});
  advance(3h);
  EXPECT_FALSE(admits("key", {{"ipm", 2}}, {.limits = &*raised}));
  EXPECT_EQ(remaining("key", "rpm", {.limits = &*raised}), "40");
}

TEST_P(Inherit, WhatTheRequestBroughtIsSettledGivenBackAndKeptByCorrections) {
  set(Level::entity_default("key"), {{"rpm", "60/min"}}, inherit);
  const auto sent = RequestLimits::make({{"tpm", "10/s:100"}});
  for (int second = 0; second < 2; ++second) {
    Decision charged = acquire("key", {{"rpm", 1}, {"tpm", 1}}, {.limits = &*sent});
    ASSERT_TRUE(charged.admitted());
    const std::string id = *charged.lease().id();
    advance(1s);  // it would hold its capacity again
    const auto settled =
        second == 0 ? charged.lease().settle({{"tpm", 6}}) : limiter.settle(id, {{"tpm", 6}});
    ASSERT_TRUE(settled) << settled.error().message;
    const Bucket bucket = limiter.buckets("key")->items[0];
    EXPECT_EQ(bucket.limits[1].name, "tpm");
    EXPECT_EQ(bucket.limits[1].consumed, Amount(6 * (second + 1)));
  }
  advance(10s);
  ASSERT_EQ(remaining("key", "tpm", {.limits = &*sent}), "100");
  Decision charged = acquire("key", {{"tpm", 20}}, {.limits = &*sent});
  ASSERT_TRUE(charged.lease().rollback());
  EXPECT_EQ(remaining("key", "tpm", {.limits = &*sent}), "100") << "all of it, above the capacity";
  ASSERT_TRUE(admits("key", {{"tpm", 30}}, {.limits = &*sent}));
  const std::vector<Charge> at_most{{"rpm", 1}, {"tpm", 70}};
  const auto lowered = limiter.lower("key", resource, at_most);
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_EQ(remaining("key", "tpm", {.limits = &*sent}), "70");
  set(Level::entity_default("key"), {{"rpm", "30/min"}}, inherit);
  EXPECT_EQ(remaining("key", "tpm", {.limits = &*sent}), "70")
      << "the operator's change is not of this limit";
}

TEST_P(Inherit, AnEntityInTheMiddleOfAChainOfEightInherits) {
  set_system({{"rpm", "100/day"}, {"tpm", "1000/day"}});
  put("e1", "", false);
  for (int i = 2; i <= 8; ++i) put("e" + std::to_string(i), "e" + std::to_string(i - 1));
  set(Level::entity("e4", "gpt-4"), {{"rpm", "5/day"}}, inherit);
  set(Level::entity_default("e1"), {{"tpm", "30/day"}}, inherit);
  EXPECT_EQ(admitted_of(10, "e8"), 5);
  for (int second = 0; second < 3; ++second) {
    const Decision decision = acquire("e8", {{"tpm", 10}});
    EXPECT_TRUE(decision.admitted());
    EXPECT_EQ(sources(decision.limits(), "e4"), "rpm entity, tpm system");
    EXPECT_EQ(sources(decision.limits(), "e1"), "rpm system, tpm entity_default");
  }
  const Decision refused = acquire("e8", {{"tpm", 1}});
  EXPECT_TRUE(refused.refused());
  EXPECT_EQ(remaining("e8", "tpm"), "970");
}

TEST_P(Inherit, WhenSyncsLimitsExpireTheInheritedOnesGoOn) {
  set_system({{"rpm", "10/day"}, {"tpm", "50/day"}});
  set(Level::entity_default("key"), {{"rpm", "100/day"}},
      {.owner = Owner::sync, .expires_in = 30s, .inherit = true});
  ASSERT_TRUE(admits("key", {{"rpm", 60}, {"tpm", 40}}));
  advance(31s);
  EXPECT_EQ(remaining("key", "rpm"), "10");
  EXPECT_EQ(sources(acquire("key", {{"tpm", 10}}).limits(), "key"), "rpm system, tpm system");
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
}

TEST_P(Inherit, SixteenLimitsIsTheMostThatLevelsHaveTogether) {
  std::vector<std::string> names;
  for (int i = 0; i < 17; ++i) names.push_back("l" + std::to_string(i));
  std::vector<LimitText> lower, upper;
  for (int i = 0; i < 9; ++i) lower.push_back({names[static_cast<std::size_t>(i)], "10/min"});
  for (int i = 9; i < 16; ++i) upper.push_back({names[static_cast<std::size_t>(i)], "10/min"});
  set_system(lower);
  set(Level::entity_default("key"), upper, inherit);
  EXPECT_EQ(acquire("key", {{"l0", 1}, {"l15", 1}}).limits().size(), 16U);
  upper.push_back({names[16], "10/min"});
  set(Level::entity_default("key"), upper, inherit);
  EXPECT_ERROR("invalid-argument", "17 together", limiter.acquire("key", resource, {{"l0", 1}}));
  EXPECT_ERROR("invalid-argument", "17 together", limiter.effective_limits("key", resource));
}

TEST_P(Inherit, TheSystemsLimitsCannotInherit) {
  set_system({{"rpm", "10/min"}});
  EXPECT_ERROR("invalid-argument", "no stored level below",
               limiter.set_limits(Level::system(), {{"rpm", "20/min"}}, inherit));
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits()[0].capacity, Amount(10));
}

}  // namespace
}  // namespace weir::contract
