// Concurrent limits: what is held of them, and how changes of limits act on it.
#include "contract/concurrent.h"

#include <algorithm>

namespace weir::contract {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, Concurrent, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Concurrent, WhatIsTakenIsHeldUntilTheLeaseEnds) {
  set_system({{"calls", "2:concurrent"}});
  for (int round = 0; round < 3; ++round) {
    Decision first = take("key", 1);
    Decision second = take("key", 1);
    EXPECT_TRUE(first.admitted());
    ASSERT_TRUE(second.admitted());
    EXPECT_EQ(second.limits().find("calls")->kind, Kind::concurrent);
    EXPECT_EQ(second.limits().find("calls")->remaining, Amount(0));
    const Decision third = take("key", 1);
    EXPECT_TRUE(third.refused());
    EXPECT_TRUE(third.limits().find("calls")->exceeded);
    advance(1s);
    EXPECT_TRUE(take("key", 1).refused()) << "nothing refills";
    EXPECT_TRUE(take("key", 0).admitted()) << "0 takes no slot";
    ASSERT_TRUE(first.lease().settle({}));
    EXPECT_EQ(remaining("key", "calls"), "1");
    Decision fourth = take("key", 1);
    EXPECT_TRUE(fourth.admitted());
    ASSERT_TRUE(second.lease().rollback());
    const auto settled = fourth.lease().settle({{"calls", 1}});
    ASSERT_TRUE(settled) << settled.error().message;
    EXPECT_EQ(remaining("key", "calls"), "2") << "an ending gives back, whatever it states";
    EXPECT_TRUE(fourth.lease().settle({{"calls", 1}})) << "again";
  }
}

