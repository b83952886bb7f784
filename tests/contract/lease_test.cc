#include <stdexcept>

#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Leases);

std::vector<Charge> charges(std::initializer_list<Charge> list) { return list; }

TEST_P(Leases, SettleStatesTheTrueAmountAndGivesBackTheRest) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 500}});
  auto settled = decision.lease().settle({{"tpm", 380}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(settled->find("tpm")->remaining, Amount(620));
  EXPECT_EQ(remaining("key", "tpm"), "620");
  EXPECT_EQ(remaining("key", "rpm"), "9") << "limits that are left out keep their charge";
  EXPECT_FALSE(decision.lease().open());
}

TEST_P(Leases, SettleMayChargeMoreThanWasThereAndRefillPaysTheDebt) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 60}});
  ASSERT_TRUE(decision.lease().settle({{"tpm", 90}}));
  EXPECT_EQ(remaining("key", "tpm"), "-30");
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
  advance(30s);
  EXPECT_EQ(remaining("key", "tpm"), "0");
  advance(1s);
  EXPECT_TRUE(admits("key", {{"tpm", 1}}));
}

TEST_P(Leases, SettleCanChargeALimitThatTheAcquireDidNotName) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  put("key", "project");
  Decision decision = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(decision.lease().settle({{"tpm", 300}}));
  EXPECT_EQ(remaining("key", "tpm"), "700");
  EXPECT_EQ(remaining("project", "tpm"), "700");
}

TEST_P(Leases, RollbackGivesEverythingBack) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  put("key", "project");
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 500}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 100}}));
  ASSERT_TRUE(decision.lease().rollback());
  for (const auto* entity : {"key", "project"}) {
    EXPECT_EQ(remaining(entity, "rpm"), "10");
    EXPECT_EQ(remaining(entity, "tpm"), "1000");
  }
}

TEST_P(Leases, AdjustChargesMoreAndGivesBackButNeverBelowNetZero) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 100}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 50}}));
  EXPECT_EQ(remaining("key", "tpm"), "850");
  ASSERT_TRUE(decision.lease().adjust({{"tpm", -120}}));
  EXPECT_EQ(remaining("key", "tpm"), "970");
  EXPECT_ERROR("invalid-argument", "tpm", decision.lease().adjust({{"tpm", -31}}));
  EXPECT_EQ(remaining("key", "tpm"), "970");
  EXPECT_TRUE(decision.lease().adjust({{"tpm", -30}}));
  EXPECT_EQ(remaining("key", "tpm"), "1000");
}

TEST_P(Leases, WhatIsGivenBackNeverExceedsBurst) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 50}});
  advance(1min);
  EXPECT_EQ(remaining("key", "tpm"), "60");
  ASSERT_TRUE(decision.lease().rollback());
  EXPECT_EQ(remaining("key", "tpm"), "60");
}

TEST_P(Leases, AnAcquireWithAKeyIsChargedOnceHoweverOftenItIsSent) {
  set_system({{"tpm", "1000/min"}});
  put("key", "project");
  const std::string id = *acquire_keyed("key", {{"tpm", 400}}, "k1").lease().id();
  for (int i = 0; i < 3; ++i) {
    Decision again = acquire_keyed("key", {{"tpm", 400}}, "k1");
    ASSERT_TRUE(again.admitted());
    EXPECT_EQ(*again.lease().id(), id);
    EXPECT_EQ(again.limits().find("tpm")->remaining, Amount(600));
    EXPECT_FALSE(again.limits().find("tpm")->exceeded);
  }
  EXPECT_EQ(remaining("key", "tpm"), "600");
  EXPECT_EQ(remaining("project", "tpm"), "600");
}

TEST_P(Leases, AnAcquireWithAKeyIsAdmittedAgainThoughNothingIsLeft) {
  set_system({{"tpm", "1000/min"}});
  acquire_keyed("key", {{"tpm", 700}}, "k1");
  acquire("key", {{"tpm", 300}});
  EXPECT_TRUE(acquire_keyed("key", {{"tpm", 700}}, "k1").admitted());
  EXPECT_FALSE(acquire_keyed("key", {{"tpm", 700}}, "k2").admitted());
  EXPECT_EQ(remaining("key", "tpm"), "0");
}

