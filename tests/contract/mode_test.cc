#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Modes);

/// The limits that would have refused: "tpm of key".
std::string would_refuse(const LimitReport& report) {
  std::string text;
  for (const LimitStatus status : report) {
    if (status.would_refuse)
      text += (text.empty() ? "" : ", ") + std::string(status.name) + " of " + std::string(status.entity);
  }
  return text;
}

TEST_P(Modes, AShadowLimitThatWouldRefuseIsLeftUncharged) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min:shadow"}});
  for (int call = 0; call < 4; ++call) {
    const Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 40}});
    EXPECT_TRUE(decision.admitted());
    EXPECT_EQ(would_refuse(decision.limits()), call < 2 ? "" : "tpm of key") << call;
    const auto tpm = decision.limits().find("tpm");
    EXPECT_EQ(tpm->mode, Mode::shadow);
    EXPECT_EQ(tpm->requested, Amount(40));
    EXPECT_FALSE(tpm->exceeded);
    EXPECT_EQ(tpm->remaining, Amount(call == 0 ? 60 : 20)) << call;
  }
  EXPECT_EQ(remaining("key", "rpm"), "6");
  EXPECT_TRUE(admits("key", {{"tpm", 20}}));
  EXPECT_EQ(remaining("key", "tpm"), "0");
  EXPECT_EQ(admitted_of(10, "key"), 6) << "a limit that enforces still refuses";
}

TEST_P(Modes, AShadowLimitSaysOfAnyRequestThatItWouldRefuseIt) {
  set_system({{"rpm", "1/min"}, {"tpm", "100/min:shadow"}});
  EXPECT_EQ(would_refuse(acquire("new", {{"tpm", 101}}).limits()), "tpm of new");
  const auto look = limiter.available("new", resource, {{"tpm", 1000}});
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->admitted());
  EXPECT_EQ(would_refuse(look->limits()), "tpm of new");
  ASSERT_TRUE(admits("new", {{"rpm", 1}}));
  const Decision refused = acquire("new", {{"rpm", 1}, {"tpm", 101}});
  EXPECT_TRUE(refused.refused());
  EXPECT_FALSE(refused.never_fits());
  EXPECT_LE(refused.retry_after().value_or(61s), 60s);
  EXPECT_EQ(would_refuse(refused.limits()), "tpm of new");
  EXPECT_EQ(remaining("new", "tpm"), "100");
}

TEST_P(Modes, ALeaseDoesNotHoldALimitThatWouldRefuse) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min:shadow"}});
  ASSERT_TRUE(admits("key", {{"tpm", 80}}));
  for (int round = 0; round < 2; ++round) {
    Decision decision = acquire_keyed("key", {{"rpm", 1}, {"tpm", 50}}, "k" + std::to_string(round));
    ASSERT_TRUE(decision.admitted());
    const auto id = decision.lease().id();
    ASSERT_TRUE(id);
    auto adjusted = limiter.adjust(*id, {{"rpm", 1}, {"tpm", 5}}, "a");
    ASSERT_TRUE(adjusted) << adjusted.error().message;
    EXPECT_EQ(remaining("key", "tpm"), "20");
    if (round == 0) {
      auto settled = limiter.settle(*id, {{"rpm", 1}, {"tpm", 70}});
      ASSERT_TRUE(settled) << settled.error().message;
      settled = limiter.settle(*id, {{"rpm", 1}, {"tpm", 70}});
      EXPECT_TRUE(settled) << "a repetition: " << settled.error().message;
    } else {
      auto back = limiter.rollback(*id);
      ASSERT_TRUE(back) << back.error().message;
    }
    EXPECT_EQ(remaining("key", "tpm"), "20") << "nothing was charged, so nothing is given back";
    EXPECT_EQ(remaining("key", "rpm"), "9");
  }
  Decision held = acquire("key", {{"rpm", 1}, {"tpm", 20}});
  auto settled = held.lease().settle({{"tpm", 5}});
  ASSERT_TRUE(settled);
  EXPECT_EQ(remaining("key", "tpm"), "15") << "a charge that was made is settled like any other";
}

TEST_P(Modes, EachLevelOfAChainHasItsOwnMode) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  std::string parent;
  for (int i = 7; i >= 0; --i) {
    const std::string id = "e" + std::to_string(i);
    put(id, parent, !parent.empty());
    parent = id;
  }
  set(Level::entity("e3", "gpt-4"), {{"tpm", "50/min:shadow"}});
  set(Level::entity_default("e7"), {{"tpm", "30/min:shadow"}, {"rpm", "1/min:off"}});
  for (int call = 0; call < 3; ++call) {
    const Decision decision = acquire("e0", {{"rpm", 1}, {"tpm", 20}});
    EXPECT_TRUE(decision.admitted()) << call;
    EXPECT_EQ(would_refuse(decision.limits()), call == 0   ? ""
                                               : call == 1 ? "tpm of e7"
                                                           : "tpm of e3, tpm of e7");
  }
  EXPECT_EQ(remaining("e0", "tpm"), "40");
  EXPECT_EQ(remaining("e3", "tpm"), "10");
  EXPECT_EQ(remaining("e7", "tpm"), "10");
  EXPECT_EQ(remaining("e7", "rpm"), "1") << "off";
  EXPECT_EQ(remaining("e6", "rpm"), "7");
}

