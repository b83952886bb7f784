#include <map>

#include "contract/contract.h"

namespace weir::contract {
namespace {

class Plans : public Contract {
 public:
  /// 1, 10 and 0.5 per second.
  static constexpr const char* slow = R"({"capacity":60,"burst":1000,"refill_amount":60})";
  static constexpr const char* fast = R"({"capacity":60,"burst":1000,"refill_amount":600})";
  static constexpr const char* slowest = R"({"capacity":60,"burst":1000,"refill_amount":30})";

  static PlanLimits set_of(const std::vector<LimitText>& limits, bool inherits = false) {
    PlanLimits set{.limits = {}, .inherit = inherits};
    for (const LimitText& limit : limits)
      set.limits.push_back({std::string(limit.name), *Limit::parse(limit.limit)});
    return set;
  }
  void put_plan(const std::string& name, const std::vector<LimitText>& limits, bool inherits = false) {
    put_plan({.name = name, .limits = set_of(limits, inherits)});
  }
  void put_plan(const LimitsPlan& plan) {
    store_->between();
    auto put = limiter.put_plan(plan);
    ASSERT_TRUE(put) << put.error().message;
  }
  /// Empty: takes the plan away.
  void assign(const std::string& entity, const std::string& plan) {
    store_->between();
    auto put = limiter.put_entity({.id = entity, .plan = plan});
    ASSERT_TRUE(put) << put.error().message;
  }
  /// "plan 10".
  std::string source(std::string_view entity, const char* limit = "rpm") {
    auto look = limiter.available(entity, resource);
    if (!look) return look.error().message;
    for (const LimitStatus status : look->limits()) {
      if (status.entity == entity && status.name == limit)
        return name_of(status.source) + (" " + status.capacity.to_string());
    }
    return "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Plans, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Plans, HoldBetweenTheLimitsOfTheEntityAndThoseOfTheResource) {
  set_system({{"rpm", "1/min"}});
  set(Level::resource("gpt-4"), {{"rpm", "2/min"}});
  put_plan({.name = "pro",
            .limits = set_of({{"rpm", "3/min"}}),
            .resources = {{"gpt-4", set_of({{"rpm", "4/min"}})}}});
  assign("key", "pro");
  EXPECT_EQ(source("key"), "plan 4");
  EXPECT_EQ(admitted_of(10, "key"), 4);
  resource = "gpt-3";
  EXPECT_EQ(source("key"), "plan 3");
  EXPECT_EQ(admitted_of(10, "key"), 3);
  set(Level::entity_default("key"), {{"rpm", "5/min"}});
  EXPECT_EQ(source("key"), "entity_default 5");
  set(Level::entity("key", "gpt-3"), {{"rpm", "6/min"}});
  EXPECT_EQ(source("key"), "entity 6");
  EXPECT_EQ(source("other"), "system 1");
  EXPECT_EQ(limiter.effective_limits("key", "gpt-4")->source, Source::entity_default);
  ASSERT_TRUE(limiter.delete_limits(Level::entity_default("key")));
  EXPECT_EQ(limiter.effective_limits("key", "gpt-4")->source, Source::plan);
}

TEST_P(Plans, AreReadBackListedAndSeenByOtherProcesses) {
  put_plan({.name = "pro",
            .limits = set_of({{"rpm", "3/min"}, {"tpm", R"({"capacity":10,"mode":"shadow"})"}}),
            .resources = {{"gpt-4", set_of({{"rpm", "4/min"}}, true)}}});
  put_plan("free", {{"rpm", "1/min"}});
  put_plan({.name = "only-gpt-4", .resources = {{"gpt-4", set_of({{"rpm", "7/min"}})}}});
  assign("key", "pro");
  auto other = store_->open({});
  ASSERT_TRUE(other);
  std::vector<Limiter*> limiters{&limiter};
  if (GetParam().name != "memory") limiters.push_back(&*other);
  for (Limiter* with : limiters) {
    auto plan = with->plan("pro");
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->name, "pro");
    ASSERT_EQ(plan->limits.limits.size(), 2U);
    EXPECT_FALSE(plan->limits.inherit);
    EXPECT_EQ(plan->limits.limits[1].limit.mode(), Mode::shadow);
    ASSERT_EQ(plan->resources.size(), 1U);
    EXPECT_TRUE(plan->resources.at("gpt-4").inherit);
    EXPECT_EQ(plan->resources.at("gpt-4").limits[0].limit.capacity(), Amount(4));
    auto listed = with->plans({.cursor = {}, .limit = 2});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->items.size(), 2U);
    EXPECT_EQ(listed->items[0].name, "free");
    EXPECT_EQ(listed->items[1].name, "only-gpt-4");
    listed = with->plans({.cursor = listed->next, .limit = 2});
    ASSERT_EQ(listed->items.size(), 1U);
    EXPECT_EQ(listed->items[0].name, "pro");
    EXPECT_TRUE(listed->next.empty());
    EXPECT_EQ(with->entity("key")->plan, "pro");
    EXPECT_EQ(with->members("pro")->items, std::vector<std::string>{"key"});
    EXPECT_TRUE(with->members("free")->items.empty());
    EXPECT_ERROR("not-found", "gold", with->plan("gold"));
    auto decision = with->acquire("key", resource, {{"rpm", 1}, {"tpm", 20}});
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_TRUE(decision->admitted());
    EXPECT_TRUE(decision->limits().would_refuse());
  }
}

TEST_P(Plans, AChangeOfAPlanHoldsForAllItsMembers) {
  put_plan("pro", {{"rpm", "2/min"}});
  put_plan("team", {{"rpm", "100/min"}});
  for (const char* const key : {"a", "b", "c"}) assign(key, "pro");
  EXPECT_EQ(admitted_of(5, "a"), 2);
  put_plan("pro", {{"rpm", R"({"capacity":4,"burst":4,"refill_amount":4})"}});
  EXPECT_EQ(admitted_of(5, "b"), 4);
  EXPECT_EQ(source("a"), "plan 4");
  EXPECT_EQ(admitted_of(5, "a"), 0) << "raising gives nothing";
  advance(15s);
  EXPECT_EQ(admitted_of(5, "a"), 1);
  put_plan({.name = "pro",
            .limits = set_of({{"rpm", "4/min"}}),
            .resources = {{"gpt-4", set_of({{"rpm", "1/min"}})}}});
  EXPECT_EQ(admitted_of(5, "c"), 1);
  put_plan("pro", {{"rpm", "9/min"}});
  EXPECT_EQ(source("c"), "plan 9") << "its own limits for the resource are gone";
}

TEST_P(Plans, ARaiseWhileTheBucketSleepsCountsFromTheChange) {
  put_plan("pro", {{"rpm", slow}});
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  put_plan("pro", {{"rpm", fast}});
  advance(50s);
  EXPECT_EQ(admitted_of(600, "key"), 510) << "ten seconds at 1/s, fifty at 10/s";
}

TEST_P(Plans, SeveralChangesWhileTheBucketSleepsCountAsTheStrictest) {
  put_plan("pro", {{"rpm", fast}});
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  put_plan("pro", {{"rpm", slow}});
  advance(10s);
  put_plan("pro", {{"rpm", fast}});
  EXPECT_EQ(remaining("key", "rpm"), "20");
}

TEST_P(Plans, BothSetsOfAPlanChangeAsOneChange) {
  const auto put_both = [this](const char* rpm, const char* tpm) {
    put_plan({.name = "pro",
              .limits = set_of({{"tpm", tpm}}),
              .resources = {{"gpt-4", set_of({{"rpm", rpm}}, true)}}});
  };
  put_both(fast, fast);
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}, {"tpm", 60}}));
  advance(10s);
  put_both(slow, slow);
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "110") << "ten seconds at 10/s, ten at 1/s";
  EXPECT_EQ(remaining("key", "tpm"), "110");
}