TEST_P(Leases, TheSameKeyWithAnotherRequestIsAnotherRequest) {
  set_system({{"tpm", "1000/min"}});
  acquire_keyed("key", {{"tpm", 100}}, "k1");
  acquire_keyed("key", {{"tpm", 200}}, "k1");
  acquire_keyed("other", {{"tpm", 100}}, "k1");
  EXPECT_EQ(remaining("key", "tpm"), "700");
  EXPECT_EQ(remaining("other", "tpm"), "900");
}

TEST_P(Leases, ARefusalIsNotRememberedUnderAKey) {
  set_system({{"tpm", "60/min"}});
  acquire("key", {{"tpm", 60}});
  EXPECT_FALSE(acquire_keyed("key", {{"tpm", 30}}, "k1").admitted());
  advance(30s);
  EXPECT_TRUE(acquire_keyed("key", {{"tpm", 30}}, "k1").admitted());
  EXPECT_TRUE(acquire_keyed("key", {{"tpm", 30}}, "k1").admitted());
  EXPECT_EQ(remaining("key", "tpm"), "0");
}

TEST_P(Leases, OfAnAcquireWithAKeyCanBeSettledByWhoeverSentItAgain) {
  set_system({{"tpm", "1000/min"}});
  Decision first = acquire_keyed("key", {{"tpm", 400}}, "k1");
  Decision again = acquire_keyed("key", {{"tpm", 400}}, "k1");
  ASSERT_TRUE(again.lease().settle({{"tpm", 100}}));
  EXPECT_EQ(remaining("key", "tpm"), "900");
  EXPECT_ERROR("conflict", "", first.lease().rollback());
  ASSERT_TRUE(first.lease().settle({{"tpm", 100}}));
  EXPECT_TRUE(acquire_keyed("key", {{"tpm", 400}}, "k1").admitted()) << "it was, whatever came after";
  EXPECT_EQ(remaining("key", "tpm"), "900");
}

TEST_P(Leases, AKeyIsForgottenWithTheLeasesDeadline) {
  set_system({{"tpm", "1440/day"}});
  acquire_keyed("key", {{"tpm", 400}}, "k1");
  advance(10min);
  ASSERT_TRUE(acquire_keyed("key", {{"tpm", 400}}, "k1").admitted());
  EXPECT_EQ(remaining("key", "tpm"), "650") << "two charges, and ten minutes of refill";
}

TEST_P(Leases, AKeyThatIsUsedAgainAfterItsDeadlineIsChargedOnceMore) {
  set_system({{"tpm", "1440/day"}});
  acquire_keyed("key", {{"tpm", 400}}, "k1");
  advance(10min);
  acquire_keyed("key", {{"tpm", 400}}, "k1");
  // By now the record of the first one is forgotten.
  advance(1min);
  acquire_keyed("key", {{"tpm", 1}}, "k2");
  advance(1min);
  ASSERT_TRUE(acquire_keyed("key", {{"tpm", 400}}, "k1").admitted());
  EXPECT_EQ(remaining("key", "tpm"), "651") << "two charges and a small one, and twelve minutes of refill";
}

TEST_P(Leases, AnIdempotencyKeyHasABound) {
  set_system({{"tpm", "1000/min"}});
  const std::string longest(128, 'k');
  EXPECT_TRUE(acquire_keyed("key", {{"tpm", 1}}, longest).admitted());
  const Charge charge{"tpm", 1};
  AcquireOptions options;
  const std::string longer(129, 'k');
  options.idempotency_key = longer;
  EXPECT_ERROR("invalid-argument", "128", limiter.acquire("key", resource, std::span(&charge, 1), options));
}