TEST_P(Modes, ALimitThatIsOffIsKnownAndDoesNothing) {
  set_system({{"rpm", "2/min:off"}, {"tpm", "100/min"}});
  for (int call = 0; call < 5; ++call) {
    Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 1}});
    ASSERT_TRUE(decision.admitted());
    EXPECT_EQ(decision.limits().find("rpm")->mode, Mode::off);
    EXPECT_EQ(decision.limits().find("rpm")->requested, Amount(0));
    auto settled = decision.lease().settle({{"rpm", 3}, {"tpm", 2}});
    ASSERT_TRUE(settled) << settled.error().message;
  }
  EXPECT_TRUE(admits("key", {{"rpm", 1}})) << "nothing else is asked for";
  EXPECT_EQ(remaining("key", "rpm"), "2");
  EXPECT_EQ(remaining("key", "tpm"), "90");
  EXPECT_ERROR("unknown-limit", "ipm", limiter.acquire("key", resource, {{"ipm", 1}}));
  set_system({{"rpm", "2/min"}, {"tpm", "100/min"}});
  EXPECT_EQ(admitted_of(5, "key"), 2) << "it enforces from now on";
}

TEST_P(Modes, ARequestInShadowModeIsNeverRefused) {
  set_system({{"rpm", "2/min"}, {"tpm", "10/min"}});
  const AcquireOptions shadow{.shadow = true};
  for (int call = 0; call < 4; ++call) {
    const Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 6}}, shadow);
    EXPECT_TRUE(decision.admitted());
    EXPECT_EQ(would_refuse(decision.limits()), call == 0   ? ""
                                               : call == 1 ? "tpm of key"
                                                           : "rpm of key, tpm of key");
  }
  EXPECT_EQ(remaining("key", "tpm"), "4");
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
}

TEST_P(Modes, AreReadBackListedAndTakenBack) {
  set(Level::entity("key", "gpt-4"),
      {{"a", "40/min:shadow"},
       {"b", R"({"capacity":1.5,"burst":3,"refill_amount":0.7,"refill_period_ms":1234,"mode":"off"})"},
       {"c", "7/s"}});
  auto other = store_->open({});
  ASSERT_TRUE(other);
  std::vector<Limiter*> limiters{&limiter};
  if (GetParam().name != "memory") limiters.push_back(&*other);
  for (Limiter* with : limiters) {
    for (const auto& limits :
         {with->limits(Level::entity("key", "gpt-4"))->limits, with->list_limits()->items.at(0).limits,
          with->effective_limits("key", resource)->limits}) {
      ASSERT_EQ(limits.size(), 3U);
      EXPECT_EQ(limits[0].limit.mode(), Mode::shadow);
      EXPECT_EQ(limits[1].limit.mode(), Mode::off);
      EXPECT_EQ(limits[2].limit.mode(), Mode::enforce);
    }
    EXPECT_EQ((*with->acquire("key", resource, {{"a", 41}, {"b", 9}, {"c", 1}})).admitted(), true);
  }
  set(Level::entity("key", "gpt-4"), {{"a", "40/min"}});
  EXPECT_FALSE(admits("key", {{"a", 41}}));
  const auto audit = limiter.audit("key");
  ASSERT_TRUE(audit);
  EXPECT_NE(audit->items.at(0).before.find("\"mode\":\"shadow\""), std::string::npos);
  EXPECT_EQ(audit->items.at(0).after.find("mode"), std::string::npos);
}

TEST_P(Modes, AreInheritedWithTheLimit) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min:shadow"}});
  set(Level::entity_default("key"), {{"rpm", "1/min"}}, {.inherit = true});
  EXPECT_EQ(would_refuse(acquire("key", {{"rpm", 1}, {"tpm", 101}}).limits()), "tpm of key");
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
}

TEST_P(Modes, AShadowThatBeginsToEnforceHoldsWhatItCounted) {
  set_system({{"rpm", "5/min:shadow"}});
  EXPECT_EQ(admitted_of(8, "key"), 8);
  EXPECT_EQ(remaining("key", "rpm"), "0");
  set_system({{"rpm", "5/min"}});
  EXPECT_EQ(admitted_of(3, "key"), 0);
  advance(12s);
  EXPECT_EQ(admitted_of(3, "key"), 1);
}

TEST_P(Modes, BadModesAreRefusedByName) {
  for (const char* text : {"10/min:shadw", "10/min:20:watch", R"({"capacity":1,"mode":"x"})",
                           "10/min:", R"({"capacity":1,"mode":1})", "10/min:shadow:off", "shadow"})
    EXPECT_FALSE(limiter.set_limits(Level::system(), {{"rpm", text}})) << text;
  EXPECT_ERROR("invalid-argument", "enforce, shadow or off",
               limiter.set_limits(Level::system(), {{"rpm", R"({"capacity":1,"mode":"x"})"}}));
  EXPECT_ERROR("not-found", "", limiter.limits(Level::system()));
}

}  // namespace
}  // namespace weir::contract