TEST_P(Plans, AnUnchangedSetOfAChangedPlanIsNoChange) {
  const auto put_with = [this](const char* other) {
    put_plan({.name = "pro",
              .limits = set_of({{"rpm", fast}}),
              .resources = {{"other", set_of({{"rpm", other}})}}});
  };
  put_with("1/min");
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  const auto version = limiter.buckets("key")->items.at(0).version;
  put_with("2/min");
  ASSERT_TRUE(admits("key", {{"rpm", 0}}));
  EXPECT_EQ(limiter.buckets("key")->items.at(0).version, version);
}

TEST_P(Plans, MovingToAnOlderPlanIsAChange) {
  put_plan("old", {{"rpm", slow}});
  advance(1s);
  put_plan("new", {{"rpm", fast}});
  advance(1s);
  assign("key", "new");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  assign("key", "old");
  EXPECT_EQ(source("key"), "plan 60");
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "110") << "ten seconds at 10/s, ten at 1/s";
  assign("key", "new");
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "210");
  assign("key", "old");
  assign("key", "new");
  EXPECT_EQ(remaining("key", "rpm"), "210") << "alternating mints nothing";
}

TEST_P(Plans, ABucketFollowsAnAssignmentAtOnce) {
  set_system({{"rpm", slow}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  put_plan("pro", {{"rpm", fast}});
  assign("key", "pro");
  const Bucket bucket = limiter.buckets("key")->items.at(0);
  EXPECT_EQ(bucket.refilled_at, now());
  EXPECT_EQ(bucket.limits.at(0).limit.refill_amount(), Amount(600));
  EXPECT_EQ(bucket.limits.at(0).tokens, Amount(10));
  EXPECT_EQ(bucket.version, limiter.entity("key")->plan_stamp);
}

TEST_P(Plans, ChangesOfThePlanThatAnEntityLeavesAreNotForgotten) {
  put_plan("a", {{"rpm", fast}});
  put_plan("b", {{"rpm", fast}});
  assign("key", "a");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  put_plan("a", {{"rpm", "0"}});
  advance(10s);
  put_plan("a", {{"rpm", fast}});
  assign("key", "b");
  EXPECT_EQ(remaining("key", "rpm"), "0") << "the plan that it left had blocked it";
  advance(1s);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Plans, ChangesOfALostPlanAreNotForgottenWhereNothingElseHolds) {
  put_plan("a", {{"rpm", fast}});
  assign("key", "a");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  put_plan("a", {{"rpm", "0"}});
  advance(10s);
  put_plan("a", {{"rpm", slow}});
  assign("key", "");
  EXPECT_ERROR("no-limits", "key", limiter.acquire("key", resource, {{"rpm", 1}}));
  set_system({{"rpm", slow}});
  EXPECT_EQ(remaining("key", "rpm"), "0");
}

TEST_P(Plans, LosingAPlanIsAChange) {
  set_system({{"rpm", slow}});
  put_plan("pro", {{"rpm", fast}});
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  assign("key", "");
  EXPECT_EQ(source("key"), "system 60");
  EXPECT_TRUE(limiter.entity("key")->plan.empty());
  EXPECT_TRUE(limiter.members("pro")->items.empty());
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "110") << "ten seconds at 10/s, ten at 1/s";
  ASSERT_TRUE(limiter.delete_plan("pro"));
}

TEST_P(Plans, PuttingAnEntityAgainWithItsPlanChangesNothing) {
  put_plan("pro", {{"rpm", slow}});
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  const Time stamp = limiter.entity("key")->plan_stamp;
  advance(10s);
  auto put = limiter.put_entity({.id = "key", .name = "another name", .plan = "pro"});
  ASSERT_TRUE(put);
  EXPECT_EQ(put->plan_stamp, stamp);
  EXPECT_EQ(remaining("key", "rpm"), "10");
}

TEST_P(Plans, TheEntitysOwnLimitsHoldThroughAChangeOfPlan) {
  put_plan("a", {{"rpm", "1/min"}});
  put_plan("b", {{"rpm", "0"}});
  assign("key", "a");
  set(Level::entity("key", "gpt-4"), {{"rpm", fast}});
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  advance(10s);
  assign("key", "b");
  advance(10s);
  EXPECT_EQ(remaining("key", "rpm"), "200") << "neither plan was in force";
  ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "gpt-4")));
  EXPECT_EQ(remaining("key", "rpm"), "0");
}

