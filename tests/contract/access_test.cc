// Entities that an operator has blocked or exempted from limits.
#include "contract/contract.h"

namespace weir::contract {
namespace {

class AccessContract : public Contract {
 public:
  void set(std::string_view entity, AccessRule rule) {
    store_->between();
    auto stored = limiter.set_access(entity, rule);
    ASSERT_TRUE(stored) << stored.error().message;
  }
  void block(std::string_view entity, std::string_view on = {}, std::optional<Time> until = {}) {
    set(entity, {.access = Access::blocked, .resource = std::string(on), .until = until, .reason = "abuse"});
  }
  void exempt(std::string_view entity, std::string_view on = {}, std::optional<Time> until = {}) {
    set(entity, {.access = Access::exempt, .resource = std::string(on), .until = until, .reason = "launch"});
  }
  /// "admitted", "refused", or the blocked entity.
  std::string answer(std::string_view entity, std::initializer_list<Charge> consume = {{"rpm", 1}}) {
    const Decision decision = acquire(entity, consume);
    if (decision.block() != nullptr) return "blocked " + decision.block()->entity;
    return decision.admitted() ? "admitted" : "refused";
  }
};

class Blocks : public AccessContract {};
class Exemptions : public AccessContract {};
INSTANTIATE_TEST_SUITE_P(Stores, Blocks, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });
INSTANTIATE_TEST_SUITE_P(Stores, Exemptions, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Blocks, RefuseAtOnceAndChargeNothingUntilTheyAreRemoved) {
  set_system({{"rpm", "10/min"}});
  ASSERT_EQ(answer("key"), "admitted");
  block("key");
  const Decision refused = acquire("key", {{"rpm", 1}});
  ASSERT_NE(refused.block(), nullptr);
  EXPECT_EQ(refused.block()->entity, "key");
  EXPECT_EQ(refused.block()->reason, "abuse");
  EXPECT_FALSE(refused.block()->until);
  EXPECT_FALSE(refused.retry_after()) << "there is no end to wait for";
  EXPECT_FALSE(refused.never_fits());
  EXPECT_FALSE(acquire("key", {{"rpm", 0}}).admitted()) << "whatever it asks for";
  EXPECT_EQ(answer("other"), "admitted");
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked));
  EXPECT_EQ(answer("key"), "admitted");
  EXPECT_EQ(remaining("key", "rpm"), "8");
}

TEST_P(Blocks, LeaveTheAnswerOfAKeyedAcquireThatWasAdmittedBefore) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  const AcquireOptions keyed{.idempotency_key = "call-1"};
  Decision first = acquire("key", {{"rpm", 2}}, keyed);
  ASSERT_TRUE(first.admitted());
  block("project");
  Decision again = acquire("key", {{"rpm", 2}}, keyed);
  ASSERT_TRUE(again.admitted()) << "its caller did not get the first answer, and has to settle";
  EXPECT_EQ(*again.lease().id(), *first.lease().id());
  EXPECT_NE(acquire("key", {{"rpm", 3}}, keyed).block(), nullptr) << "another request";
  EXPECT_NE(acquire("key", {{"rpm", 2}}, {.idempotency_key = "call-2"}).block(), nullptr);
  EXPECT_NE(acquire("key", {{"rpn", 2}}, keyed).block(), nullptr) << "whatever it asks for";
  Decision waits = acquire("key", {{"rpm", 2}}, {.idempotency_key = "call-1", .max_wait = 5s});
  EXPECT_TRUE(waits.admitted());
  EXPECT_TRUE(again.lease().settle({{"rpm", 1}}));
  ASSERT_TRUE(limiter.remove_access("project", Access::blocked));
  EXPECT_EQ(remaining("key", "rpm"), "9") << "charged once";
}

TEST_P(Blocks, HoldForEveryDescendantWithAndWithoutCascade) {
  set_system({{"rpm", "10/min"}});
  put("project", "organisation", false);
  put("team", "project", true);
  put("key", "team", false);
  ASSERT_EQ(answer("key"), "admitted");
  ASSERT_EQ(answer("team"), "admitted");
  block("organisation");
  EXPECT_EQ(answer("key"), "blocked organisation");
  EXPECT_EQ(answer("team"), "blocked organisation");
  EXPECT_EQ(answer("organisation"), "blocked organisation");
  block("team");
  EXPECT_EQ(answer("key"), "blocked team") << "the nearest one is named";
  EXPECT_EQ(answer("project"), "blocked organisation");
  ASSERT_TRUE(limiter.remove_access("organisation", Access::blocked));
  EXPECT_EQ(answer("key"), "blocked team");
  EXPECT_EQ(answer("project"), "admitted");
  ASSERT_TRUE(limiter.remove_access("team", Access::blocked));
  EXPECT_EQ(answer("key"), "admitted");
}