TEST_P(Leases, TheSameEndingAgainChangesNothingMore) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 500}});
  const std::string id = *decision.lease().id();
  for (int i = 0; i < 3; ++i) {
    auto settled = limiter.settle(id, charges({{"tpm", 400}}));
    ASSERT_TRUE(settled) << settled.error().message;
    EXPECT_EQ(remaining("key", "tpm"), "600");
  }
  EXPECT_TRUE(decision.lease().settle({{"tpm", 400}})) << "the holder is one of those who may repeat it";
  EXPECT_EQ(remaining("key", "tpm"), "600");
}

TEST_P(Leases, ADifferentEndingIsAConflict) {
  set_system({{"tpm", "1000/min"}});
  Decision shared = acquire("key", {{"tpm", 500}});
  const std::string id = *shared.lease().id();
  ASSERT_TRUE(limiter.settle(id, charges({{"tpm", 400}})));
  EXPECT_ERROR("conflict", "settled", limiter.settle(id, charges({{"tpm", 399}})));
  EXPECT_ERROR("conflict", "settled", limiter.rollback(id));
  EXPECT_ERROR("conflict", "settled", limiter.adjust(id, charges({{"tpm", 1}}), "k"));
  EXPECT_EQ(remaining("key", "tpm"), "600");

  Decision own = acquire("other", {{"tpm", 500}});
  ASSERT_TRUE(own.lease().rollback());
  EXPECT_ERROR("conflict", "rolled back", own.lease().settle({{"tpm", 1}}));
  EXPECT_TRUE(own.lease().rollback());
  EXPECT_EQ(remaining("other", "tpm"), "1000");

  Decision elsewhere = acquire("third", {{"tpm", 500}});
  ASSERT_TRUE(limiter.rollback(*elsewhere.lease().id()));
  EXPECT_TRUE(elsewhere.lease().open()) << "it cannot know yet";
  EXPECT_ERROR("conflict", "rolled back", elsewhere.lease().settle({{"tpm", 1}}));
  EXPECT_FALSE(elsewhere.lease().open());
}

TEST_P(Leases, AnAdjustWithTheSameKeyHappensOnce) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 100}});
  const std::string id = *decision.lease().id();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limiter.adjust(id, charges({{"tpm", 50}}), "first"));
  EXPECT_EQ(remaining("key", "tpm"), "850");
  ASSERT_TRUE(limiter.adjust(id, charges({{"tpm", 50}}), "second"));
  EXPECT_EQ(remaining("key", "tpm"), "800");
  ASSERT_TRUE(limiter.settle(id, charges({{"tpm", 0}})));
  EXPECT_EQ(remaining("key", "tpm"), "1000");
  ASSERT_TRUE(limiter.adjust(id, charges({{"tpm", 50}}), "second"))
      << "a late copy of an adjust that happened";
  EXPECT_EQ(remaining("key", "tpm"), "1000");
}