TEST_P(Plans, InheritFromTheNextLevelOnlyWhereTheySaySo) {
  set_system({{"ipm", "7/min"}, {"tpm", "1/min"}});
  put_plan({.name = "pro",
            .limits = set_of({{"rpm", "3/min"}, {"tpm", "30/min"}}, true),
            .resources = {{"gpt-4", set_of({{"rpm", "4/min"}}, true)}}});
  assign("key", "pro");
  const auto effective = limiter.effective_limits("key", resource);
  ASSERT_TRUE(effective);
  ASSERT_EQ(effective->limits.size(), 3U);
  EXPECT_EQ(effective->sources, (std::vector<Source>{Source::system, Source::plan, Source::plan}));
  EXPECT_EQ(effective->limits[1].limit.capacity(), Amount(4));
  EXPECT_EQ(effective->limits[2].limit.capacity(), Amount(30));
  set(Level::entity_default("key"), {{"ipm", "9/min"}}, {.inherit = true});
  EXPECT_EQ(source("key", "ipm"), "entity_default 9");
  EXPECT_EQ(source("key", "rpm"), "plan 4");
  ASSERT_TRUE(admits("key", {{"ipm", 9}, {"rpm", 4}, {"tpm", 30}}));
  put_plan({.name = "pro", .resources = {{"gpt-4", set_of({{"rpm", "4/min"}})}}});
  EXPECT_EQ(source("key", "tpm"), "none");
  resource = "gpt-3";
  EXPECT_EQ(source("key", "tpm"), "system 1");
}