TEST_P(Blocks, OfWhichTheLastToEndSaysHowLongToWait) {
  set_system({{"rpm", "10/min"}});
  put("key", "team", true);
  block("key", "", now() + 10'000);
  block("team");
  const Decision refused = acquire("key", {{"rpm", 1}});
  ASSERT_NE(refused.block(), nullptr);
  EXPECT_EQ(refused.block()->entity, "team");
  EXPECT_FALSE(refused.retry_after()) << "no wait will help";
}

TEST_P(Blocks, HoldOnOneResourceOrOnAll) {
  set_system({{"rpm", "10/min"}});
  block("key", "gpt-4");
  EXPECT_EQ(answer("key"), "blocked key");
  resource = "other";
  EXPECT_EQ(answer("key"), "admitted");
  block("key");
  EXPECT_EQ(answer("key"), "blocked key");
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked));
  EXPECT_EQ(answer("key"), "admitted");
  resource = "gpt-4";
  EXPECT_EQ(answer("key"), "blocked key") << "the rule of the resource stays";
  EXPECT_ERROR("not-found", "\"key\" is not blocked", limiter.remove_access("key", Access::blocked));
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked, "gpt-4"));
  EXPECT_EQ(answer("key"), "admitted");
}

TEST_P(Blocks, EndAtTheirMomentAndSayTheWait) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  ASSERT_EQ(answer("key"), "admitted");
  const Time until = now() + 10'000;
  block("project", {}, until);
  for (int i = 0; i < 2; ++i) {
    const Decision refused = acquire("key", {{"rpm", 1}});
    ASSERT_NE(refused.block(), nullptr);
    EXPECT_EQ(refused.block()->until, until);
    EXPECT_EQ(refused.retry_after(), std::chrono::milliseconds(until - now()));
    advance(4s);
  }
  advance(1999ms);
  EXPECT_EQ(answer("key"), "blocked project");
  advance(1ms);
  EXPECT_EQ(answer("key"), "admitted");
  EXPECT_EQ(remaining("project", "rpm"), "9");
  EXPECT_ERROR("not-found", "not blocked", limiter.remove_access("project", Access::blocked));
}

TEST_P(Blocks, WinOverNamesThatDoNotExistAndOverNoLimits) {
  block("key");
  EXPECT_EQ(answer("key", {{"unheard", 1}}), "blocked key");
  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(answer("key", {{"unheard", 1}}), "blocked key");
  exempt("key");
  EXPECT_EQ(answer("key"), "blocked key");
  auto look = limiter.available("key", resource, {{"rpm", 1}});
  ASSERT_TRUE(look);
  EXPECT_NE(look->block(), nullptr);
}

TEST_P(Blocks, LeaveOpenLeasesAlone) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  Decision decision = acquire("key", {{"rpm", 1}, {"tpm", 50}});
  block("key");
  ASSERT_TRUE(decision.lease().settle({{"tpm", 20}}));
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked));
  EXPECT_EQ(remaining("key", "tpm"), "80");
}

TEST_P(Blocks, StayWhenTheEntityIsPutAndKeepItFromBeingDeleted) {
  set_system({{"rpm", "10/min"}});
  block("key");
  put("key", "project");
  EXPECT_EQ(answer("key"), "blocked key");
  const auto entity = limiter.entity("key");
  ASSERT_TRUE(entity);
  ASSERT_EQ(entity->access.size(), 1U);
  EXPECT_EQ(entity->access[0].reason, "abuse");
  EXPECT_EQ(entity->access[0].since, now());
  EXPECT_ERROR("conflict", "blocked (abuse)", limiter.delete_entity("key"));
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked));
  EXPECT_EQ(limiter.entity("key")->parent, "project");
  ASSERT_TRUE(limiter.delete_entity("key"));
}

TEST_P(Blocks, OfEntitiesThatWereNotPutLeaveNothingBehind) {
  set_system({{"rpm", "10/min"}});
  block("key");
  exempt("key");
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked));
  EXPECT_TRUE(limiter.entity("key"));
  ASSERT_TRUE(limiter.remove_access("key", Access::exempt));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
}

TEST_P(Blocks, AreInTheAudit) {
  block("key", "gpt-4");
  ASSERT_TRUE(limiter.remove_access("key", Access::blocked, "gpt-4"));
  const auto events = limiter.audit("key");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 2U);
  EXPECT_EQ(events->items[0].action, "entity.unblock");
  EXPECT_EQ(events->items[1].action, "entity.block");
  EXPECT_EQ(events->items[1].resource, "gpt-4");
  EXPECT_EQ(events->items[1].after, R"({"reason":"abuse"})");
}