TEST_P(Leases, AnIdIsEnoughForAnotherHolder) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  put("key", "project");
  std::string id;
  {
    Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 500}});
    ASSERT_TRUE(decision.lease().adjust({{"tpm", 100}})) << "before the id exists";
    id = *decision.lease().id();
    EXPECT_EQ(id, *decision.lease().id()) << "the id stays the same";
  }
  ASSERT_TRUE(limiter.adjust(id, charges({{"tpm", -200}}), "k"));
  EXPECT_EQ(remaining("project", "tpm"), "600");
  ASSERT_TRUE(limiter.rollback(id));
  EXPECT_EQ(remaining("project", "tpm"), "1000");
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Leases, AnIdCannotBeForged) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 500}});
  const std::string id = *decision.lease().id();
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::string forged = id;
    forged[i] = forged[i] == 'A' ? 'B' : 'A';
    if (forged == id) continue;
    EXPECT_ERROR("not-found", "lease", limiter.rollback(forged));
  }
  for (const std::string& forged : {std::string(), std::string("w1"), id.substr(0, id.size() - 1), id + "A",
                                    id + "=", std::string(100'000, 'A')}) {
    EXPECT_ERROR("not-found", "lease", limiter.rollback(forged));
  }
  EXPECT_EQ(remaining("key", "tpm"), "500");
}

TEST_P(Leases, AnIdOfAnotherNamespaceOrStoreIsNotKnown) {
  set_system({{"tpm", "1000/min"}});
  const std::string id = *acquire("key", {{"tpm", 500}}).lease().id();
  auto other = store_->open({.name_space = "other"});
  ASSERT_TRUE(other);
  EXPECT_ERROR("not-found", "lease", other->rollback(id));
}

TEST_P(Leases, PastItsDeadlineALeaseCannotBeChangedAndItsChargeStands) {
  set_system({{"tpd", "1000/day"}});
  Decision decision = acquire("key", {{"tpd", 500}});
  const std::string id = *decision.lease().id();
  EXPECT_EQ(decision.lease().deadline(), now() + 600'000);
  advance(10min - 1ms);
  ASSERT_TRUE(limiter.adjust(id, charges({{"tpd", -100}}), "k"));
  advance(1ms);
  EXPECT_ERROR("expired", "deadline", limiter.settle(id, charges({{"tpd", 0}})));
  EXPECT_ERROR("expired", "deadline", decision.lease().rollback());
  EXPECT_EQ(remaining("key", "tpd").substr(0, 3), "606") << "600 and ten minutes of refill";
}

TEST_P(Leases, DroppingALeaseLetsItsChargeStand) {
  set_system({{"tpm", "1000/min"}});
  {
    Decision decision = acquire("key", {{"tpm", 400}});
  }
  EXPECT_EQ(remaining("key", "tpm"), "600");
}

TEST_P(Leases, LeavingByAnExceptionRollsBack) {
  set_system({{"tpm", "1000/min"}});
  put("key", "project");
  try {
    Decision decision = acquire("key", {{"tpm", 400}});
    Lease lease = std::move(decision.lease());
    throw std::runtime_error("the upstream failed");
  } catch (const std::runtime_error& error) {
    EXPECT_STRNE(error.what(), "");
  }
  EXPECT_EQ(remaining("key", "tpm"), "1000");
  EXPECT_EQ(remaining("project", "tpm"), "1000");
}

TEST_P(Leases, ALeaseTakenWhileAnExceptionIsInFlightStandsWhenDropped) {
  set_system({{"tpm", "1000/min"}});
  struct Cleanup {
    Leases& test;
    ~Cleanup() { static_cast<void>(test.acquire("key", {{"tpm", 400}})); }
  };
  try {
    Cleanup cleanup{*this};
    throw std::runtime_error("the upstream failed");
  } catch (const std::runtime_error& error) {
    EXPECT_STRNE(error.what(), "");
  }
  EXPECT_EQ(remaining("key", "tpm"), "600");
}

TEST_P(Leases, ASettledLeaseIsNotRolledBackByAnException) {
  set_system({{"tpm", "1000/min"}});
  try {
    Decision decision = acquire("key", {{"tpm", 400}});
    ASSERT_TRUE(decision.lease().settle({{"tpm", 300}}));
    throw std::runtime_error("after the call");
  } catch (const std::runtime_error& error) {
    EXPECT_STRNE(error.what(), "");
  }
  EXPECT_EQ(remaining("key", "tpm"), "700");
}

TEST_P(Leases, MovingALeaseMovesTheRightToChangeIt) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 400}});
  Lease lease = std::move(decision.lease());
  EXPECT_FALSE(decision.lease().open());
  EXPECT_ERROR("not-found", "moved", decision.lease().rollback());
  EXPECT_EQ(decision.limits().find("tpm")->remaining, Amount(600)) << "the report stays with the decision";
  Lease again = std::move(lease);
  ASSERT_TRUE(again.rollback());
  EXPECT_EQ(remaining("key", "tpm"), "1000");
}