TEST_P(Plans, AParentsPlanHoldsForItsBucket) {
  put_plan("small", {{"rpm", "2/min"}});
  put_plan("large", {{"rpm", "100/min"}});
  assign("project", "small");
  ASSERT_TRUE(limiter.put_entity({.id = "key", .parent = "project", .cascade = true, .plan = "large"}));
  EXPECT_EQ(admitted_of(5, "key"), 2);
  assign("project", "large");
  EXPECT_EQ(admitted_of(5, "key"), 0) << "raising gives nothing";
  ASSERT_TRUE(limiter.put_entity({.id = "key2", .parent = "project", .cascade = true, .plan = "small"}));
  advance(60s);
  EXPECT_EQ(admitted_of(5, "key2"), 2);
  const Decision decision = acquire("key", {{"rpm", 1}});
  ASSERT_EQ(decision.limits().size(), 2U);
  EXPECT_EQ(decision.limits()[0].source, Source::plan);
  EXPECT_EQ(decision.limits()[1].source, Source::plan);
  EXPECT_EQ(decision.limits()[1].capacity, Amount(100));
}

TEST_P(Plans, ThatHaveMembersAreNotDeleted) {
  put_plan("pro", {{"rpm", "2/min"}});
  assign("a", "pro");
  assign("b", "pro");
  EXPECT_ERROR("conflict", "2 members", limiter.delete_plan("pro"));
  EXPECT_EQ(source("a"), "plan 2");
  ASSERT_TRUE(limiter.delete_entity("a"));
  EXPECT_ERROR("conflict", "\"b\"", limiter.delete_plan("pro"));
  put_plan("free", {{"rpm", "1/min"}});
  const auto both = limiter.change({PutEntity{{.id = "b", .plan = "free"}}, DeletePlan{"pro"}});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(source("b"), "plan 1");
  EXPECT_ERROR("not-found", "pro", limiter.plan("pro"));
  EXPECT_ERROR("not-found", "pro", limiter.delete_plan("pro"));
  EXPECT_ERROR("conflict", "1 member", limiter.delete_plan("free"));
}