TEST_P(Concurrent, ALostLeaseGivesBackAtItsStatedDeadline) {
  set_system({{"calls", "10:concurrent"}});
  for (const std::chrono::milliseconds length : {60'000ms, 7ms, 1ms, 3'600'000ms, 999ms}) {
    SCOPED_TRACE(length.count());
    Decision lost = take("key", 10, length);
    ASSERT_TRUE(lost.admitted());
    const Time stated = lost.lease().deadline();
    EXPECT_GE(stated, now() + length.count());
    EXPECT_LE(stated, now() + length.count() + std::max<Time>(length.count() / 8, 1));
    const Decision refused = take("key", 1);
    ASSERT_TRUE(refused.refused());
    EXPECT_EQ(refused.retry_after(), std::chrono::milliseconds(stated - now()));
    expect_true_wait("key", {{"calls", 1}});
    EXPECT_EQ(now(), stated);
    EXPECT_EQ(remaining("key", "calls"), "10");
    EXPECT_ERROR("expired", "deadline", lost.lease().settle({}));
    EXPECT_EQ(remaining("key", "calls"), "10") << "not twice";
  }
}

TEST_P(Concurrent, BesideRatesAllOrNothingIsCharged) {
  set_system({{"calls", "2:concurrent"}, {"rpm", "10/min"}, {"tpm", "1000/min"}});
  Decision first = acquire("key", {{"rpm", 1}, {"tpm", 300}, {"calls", 1}});
  Decision second = acquire("key", {{"rpm", 1}, {"tpm", 300}, {"calls", 1}});
  ASSERT_TRUE(first.admitted() && second.admitted());
  EXPECT_TRUE(acquire("key", {{"rpm", 1}, {"tpm", 300}, {"calls", 1}}).refused());
  EXPECT_EQ(remaining("key", "rpm"), "8");
  EXPECT_EQ(remaining("key", "tpm"), "400");
  EXPECT_TRUE(admits("key", {{"rpm", 1}})) << "the slots are not named";
  ASSERT_TRUE(first.lease().settle({{"tpm", 100}}));
  EXPECT_EQ(remaining("key", "tpm"), "600");
  EXPECT_EQ(remaining("key", "calls"), "1");
  EXPECT_EQ(remaining("key", "rpm"), "7") << "a rate stays charged";
  EXPECT_TRUE(acquire("key", {{"rpm", 1}, {"tpm", 700}, {"calls", 1}}).refused());
  EXPECT_EQ(remaining("key", "calls"), "1") << "refused by the rate";
  ASSERT_TRUE(second.lease().rollback());
  EXPECT_EQ(remaining("key", "calls"), "2");
  EXPECT_EQ(remaining("key", "tpm"), "900");
  const auto buckets = limiter.buckets("key");
  ASSERT_TRUE(buckets);
  for (const auto& limit : buckets->items.at(0).limits) {
    if (limit.name != "calls") continue;
    EXPECT_EQ(limit.consumed, Amount(0)) << "not counted in usage";
  }
}

TEST_P(Concurrent, TheWaitIsTheFirstDeadlineAtWhichEnoughIsFree) {
  set_system({{"calls", "5:concurrent"}, {"rpm", "100/min"}});
  const Decision a = take("key", 2, 10s);
  const Decision b = take("key", 1, 40s);
  Decision c = take("key", 2, 80s);
  ASSERT_TRUE(a.admitted() && b.admitted() && c.admitted());
  const Time begin = now();
  const auto wait_for = [&](int amount) {
    return limiter.available("key", resource, {{"calls", amount}})->retry_after()->count() + now() - begin;
  };
  for (int amount = 1; amount <= 5; ++amount) {
    const Time at = wait_for(amount);
    const Time least = amount <= 2 ? 10'000 : amount == 3 ? 40'000 : 80'000;
    EXPECT_GE(at, least) << amount;
    EXPECT_LE(at, least + least / 8) << amount;
  }
  const auto never = limiter.available("key", resource, {{"calls", 6}});
  EXPECT_TRUE(never->never_fits());
  expect_true_wait("key", {{"calls", 3}, {"rpm", 1}});
  ASSERT_TRUE(c.lease().settle({}));
  EXPECT_TRUE(take("key", 5).admitted());
}

TEST_P(Concurrent, EveryLevelOfAChainHoldsItsSlots) {
  set_system({{"calls", "4:concurrent"}, {"rpm", "1000/min"}});
  std::string parent;
  for (int i = 7; i >= 0; --i) {
    const std::string id = "e" + std::to_string(i);
    put(id, parent, !parent.empty());
    parent = id;
  }
  put("other", "e1");
  set(Level::entity("e7", "gpt-4"), {{"calls", "3:concurrent"}});
  for (int round = 0; round < 2; ++round) {
    std::vector<Decision> held;
    held.push_back(acquire("e0", {{"calls", 1}, {"rpm", 1}}));
    held.push_back(acquire("e0", {{"calls", 1}}));
    held.push_back(acquire("other", {{"calls", 1}}));
    EXPECT_TRUE(acquire("other", {{"calls", 1}, {"rpm", 1}}).refused()) << "e7 has 3";
    for (Decision& decision : held) ASSERT_TRUE(decision.admitted());
    EXPECT_EQ(remaining("e0", "calls"), "2");
    EXPECT_EQ(remaining("other", "calls"), "3");
    EXPECT_EQ(remaining("e4", "calls"), "1");
    EXPECT_EQ(remaining("e7", "calls"), "0");
    const auto id = held[2].lease().id();
    ASSERT_TRUE(id);
    ASSERT_TRUE(limiter.settle(*id, {}));
    EXPECT_EQ(remaining("e7", "calls"), "1");
    EXPECT_EQ(remaining("e0", "calls"), "2");
    ASSERT_TRUE(held[0].lease().rollback());
    ASSERT_TRUE(held[1].lease().settle({{"rpm", 2}}));
    for (const char* const entity : {"e0", "e1", "e6", "other"}) EXPECT_EQ(remaining(entity, "calls"), "4");
    EXPECT_EQ(remaining("e7", "calls"), "3");
  }
}

TEST_P(Concurrent, AChangedCapacityCountsWhatIsHeld) {
  set_system({{"calls", "8:concurrent"}});
  Decision a = take("key", 5);
  Decision b = take("key", 3, 600s);
  set_system({{"calls", "4:concurrent"}});
  EXPECT_EQ(remaining("key", "calls"), "-4");
  EXPECT_TRUE(take("key", 1).refused());
  expect_true_wait("key", {{"calls", 1}});
  EXPECT_EQ(remaining("key", "calls"), "1");
  set_system({{"calls", "20:concurrent"}, {"rpm", "5/min"}});
  EXPECT_EQ(remaining("key", "calls"), "17");
  ASSERT_TRUE(b.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "20");
}

TEST_P(Concurrent, ALimitThatLeavesTheSetKeepsItsHolds) {
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  Decision a = take("key", 2, 600s);
  Decision b = take("key", 1, 600s);
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  ASSERT_TRUE(a.lease().settle({}));
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  EXPECT_EQ(remaining("key", "calls"), "2");
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(b.lease().rollback());
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  EXPECT_EQ(remaining("key", "calls"), "3");
}

TEST_P(Concurrent, ALimitOfAnotherKindIsAnotherLimit) {
  set_system({{"x", "10/min"}});
  Decision rate = acquire("key", {{"x", 6}});
  set_system({{"x", "10:concurrent"}});
  Decision slots = acquire("key", {{"x", 7}});
  ASSERT_TRUE(slots.admitted()) << "a concurrent limit starts free";
  ASSERT_TRUE(rate.lease().settle({{"x", 1}}));
  EXPECT_EQ(remaining("key", "x"), "3") << "the rate's lease gives nothing back here";
  set_system({{"x", "10/min"}});
  EXPECT_EQ(remaining("key", "x"), "0") << "a rate starts empty: nothing is given by changing kinds";
  advance(6s);
  EXPECT_EQ(remaining("key", "x"), "1");
  ASSERT_TRUE(slots.lease().settle({{"x", 0}}));
  EXPECT_EQ(remaining("key", "x"), "1") << "the slots are not tokens";
  advance(600s);
  EXPECT_EQ(remaining("key", "x"), "10");
  // While the bucket sleeps.
  ASSERT_TRUE(admits("sleeper", {{"x", 10}}));
  set_system({{"x", "10:concurrent"}});
  advance(1ms);
  set_system({{"x", "20/min"}});
  EXPECT_EQ(remaining("sleeper", "x"), "0");
  advance(3s);
  EXPECT_EQ(remaining("sleeper", "x"), "1");
}

TEST_P(Concurrent, AdjustMayGoIntoDebtAndItIsPaidByEndings) {
  set_system({{"calls", "2:concurrent"}});
  Decision a = take("key", 2);
  auto adjusted = a.lease().adjust({{"calls", 3}});
  ASSERT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_EQ(remaining("key", "calls"), "-3");
  EXPECT_TRUE(take("key", 0).refused()) << "in debt";
  ASSERT_TRUE(a.lease().adjust({{"calls", -4}}));
  EXPECT_EQ(remaining("key", "calls"), "1");
  ASSERT_TRUE(a.lease().settle({{"calls", 5}}));
  EXPECT_EQ(remaining("key", "calls"), "2");
  // A limit that the acquire did not name.
  set_system({{"calls", "2:concurrent"}, {"rpm", "5/min"}});
  Decision b = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(b.lease().adjust({{"calls", 1}}));
  EXPECT_EQ(remaining("key", "calls"), "1");
  ASSERT_TRUE(b.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "2");
}

TEST_P(Concurrent, ShadowAndOffHoldNothing) {
  set_system({{"calls", "1:concurrent:shadow"}, {"other", "1:concurrent:off"}, {"rpm", "9/min"}});
  Decision a = acquire("key", {{"calls", 1}, {"other", 1}, {"rpm", 1}});
  Decision b = acquire("key", {{"calls", 1}, {"other", 1}, {"rpm", 1}});
  ASSERT_TRUE(a.admitted() && b.admitted());
  EXPECT_TRUE(b.limits().find("calls")->would_refuse);
  EXPECT_EQ(remaining("key", "calls"), "0");
  EXPECT_EQ(remaining("key", "other"), "1");
  ASSERT_TRUE(b.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "0") << "b did not hold it";
  ASSERT_TRUE(a.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "1");
}

TEST_P(Concurrent, LimitsSentWithTheRequestCanBeConcurrent) {
  const auto limits = RequestLimits::make({{"calls", "2:concurrent"}, {"rpm", "5/min"}});
  ASSERT_TRUE(limits);
  AcquireOptions options = lasting(30s);
  options.limits = &*limits;
  Decision a = acquire("key", {{"calls", 2}}, options);
  ASSERT_TRUE(a.admitted());
  EXPECT_TRUE(acquire("key", {{"calls", 1}}, options).refused());
  ASSERT_TRUE(a.lease().settle({}));
  EXPECT_TRUE(acquire("key", {{"calls", 1}, {"rpm", 1}}, options).admitted());
}

TEST_P(Concurrent, TwoInABucketAndNotThree) {
  EXPECT_ERROR("invalid-argument", "at most 2",
               limiter.set_limits(Level::system(),
                                  {{"a", "1:concurrent"}, {"b", "1:concurrent"}, {"c", "1:concurrent"}}));
  EXPECT_ERROR("not-found", "", limiter.limits(Level::system()));
  set_system({{"a", "1:concurrent"}, {"b", "2:concurrent"}});
  Decision both = acquire("key", {{"a", 1}, {"b", 1}});
  ASSERT_TRUE(both.admitted());
  EXPECT_TRUE(acquire("key", {{"a", 1}, {"b", 1}}).refused());
  EXPECT_EQ(remaining("key", "b"), "1");
  ASSERT_TRUE(both.lease().settle({}));
  EXPECT_EQ(remaining("key", "a"), "1");
  EXPECT_EQ(remaining("key", "b"), "2");
  set(Level::entity_default("key"), {{"c", "1:concurrent"}}, {.inherit = true});
  EXPECT_ERROR("invalid-argument", "at most 2", limiter.acquire("key", resource, {{"a", 1}}));
  for (const char* const bad :
       {"5/min:concurrent", "5:7:concurrent", "5:concurrent:9", ":concurrent",
        R"({"capacity":5,"kind":"concurrent","refill_amount":1})",
        R"({"capacity":5,"kind":"concurrent","refill_period_ms":1})",
        R"({"capacity":5,"kind":"concurrent","burst":6})", R"({"capacity":5,"kind":"parallel"})"})
    EXPECT_ERROR("invalid-argument", "", limiter.set_limits(Level::resource("r"), {{"x", bad}}));
  EXPECT_ERROR("not-found", "", limiter.limits(Level::resource("r")));
}

}  // namespace
}  // namespace weir::contract