TEST_P(Leases, ARefusalHasNoLease) {
  set_system({{"tpm", "10/min"}});
  Decision refused = acquire("key", {{"tpm", 11}});
  EXPECT_FALSE(refused.lease().open());
  EXPECT_ERROR("not-found", "refused", refused.lease().settle({{"tpm", 1}}));
  EXPECT_ERROR("not-found", "refused", refused.lease().id());
}

TEST_P(Leases, ARefundToABucketThatExpiredAndCameBackIsDropped) {
  set_system({{"tpm", "60/min"}}, {.bucket_ttl_refill_multiplier = 1});
  Decision first = acquire("key", {{"tpm", 60}});
  advance(2min);
  Decision second = acquire("key", {{"tpm", 60}});
  ASSERT_TRUE(second.admitted());
  ASSERT_TRUE(first.lease().rollback());
  EXPECT_EQ(remaining("key", "tpm"), "0") << "the bucket that was charged was full when it vanished";
  ASSERT_TRUE(second.lease().rollback());
  EXPECT_EQ(remaining("key", "tpm"), "60");
}

TEST_P(Leases, ALeaseOnLimitsSentWithTheRequestCanBeSettled) {
  const auto limits = RequestLimits::make({{"tpm", "1000/min"}});
  ASSERT_TRUE(limits);
  const AcquireOptions options{.limits = &*limits};
  Decision decision = acquire("key", {{"tpm", 500}}, options);
  ASSERT_TRUE(decision.lease().settle({{"tpm", 100}}));
  EXPECT_EQ(remaining("key", "tpm", options), "900");
}

TEST_P(Leases, ALeaseOnABucketFullOfDormantLimitsCanBeSettled) {
  std::vector<std::string> names;
  std::vector<NamedLimit> first;
  std::vector<NamedLimit> second;
  for (int i = 0; i < 16; ++i) first.push_back({"first-" + std::to_string(i), *Limit::parse("100/day")});
  for (int i = 0; i < 16; ++i) second.push_back({"second-" + std::to_string(i), *Limit::parse("100/day")});
  const auto acquire_all = [&](const std::vector<NamedLimit>& limits) {
    const auto sent = RequestLimits::make(limits);
    std::vector<Charge> consume;
    for (const NamedLimit& limit : limits) consume.push_back({limit.name, 50});
    return *limiter.acquire("key", resource, consume, {.limits = &*sent});
  };
  Decision old = acquire_all(first);
  Decision decision = acquire_all(second);
  auto settled = decision.lease().settle({{"second-15", 20}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(settled->size(), 16U);
  EXPECT_EQ(settled->find("second-15")->remaining, Amount(80));
  EXPECT_EQ(settled->find("second-15")->requested, Amount(-30));
  EXPECT_TRUE(old.lease().rollback());
}

TEST_P(Leases, WhatCouldNotBeChargedIsNotGivenBackLater) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 1}});
  set_system({{"rpm", "10/min"}});
  advance(1min);
  ASSERT_TRUE(admits("key", {{"rpm", 1}})) << "tpm is full and forgotten";
  EXPECT_ERROR("unknown-limit", "tpm", decision.lease().adjust({{"tpm", 1000}}));
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  ASSERT_TRUE(admits("key", {{"tpm", 1000}}));
  ASSERT_TRUE(decision.lease().rollback());
  EXPECT_LE(admitted_of(5, "key", "tpm"), 1);
}