TEST_P(Plans, ThatDoNotExistCannotBeNamed) {
  set_system({{"rpm", "5/min"}});
  put_plan("pro", {{"rpm", "2/min"}});
  assign("key", "pro");
  EXPECT_ERROR("invalid-argument", "gold", limiter.put_entity({.id = "key", .plan = "gold"}));
  EXPECT_EQ(limiter.entity("key")->plan, "pro");
  EXPECT_ERROR("invalid-argument", "gold", limiter.put_entity({.id = "fresh", .plan = "gold"}));
  EXPECT_ERROR("not-found", "fresh", limiter.entity("fresh"));
  EXPECT_ERROR("invalid-argument", "gold",
               limiter.change({PutPlan{{.name = "silver", .limits = set_of({{"rpm", "1"}})}},
                               PutEntity{{.id = "key", .plan = "gold"}}}));
  EXPECT_ERROR("not-found", "silver", limiter.plan("silver"));
  EXPECT_EQ(source("key"), "plan 2");
}

TEST_P(Plans, ThatCannotHoldAreRefusedWhole) {
  put_plan("pro", {{"rpm", "2/min"}});
  const auto bad = [this](LimitsPlan plan) { return limiter.put_plan(plan); };
  EXPECT_ERROR("invalid-argument", "no limits", bad({.name = "pro"}));
  EXPECT_ERROR("invalid-argument", "pl an", bad({.name = "pl an", .limits = set_of({{"rpm", "1"}})}));
  EXPECT_ERROR("invalid-argument", "_default_", bad({.name = "_default_", .limits = set_of({{"rpm", "1"}})}));
  EXPECT_ERROR("invalid-argument", "_default_",
               bad({.name = "pro", .resources = {{"_default_", set_of({{"rpm", "1"}})}}}));
  EXPECT_ERROR("invalid-argument", "gpt-4", bad({.name = "pro", .resources = {{"gpt-4", {}}}}));
  EXPECT_ERROR("invalid-argument", "twice", bad({.name = "pro", .limits = set_of({{"a", "1"}, {"a", "2"}})}));
  LimitsPlan large{.name = "pro", .limits = set_of({{"rpm", "1"}})};
  for (int i = 0; i < 101; ++i) large.resources["r" + std::to_string(i)] = set_of({{"rpm", "1"}});
  EXPECT_ERROR("invalid-argument", "101", bad(large));
  const auto plan = limiter.plan("pro");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->limits.limits.at(0).limit.capacity(), Amount(2));
}

TEST_P(Plans, AreInTheAuditWithBeforeAndAfter) {
  put_plan("pro", {{"rpm", "2/min"}});
  put_plan("pro", {{"rpm", "3/min"}});
  assign("key", "pro");
  assign("key", "");
  ASSERT_TRUE(limiter.delete_plan("pro"));
  const auto of_plan = limiter.audit("$PLAN:pro");
  ASSERT_TRUE(of_plan);
  ASSERT_EQ(of_plan->items.size(), 3U);
  EXPECT_EQ(of_plan->items[0].action, "plan.delete");
  EXPECT_TRUE(of_plan->items[0].after.empty());
  EXPECT_EQ(of_plan->items[1].action, "plan.put");
  EXPECT_NE(of_plan->items[1].before.find("\"capacity\":2"), std::string::npos) << of_plan->items[1].before;
  EXPECT_NE(of_plan->items[1].after.find("\"capacity\":3"), std::string::npos);
  EXPECT_TRUE(of_plan->items[2].before.empty());
  const auto of_key = limiter.audit("key");
  ASSERT_EQ(of_key->items.size(), 2U);
  EXPECT_NE(of_key->items[0].before.find("\"plan\":\"pro\""), std::string::npos);
  EXPECT_EQ(of_key->items[0].after.find("plan"), std::string::npos);
}