TEST_P(Blocks, RefuseBadInputAndChangeNothing) {
  const auto set = [&](const AccessRule& rule) { return limiter.set_access("key", rule); };
  EXPECT_ERROR("invalid-argument", "reason is missing", set({}));
  EXPECT_ERROR("invalid-argument", "one line", set({.reason = "a\nb"}));
  EXPECT_ERROR("invalid-argument", "longer than", set({.reason = std::string(257, 'x')}));
  EXPECT_ERROR("invalid-argument", "in the future", set({.until = now(), .reason = "abuse"}));
  EXPECT_ERROR("invalid-argument", "resource", set({.resource = "a b", .reason = "abuse"}));
  EXPECT_ERROR("invalid-argument", "entity", limiter.set_access("a b", {.reason = "abuse"}));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
  for (int i = 0; i < 32; ++i) block("key", "r" + std::to_string(i));
  EXPECT_ERROR("conflict", "32 rules", set({.reason = "abuse"}));
}

TEST_P(Exemptions, AdmitWhatNoLimitHoldsAndChargeAsFarAsItGoes) {
  set_system({{"rpm", "2/min"}});
  put("key", "project");
  exempt("key");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answer("key"), "admitted");
  EXPECT_EQ(remaining("key", "rpm"), "0");
  EXPECT_EQ(remaining("project", "rpm"), "0");
  EXPECT_EQ(answer("project"), "refused") << "an exemption is not inherited";
  ASSERT_TRUE(limiter.remove_access("key", Access::exempt));
  EXPECT_EQ(answer("key"), "refused");
  advance(30s);
  EXPECT_EQ(answer("key"), "admitted");
}

TEST_P(Exemptions, WinOverNamesThatDoNotExistAndOverNoLimits) {
  exempt("key");
  for (int i = 0; i < 2; ++i) {
    Decision decision = acquire("key", {{"unheard", 1}});
    EXPECT_TRUE(decision.admitted());
    EXPECT_TRUE(decision.lease().id());
    EXPECT_TRUE(decision.lease().settle({{"unheard", 7}}));
    set_system({{"rpm", "1/min"}});
  }
  EXPECT_EQ(answer("key", {{"unheard", 5}, {"rpm", 1}}), "admitted");
  EXPECT_EQ(remaining("key", "rpm"), "0");
}

TEST_P(Exemptions, EndAtTheirMomentAlsoOnTheFastPath) {
  set_system({{"rpm", "1/h"}});
  ASSERT_EQ(answer("key"), "admitted");
  exempt("key", "gpt-4", now() + 5'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer("key"), "admitted");
  advance(4999ms);
  EXPECT_EQ(answer("key"), "admitted");
  advance(1ms);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer("key"), "refused");
}

TEST_P(Exemptions, AnswerAKeyedAcquireWithItsLeaseAlsoWhenItsLimitsAreGone) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  exempt("key");
  const AcquireOptions keyed{.idempotency_key = "call-1"};
  Decision first = acquire("key", {{"rpm", 2}, {"tpm", 5}}, keyed);
  ASSERT_TRUE(first.admitted());
  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(*acquire("key", {{"rpm", 2}, {"tpm", 5}}, keyed).lease().id(), *first.lease().id());
  set_system({{"other", "10/min"}});
  Decision again = acquire("key", {{"rpm", 2}, {"tpm", 5}}, keyed);
  EXPECT_EQ(*again.lease().id(), *first.lease().id());
  EXPECT_EQ(again.lease().deadline(), first.lease().deadline());
  EXPECT_TRUE(again.lease().settle({{"rpm", 1}}));
  EXPECT_TRUE(acquire("key", {{"rpm", 3}}, keyed).limits().empty()) << "another request is not charged";
}

TEST_P(Exemptions, LetALeaseChangeWhatALaterChangeHasAdded) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  Decision decision = acquire("key", {{"rpm", 1}});
  const std::string id = *decision.lease().id();
  ASSERT_TRUE(limiter.adjust(id, {{"tpm", 50}}, "key-1"));
  exempt("key");
  ASSERT_TRUE(limiter.settle(id, {{"tpm", 20}}));
  EXPECT_EQ(remaining("key", "tpm"), "80");
}

TEST_P(Exemptions, OpenLeasesWithDeadlinesAlsoWhereNothingIsCharged) {
  exempt("key");
  Decision decision = acquire("key", {{"unheard", 1}}, {.lease_for = 10s});
  const std::string id = *decision.lease().id();
  const auto extended = limiter.extend(id, 1h);
  ASSERT_TRUE(extended);
  EXPECT_EQ(*extended, now() + 3'600'000);
  EXPECT_TRUE(limiter.settle(id, {{"unheard", 2}}));
  advance(10s);
  EXPECT_ERROR("expired", "deadline", limiter.settle(id, {{"unheard", 2}}));
}

}  // namespace
}  // namespace weir::contract