TEST_P(Leases, ARepeatedAcquireIsFoundThoughItsEntityHasLimitsByNow) {
  set(Level::entity_default("team"), {{"rpm", "10/min"}});
  put("team", "", false);
  put("key", "team");
  Decision first = acquire_keyed("key", {{"rpm", 1}}, "once");
  ASSERT_TRUE(first.admitted());
  const auto id = first.lease().id();
  ASSERT_TRUE(id);
  set(Level::entity_default("key"), {{"rpm", "10/min"}});
  Decision again = acquire_keyed("key", {{"rpm", 1}}, "once");
  ASSERT_TRUE(again.admitted());
  EXPECT_EQ(remaining("team", "rpm"), "9");
  EXPECT_EQ(remaining("key", "rpm"), "10");
  EXPECT_EQ(*again.lease().id(), *id);
  ASSERT_TRUE(limiter.settle(*id, {{"rpm", 3}}));
  EXPECT_EQ(remaining("team", "rpm"), "7");
  ASSERT_TRUE(limiter.settle(*id, {{"rpm", 3}}));
  EXPECT_EQ(remaining("team", "rpm"), "7");
  EXPECT_ERROR("conflict", "settled", limiter.rollback(*id));
}

TEST_P(Leases, ALimitThatLeftTheSetAndIsFullAgainIsNotCharged) {
  set_system({{"rpm", "10/min"}, {"tpm", "60/min"}});
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 10}});
  const auto id = decision.lease().id();
  ASSERT_TRUE(id);
  set(Level::entity_default("key"), {{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(5s);
  ASSERT_TRUE(limiter.adjust(*id, {{"tpm", 1}}, "a")) << "it is not full yet";
  advance(60s);
  EXPECT_ERROR("unknown-limit", "tpm", limiter.adjust(*id, {{"tpm", 1}}, "b"));
  ASSERT_TRUE(limiter.rollback(*id));
  ASSERT_TRUE(limiter.delete_limits(Level::entity_default("key")));
  EXPECT_EQ(remaining("key", "tpm"), "60");
}

TEST_P(Leases, AClockThatGoesBackDoesNotMakeAnEndedLeaseChangeAgain) {
  set_system({{"tpd", "100/day"}});
  Decision first = acquire("key", {{"tpd", 60}});
  const std::string id = *first.lease().id();
  ASSERT_TRUE(limiter.rollback(id));
  advance(11min);
  // Another lease is changed, so that markers past their deadline are cleaned up.
  ASSERT_TRUE(limiter.rollback(*acquire("other", {{"tpd", 1}}).lease().id()));
  advance(-5min);
  ASSERT_TRUE(admits("key", {{"tpd", 100}}));
  // A store that cleaned the lease up says that it is past its deadline, one that did not says that it was
  // rolled back before. Neither gives anything back again.
  const auto again = limiter.rollback(id);
  EXPECT_TRUE(again || again.error().code == ErrorCode::expired) << error_of(again);
  EXPECT_FALSE(admits("key", {{"tpd", 5}}));
}

TEST_P(Leases, AnIdStaysTheSameAfterAnAdjust) {
  set_system({{"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"tpm", 100}});
  const std::string id = *decision.lease().id();
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 50}}));
  EXPECT_EQ(*decision.lease().id(), id);
  ASSERT_TRUE(limiter.rollback(id));
  EXPECT_EQ(remaining("key", "tpm"), "1000");
}

TEST_P(Leases, AChangeThatNamesAnUnknownLimitOrABadAmountChangesNothing) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 500}});
  Lease& lease = decision.lease();
  EXPECT_ERROR("unknown-limit", "rpd", lease.settle({{"tpm", 1}, {"rpd", 1}}));
  EXPECT_ERROR("invalid-argument", "tpm", lease.settle({{"rpm", 0}, {"tpm", -1}}));
  EXPECT_ERROR("invalid-argument", "tpm", lease.settle({{"rpm", 0}, {"tpm", 1'000'000'000'000'000}}));
  EXPECT_ERROR("invalid-argument", "tpm", lease.adjust({{"rpm", 1}, {"tpm", 1}, {"tpm", 1}}));
  EXPECT_ERROR("invalid-argument", "key", limiter.adjust(*lease.id(), charges({{"tpm", 1}}), ""));
  EXPECT_EQ(remaining("key", "rpm"), "9");
  EXPECT_EQ(remaining("key", "tpm"), "500");
  EXPECT_TRUE(lease.open());
}

}  // namespace
}  // namespace weir::contract
