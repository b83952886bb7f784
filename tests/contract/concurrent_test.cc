#include <algorithm>
#include <random>

#include "contract/contract.h"

namespace weir::contract {
namespace {

class Concurrent : public Contract {
 public:
  AcquireOptions lasting(std::chrono::milliseconds lease_for) const {
    AcquireOptions options;
    options.lease_for = lease_for;
    return options;
  }
  Decision take(std::string_view entity, int amount, std::chrono::milliseconds lease_for = 60s) {
    return acquire(entity, {{"calls", amount}}, lasting(lease_for));
  }
  /// Whether the promised wait is kept: refused one millisecond before, admitted then.
  void expect_true_wait(std::string_view entity, std::initializer_list<Charge> consume) {
    const Decision refused = acquire(entity, consume);
    ASSERT_TRUE(refused.refused());
    ASSERT_TRUE(refused.retry_after());
    advance(*refused.retry_after() - 1ms);
    const auto early = limiter.available(entity, resource, std::span(consume.begin(), consume.size()));
    ASSERT_TRUE(early);
    EXPECT_TRUE(early->refused());
    advance(1ms);
    const auto now_fits = limiter.available(entity, resource, std::span(consume.begin(), consume.size()));
    ASSERT_TRUE(now_fits);
    EXPECT_TRUE(now_fits->admitted());
  }
};
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

TEST_P(Concurrent, AnotherProcessEndsExtendsAndAdjustsALease) {
  set_system({{"calls", "5:concurrent"}, {"tpm", "100/min"}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  Decision decision = acquire("key", {{"calls", 2}, {"tpm", 10}}, lasting(8s));
  const std::string id = *decision.lease().id();
  auto adjusted = other.adjust(id, {{"calls", 1}, {"tpm", -5}}, "a");
  ASSERT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_EQ(remaining("key", "calls"), "2");
  adjusted = other.adjust(id, {{"calls", 1}}, "a");
  ASSERT_TRUE(adjusted);
  EXPECT_EQ(remaining("key", "calls"), "2") << "the same key again";
  EXPECT_ERROR("invalid-argument", "than the lease holds", other.adjust(id, {{"calls", -4}}, "b"));
  ASSERT_TRUE(other.adjust(id, {{"calls", -2}}, "c"));
  EXPECT_EQ(remaining("key", "calls"), "4");
  advance(6s);
  const auto extended = other.extend(id, 16s);
  ASSERT_TRUE(extended) << extended.error().message;
  EXPECT_GE(*extended, now() + 16'000);
  EXPECT_LE(*extended, now() + 18'000);
  advance(10s);
  EXPECT_EQ(remaining("key", "calls"), "4") << "past the first deadline";
  ASSERT_TRUE(limiter.adjust(id, {{"calls", 1}}, "d")) << "this process extends and changes it too";
  EXPECT_EQ(remaining("key", "calls"), "3");
  const auto later = limiter.extend(id, 60s);
  ASSERT_TRUE(later);
  EXPECT_GT(*later, *extended);
  EXPECT_EQ(*limiter.extend(id, 1s), *later) << "never to an earlier time";
  advance(std::chrono::milliseconds(*extended - now()));
  EXPECT_EQ(remaining("key", "calls"), "3");
  auto settled = other.settle(id, {{"tpm", 20}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(remaining("key", "calls"), "5");
  EXPECT_TRUE(other.settle(id, {{"tpm", 20}}));
  EXPECT_ERROR("conflict", "settled", limiter.extend(id, 1min));
  EXPECT_EQ(remaining("key", "calls"), "5");
}

TEST_P(Concurrent, ALeaseThatItsHolderExtendedAndAdjustedIsStillEndedByItsId) {
  set_system({{"calls", "5:concurrent"}, {"tpm", "100/min"}});
  Decision decision = acquire("key", {{"calls", 2}, {"tpm", 10}}, lasting(8s));
  const std::string id = *decision.lease().id();
  ASSERT_TRUE(decision.lease().extend(60s));
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 5}}));
  const auto extended = limiter.extend(id, 70s);
  ASSERT_TRUE(extended) << extended.error().message;
  ASSERT_TRUE(decision.lease().adjust({{"tpm", -3}}));
  const auto settled = limiter.settle(id, {{"tpm", 20}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(remaining("key", "calls"), "5");
  EXPECT_EQ(remaining("key", "tpm"), "80");
}

TEST_P(Concurrent, ALeaseCannotBeExtendedAfterItsDeadline) {
  set_system({{"calls", "1:concurrent"}, {"rpm", "10/min"}});
  Decision kept = acquire("key", {{"calls", 1}}, lasting(1s));
  const auto first = kept.lease().extend(10s);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(kept.lease().deadline(), *first);
  advance(5s);
  const std::string id = *kept.lease().id();
  EXPECT_TRUE(take("key", 1).refused());
  advance(std::chrono::milliseconds(*first - now() - 1));
  EXPECT_TRUE(take("key", 1).refused());
  advance(1ms);
  EXPECT_ERROR("expired", "deadline", kept.lease().extend(1s));
  EXPECT_ERROR("expired", "deadline", limiter.extend(id, 1s));
  Decision next = take("key", 1);
  ASSERT_TRUE(next.admitted());
  EXPECT_ERROR("expired", "deadline", limiter.rollback(id));
  EXPECT_TRUE(take("key", 1).refused()) << "the slot of the next is still held";
  // A lease without slots.
  Decision rate = acquire("key", {{"rpm", 1}}, lasting(1s));
  const std::string rate_id = *rate.lease().id();
  const auto moved = limiter.extend(rate_id, 30s);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(*moved, now() + 30'000);
  advance(20s);
  ASSERT_TRUE(limiter.settle(rate_id, {{"rpm", 3}}));
  EXPECT_ERROR("invalid-argument", "at least 1 ms", limiter.extend(rate_id, 0ms));
  EXPECT_ERROR("invalid-argument", "at least 1 ms",
               limiter.acquire("key", resource, {{"rpm", 1}}, lasting(-1ms)));
}

TEST_P(Concurrent, AnOldLeaseDoesNotChangeTheNextOneOfItsKey) {
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  AcquireOptions options = lasting(1s);
  options.idempotency_key = "k";
  Decision old = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  const std::string id = *old.lease().id();
  ASSERT_TRUE(limiter.extend(id, 2s));
  advance(5s);
  Decision next = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  ASSERT_TRUE(next.admitted());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(remaining("key", "calls"), "2");
    EXPECT_ERROR("expired", "deadline", limiter.settle(id, {}));
    EXPECT_ERROR("expired", "deadline", limiter.extend(id, 1min));
    EXPECT_ERROR("expired", "deadline", old.lease().rollback());
    EXPECT_EQ(remaining("key", "calls"), "2");
    ASSERT_TRUE(next.lease().extend(1min));
  }
  const std::string next_id = *next.lease().id();
  Decision again = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  EXPECT_EQ(again.lease().deadline(), next.lease().deadline());
  advance(30s);
  ASSERT_TRUE(limiter.adjust(next_id, {{"calls", 1}}, "a")) << "every id of the next one is good";
  ASSERT_TRUE(again.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "3");
}

TEST_P(Concurrent, AClockThatIsBehindABucketHoldsForTheWholeLease) {
  set_system({{"calls", "1:concurrent"}, {"rpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(-1s);
  Decision held = take("key", 1, 100ms);
  ASSERT_TRUE(held.admitted());
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  EXPECT_GE(held.lease().deadline(), now() + 100);
  ASSERT_TRUE(held.lease().extend(200ms));
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  advance(std::chrono::milliseconds(held.lease().deadline() - now() - 1));
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  advance(1ms);
  EXPECT_TRUE(take("key", 1, 100ms).admitted());
}

TEST_P(Concurrent, HoldsEndAfterARestartToo) {
  set_system({{"calls", "2:concurrent"}, {"rpm", "10/min"}});
  ASSERT_TRUE(acquire("key", {{"calls", 2}, {"rpm", 1}}, lasting(1s)).admitted());
  if (GetParam().name == "memory") return;
  limiter = *Limiter::open("memory:");
  limiter = *store_->open({});
  EXPECT_TRUE(take("key", 1).refused());
  advance(2s);
  EXPECT_EQ(remaining("key", "calls"), "2");
  EXPECT_TRUE(acquire("key", {{"calls", 2}, {"rpm", 1}}).admitted());
}

TEST_P(Concurrent, TheDeadlineOfTheOptionsMayBeLongerThanAYear) {
  auto opened = store_->open({.lease_deadline = std::chrono::hours(24) * 1000});
  ASSERT_TRUE(opened);
  set_system({{"rpm", "10/min"}});
  Limiter& patient = GetParam().name == "memory" ? limiter : *opened;
  EXPECT_TRUE(patient.acquire("key", resource, {{"rpm", 1}}));
  Decision decision = acquire("key", {{"rpm", 1}});
  EXPECT_ERROR("invalid-argument", "at least 1 ms", decision.lease().extend(0ms));
  EXPECT_ERROR("invalid-argument", "a year", decision.lease().extend(std::chrono::hours(24) * 366));
}

TEST_P(Concurrent, AProcessThatSawAnEarlierBucketExtendsALease) {
  set_system({{"calls", "1:concurrent"}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  ASSERT_TRUE(other.acquire("key", resource, {{"calls", 1}}, lasting(1s)));
  advance(1h);
  Decision decision = take("key", 1, 8s);
  ASSERT_TRUE(decision.admitted());
  const auto extended = other.extend(*decision.lease().id(), 60s);
  ASSERT_TRUE(extended) << extended.error().message;
  advance(30s);
  EXPECT_TRUE(take("key", 1).refused()) << "held until the next deadline";
  advance(std::chrono::milliseconds(*extended - now()));
  EXPECT_TRUE(take("key", 1).admitted());
}

TEST_P(Concurrent, AKeyedAcquireIsHeldOnce) {
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  Decision first = acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k");
  advance(3s);
  Decision again = acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k");
  ASSERT_TRUE(first.admitted() && again.admitted());
  EXPECT_EQ(*first.lease().id(), *again.lease().id());
  EXPECT_EQ(remaining("key", "calls"), "2");
  ASSERT_TRUE(again.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "3");
  EXPECT_TRUE(acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k").admitted());
  EXPECT_EQ(remaining("key", "calls"), "3") << "the lease has ended";
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

/// The leases of a test, with what each of them holds.
struct Held {
  Decision decision;
  std::string id;
  std::int64_t amount = 0;
  Time deadline = 0;
};

/// Leases of many lengths, so that the list of holds is full most of the time, ended, lost, extended and
/// adjusted at random.
TEST_P(Concurrent, RandomLeasesNeverHoldTooMuchAndGiveEverythingBack) {
  constexpr std::int64_t capacity = 20;
  set_system({{"calls", "20:concurrent"}, {"rpm", "100000/min"}});
  put("key", "top");
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  std::vector<Held> leases;
  int admitted = 0;
  int refused = 0;
  for (int i = 0; i < std::max(120, rounds(400)) && !HasFailure(); ++i) {
    std::erase_if(leases, [&](const Held& held) { return held.deadline <= now(); });
    std::int64_t live = 0;
    for (const Held& held : leases) live += held.amount;
    const std::int64_t free = std::stoll(remaining("key", "calls"));
    ASSERT_LE(free, capacity - live) << "more is free than is not held";
    ASSERT_EQ(remaining("top", "calls"), std::to_string(free));
    const std::int64_t verb = leases.empty() ? 0 : below(8);
    if (verb < 4) {
      const std::int64_t amount = 1 + below(9);
      const auto length = std::chrono::milliseconds(1 + below(1 << (4 + below(13))));
      Decision decision = acquire("key", {{"calls", amount}, {"rpm", 1}}, lasting(length));
      ASSERT_EQ(decision.admitted(), amount <= free);
      if (decision.admitted()) {
        ++admitted;
        EXPECT_GE(decision.lease().deadline(), now() + length.count());
        leases.push_back({std::move(decision), {}, amount, 0});
        leases.back().deadline = leases.back().decision.lease().deadline();
        if (below(2) == 0) leases.back().id = *leases.back().decision.lease().id();
      } else {
        ++refused;
        EXPECT_TRUE(decision.retry_after());
      }
    } else {
      const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(leases.size())));
      Held& held = leases[at];
      Lease& lease = held.decision.lease();
      const bool by_id = !held.id.empty() && below(2) == 0;
      if (verb == 4) {
        const auto length = std::chrono::milliseconds(1 + below(60'000));
        const auto extended = by_id ? limiter.extend(held.id, length) : lease.extend(length);
        ASSERT_TRUE(extended) << extended.error().message;
        ASSERT_GE(*extended, std::max(held.deadline, now() + length.count()));
        held.deadline = *extended;
      } else if (verb == 5) {
        const std::int64_t by = below(2) == 0 ? 1 : -1;
        const auto adjusted = by_id ? limiter.adjust(held.id, {{"calls", by}}, std::to_string(i))
                                    : lease.adjust({{"calls", by}});
        ASSERT_EQ(bool(adjusted), held.amount + by >= 0);
        if (adjusted) held.amount += by;
      } else {
        const auto ended = by_id ? (verb == 6 ? limiter.settle(held.id, {}) : limiter.rollback(held.id))
                                 : (verb == 6 ? lease.settle({}) : lease.rollback());
        ASSERT_TRUE(ended) << ended.error().message;
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    if (below(4) == 0) advance(std::chrono::milliseconds(below(3'000)));
  }
  EXPECT_GT(admitted, 20);
  EXPECT_GT(refused, 2);
  for (Held& held : leases) {
    if (held.deadline <= now()) continue;
    EXPECT_TRUE(held.decision.lease().rollback());
  }
  if (!leases.empty()) advance(200s);
  EXPECT_EQ(remaining("key", "calls"), "20");
  EXPECT_EQ(remaining("top", "calls"), "20");
}

}  // namespace
}  // namespace weir::contract