TEST_P(Plans, OfADeletedEntityEndWithIt) {
  set_system({{"rpm", "5/min"}});
  put_plan("pro", {{"rpm", "2/min"}});
  assign("key", "pro");
  EXPECT_EQ(admitted_of(3, "key"), 2);
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_EQ(source("key"), "system 5");
  EXPECT_EQ(admitted_of(6, "key"), 5);
  EXPECT_TRUE(limiter.audit("key")->items.at(0).action == "entity.delete");
  ASSERT_TRUE(limiter.delete_plan("pro"));
  put_plan("pro", {{"rpm", "2/min"}});
  assign("key", "pro");
  EXPECT_EQ(source("key"), "plan 2");
  EXPECT_EQ(admitted_of(3, "key"), 0);
}

TEST_P(Plans, AnotherProcessFollowsAnAssignmentAndAChange) {
  put_plan("small", {{"rpm", slow}});
  put_plan("large", {{"rpm", fast}});
  assign("key", "small");
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  Limiter* const other = GetParam().name == "memory" ? &limiter : &*opened;
  ASSERT_TRUE((*other->acquire("key", resource, {{"rpm", 60}})).admitted());
  advance(10s);
  assign("key", "large");
  auto decision = other->acquire("key", resource, {{"rpm", 10}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted()) << "ten seconds at 1/s";
  advance(1s);
  EXPECT_TRUE((*other->acquire("key", resource, {{"rpm", 10}})).admitted());
  EXPECT_FALSE((*other->acquire("key", resource, {{"rpm", 1}})).admitted());
  ASSERT_TRUE(other->put_plan({.name = "large", .limits = set_of({{"rpm", slowest}})}));
  ASSERT_TRUE(admits("key", {{"rpm", 0}}));
  advance(10s);
  ASSERT_TRUE(admits("key", {{"rpm", 5}}));
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
  ASSERT_TRUE(other->delete_entity("key"));
  EXPECT_TRUE(limiter.delete_plan("large"));
}

TEST_P(Plans, ABucketUnderAPlanExpiresOnceItIsFull) {
  put_plan("pro", {{"rpm", "60/min"}});
  assign("key", "pro");
  ASSERT_TRUE(admits("key", {{"rpm", 60}}));
  ASSERT_TRUE(limiter.buckets("key")->items.at(0).expires_at);
  set(Level::entity("key", "gpt-4"), {{"rpm", "60/min"}});
  EXPECT_FALSE(limiter.buckets("key")->items.at(0).expires_at);
  ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "gpt-4")));
  EXPECT_TRUE(limiter.buckets("key")->items.at(0).expires_at);
  advance(24h);
  EXPECT_TRUE(limiter.buckets("key")->items.empty());
  EXPECT_EQ(admitted_of(61, "key"), 60);
}

TEST_P(Plans, RequestLimitsHoldWhereThePlanHasNoneForTheResource) {
  put_plan({.name = "pro", .resources = {{"other", set_of({{"rpm", "2/min"}})}}});
  assign("key", "pro");
  const auto limits = *RequestLimits::make({{"rpm", "3/min"}});
  EXPECT_EQ(acquire("key", {{"rpm", 1}}, {.limits = &limits}).limits()[0].source, Source::request);
  resource = "other";
  EXPECT_EQ(acquire("key", {{"rpm", 1}}, {.limits = &limits}).limits()[0].source, Source::plan);
}

TEST_P(Plans, ASettledLeaseFollowsAnAssignment) {
  put_plan("a", {{"rpm", "10/min"}});
  put_plan("b", {{"rpm", "5/min"}});
  assign("key", "a");
  Decision decision = acquire("key", {{"rpm", 8}});
  ASSERT_TRUE(decision.admitted());
  assign("key", "b");
  ASSERT_TRUE(decision.lease().settle({{"rpm", 1}}));
  EXPECT_EQ(remaining("key", "rpm"), "5") << "no more than the burst of the new plan";
}

}  // namespace
}  // namespace weir::contract
