// What users saw go wrong, each as a test of its own: changes that were refused though the lease allowed
// them, parents that were not charged, figures that others had made old.
#include "dynamodb/faulty_proxy.h"
#include "dynamodb/table.h"
#include "limiter/core.h"

namespace weir::dynamodb {
namespace {

using detail::LeaseVerb;

class Findings : public testing::Test {
 protected:
  /// As another process would open it.
  limiter::Core core(StoreOptions how = {}, const Options& options = {}) {
    return limiter::Core({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                          std::make_shared<base::SystemEntropy>(), table.store(std::move(how))},
                         options);
  }
  static Decision acquire(limiter::Core& limiter, std::string_view entity, int tokens) {
    const std::vector<Charge> charge{{"rpm", tokens}};
    auto decision = limiter.acquire(entity, "gpt-4", charge, {});
    EXPECT_TRUE(decision) << decision.error().message;
    return decision ? *std::move(decision) : Decision();
  }
  static Result<LimitReport> adjust(limiter::Core& limiter, const std::string& id, int by, const char* key) {
    const std::vector<Charge> charge{{"rpm", by}};
    return limiter.change_by_id(id, {.verb = LeaseVerb::adjust, .key = key, .charges = charge});
  }
  bool is_moving(std::string_view entity) const {
    return wire::aws::find(table.item(meta_key("default", entity)), "moving") != nullptr;
  }

  TestTable table;
  Limiter admin = table.limiter();
};

TEST_F(Findings, AnAdjustDownAfterAnAdjustUpIsJudgedByWhatTheLeaseHoldsNow) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  limiter::Core limiter = core();
  Decision decision = acquire(limiter, "key", 1);
  const std::string id = *decision.lease().id();
  limiter::Core other = core();
  ASSERT_TRUE(adjust(other, id, 5, "up"));
  const auto down = adjust(limiter, id, -3, "down");
  EXPECT_TRUE(down) << down.error().message;
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 3'000);
  const auto below = adjust(other, id, -4, "below");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, ErrorCode::invalid_argument);
  const std::vector<Charge> actual{{"rpm", 2}};
  ASSERT_TRUE(limiter.change_by_id(id, {.verb = LeaseVerb::settle, .key = {}, .charges = actual}));
  // By its text alone the lease would hold 1.
  const auto late = adjust(other, id, -2, "late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::conflict) << late.error().message;
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 2'000);
}

TEST_F(Findings, AParentIsChargedByAProcessThatHasKnownNone) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  limiter::Core other = core({.cache_for = 1h});
  ASSERT_TRUE(other.available("key", "gpt-4", {}, {}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  EXPECT_EQ(acquire(other, "key", 1).limits().size(), 2U);
  EXPECT_EQ(table.number("project", "b_rpm_tc"), 1'000);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 1'000);
}

TEST_F(Findings, AParentIsChargedByAProcessThatKnewTheBucketBeforeItExpired) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/s"}}));
  limiter::Core other = core({.cache_for = 1h});
  EXPECT_EQ(acquire(other, "key", 1).limits().size(), 1U);
  table.clock.advance(20s);
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  ASSERT_TRUE(admin.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  // It finds a bucket that was made under the parent.
  EXPECT_EQ(acquire(other, "key", 1).limits().size(), 2U);
  EXPECT_EQ(table.number("project", "b_rpm_tc"), 2'000);
}

TEST_F(Findings, AParentThatIsTakenAwayIsNotChargedAnyMore) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/s"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  limiter::Core other = core({.cache_for = 1h});
  EXPECT_EQ(acquire(other, "key", 1).limits().size(), 2U);
  table.clock.advance(20s);
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = false}));
  EXPECT_EQ(acquire(other, "key", 1).limits().size(), 1U);
}

TEST_F(Findings, AnEntityWithoutLimitsBetweenTwoOthersCanMoveAndIsFollowed) {
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "100/min"}}));
  for (const char* const top : {"old", "new"})
    ASSERT_TRUE(admin.set_limits(Level::entity(top, "gpt-4"), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "team", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "team", .parent = "old", .cascade = true}));
  limiter::Core other = core({.cache_for = 1h});
  acquire(other, "key", 1);
  ASSERT_TRUE(admin.put_entity({.id = "team", .parent = "new", .cascade = true}));
  acquire(other, "key", 1);
  EXPECT_EQ(table.number("old", "b_rpm_tc"), 1'000);
  EXPECT_EQ(table.number("new", "b_rpm_tc"), 1'000);
}

TEST_F(Findings, AMoveLeavesNothingBehindWhetherItHappensOrNot) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "free", .parent = "project", .cascade = true}));
  EXPECT_FALSE(is_moving("free"));
  ASSERT_TRUE(admin.acquire("busy", "gpt-4", {{"rpm", 1}})->admitted());
  const auto refused = admin.put_entity({.id = "busy", .parent = "project", .cascade = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_TRUE(table.item(meta_key("default", "busy")).empty()) << "it was not made for the move";
  ASSERT_TRUE(admin.put_entity({.id = "busy", .name = "known"}));
  EXPECT_FALSE(admin.put_entity({.id = "busy", .parent = "project", .cascade = true}));
  EXPECT_FALSE(is_moving("busy"));
  EXPECT_EQ(admin.entity("busy")->name, "known");
}

TEST_F(Findings, AProcessThatDiedInTheMiddleOfAMoveKeepsNobodyFromBeingCharged) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  Item left_behind = meta_key("default", "key").item();
  left_behind.push_back({"entity_id", Value::of("key")});
  left_behind.push_back({"moving", Value::of(table.clock.now())});
  left_behind.push_back({"mover", Value::of(std::int64_t{7})});
  table.put(left_behind);
  EXPECT_FALSE(admin.entity("key")) << "there is no such entity yet";
  const auto meanwhile = admin.acquire("key", "gpt-4", {{"rpm", 1}});
  ASSERT_FALSE(meanwhile);
  EXPECT_EQ(meanwhile.error().code, ErrorCode::contention) << "for as long as the other may be alive";
  table.clock.advance(11s);
  limiter::Core other = core();
  EXPECT_TRUE(acquire(other, "key", 1).admitted());
  EXPECT_TRUE(table.item(meta_key("default", "key")).empty());
  // A change takes over at once.
  table.put(left_behind);
  EXPECT_TRUE(admin.put_entity({.id = "key", .name = "mine"}));
  EXPECT_FALSE(is_moving("key"));
}

TEST_F(Findings, WhatAChainIsSaidToHaveLeftIsMarkedWhereOthersMayHaveChargedIt) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  limiter::Core one = core();
  limiter::Core two = core();
  const Decision made = acquire(one, "key", 1);
  EXPECT_FALSE(made.limits()[0].remaining_at_most) << "it made the buckets, so it knows";
  EXPECT_FALSE(made.limits()[1].remaining_at_most);
  acquire(two, "key", 1);
  const Decision again = acquire(one, "key", 1);
  for (const LimitStatus& status : again.limits()) {
    EXPECT_GE(status.remaining.millitokens(), table.number(status.entity, "b_rpm_tk"));
    if (status.remaining.millitokens() != table.number(status.entity, "b_rpm_tk")) {
      EXPECT_TRUE(status.remaining_at_most) << status.entity;
    }
  }
  acquire(one, "alone", 1);
  acquire(two, "alone", 1);
  const Decision alone = acquire(one, "alone", 1);
  EXPECT_EQ(alone.limits()[0].remaining.to_string(), "97");
  EXPECT_FALSE(alone.limits()[0].remaining_at_most) << "a single item is shown as it is";
}

TEST_F(Findings, ARefusalFromMemoryIsNoOlderThanTheRequestThatItRestsOn) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1/min"}}));
  std::atomic<bool> slow = false;
  tests::FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), [&](const std::string&) {
    // The answer takes this long.
    if (slow.exchange(false)) table.clock.advance(80ms);
    return tests::FaultyProxy::Fault::none;
  });
  auto store = table.store({.refuse_for = 100ms}, proxy.url());
  limiter::Core limiter({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                         std::make_shared<base::SystemEntropy>(), store},
                        {});
  EXPECT_TRUE(acquire(limiter, "key", 1).admitted());
  table.clock.advance(1s);
  slow = true;
  EXPECT_FALSE(acquire(limiter, "key", 1).from_memory());
  table.clock.advance(30ms);
  EXPECT_FALSE(acquire(limiter, "key", 1).from_memory()) << "the image is 110 ms old";
  EXPECT_TRUE(acquire(limiter, "key", 1).from_memory());
}

TEST_F(Findings, ALimitThatIsInForceAgainIsNotSaidToBeDormant) {
  const Level level = Level::entity("key", "gpt-4");
  ASSERT_TRUE(admin.set_limits(level, {{"rpm", "10/h"}, {"tpm", "10/h"}}));
  ASSERT_TRUE(admin.acquire("key", "gpt-4", {{"tpm", 5}})->admitted());
  limiter::Core other = core({.cache_for = 0ms});
  acquire(other, "key", 1);
  ASSERT_TRUE(admin.set_limits(level, {{"rpm", "10/h"}}));
  EXPECT_NE(wire::aws::find(table.bucket("key"), "dm"), nullptr);
  // A refusal in between, which shows the bucket to a process that has not written it.
  EXPECT_FALSE(acquire(other, "key", 10).admitted());
  ASSERT_TRUE(admin.set_limits(level, {{"rpm", "10/h"}, {"tpm", "10/h"}}));
  acquire(other, "key", 1);
  EXPECT_EQ(wire::aws::find(table.bucket("key"), "dm"), nullptr);
}

TEST_F(Findings, AWaitIsKeptThoughSomebodyGaveBackOrTookNothingMeanwhile) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1/s:20"}}));
  limiter::Core limiter = core({}, {.bucket_ttl_refill_multiplier = 1});
  Decision first = acquire(limiter, "key", 1);
  const Decision refused = acquire(limiter, "key", 20);
  ASSERT_TRUE(refused.refused());
  ASSERT_EQ(refused.retry_after(), 20s);
  const std::int64_t written = table.number("key", "at");
  table.clock.advance(1s);
  EXPECT_TRUE(first.lease().rollback());
  EXPECT_TRUE(acquire(limiter, "key", 0).admitted());
  table.clock.advance(19s);
  EXPECT_TRUE(acquire(limiter, "key", 20).admitted());
  EXPECT_EQ(written, start_of_time) << "the refusal wrote nothing";
}

TEST_F(Findings, ARefusalMakesTheBucketThatHasToGrowAndNothingElse) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1/s:5"}}));
  ASSERT_TRUE(admin.set_limits(Level::entity_default("project"), {{"rpm", "1000/s"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  limiter::Core limiter = core();
  EXPECT_TRUE(acquire(limiter, "key", 6).never_fits());
  EXPECT_TRUE(table.bucket("key").empty()) << "what can never fit need not grow";
  const Decision refused = acquire(limiter, "key", 3);
  EXPECT_EQ(refused.retry_after(), 2s);
  EXPECT_EQ(table.number("key", "b_rpm_tk"), 1'000);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 0);
  EXPECT_TRUE(table.bucket("project").empty()) << "it did not refuse";
  table.clock.advance(2s);
  EXPECT_TRUE(acquire(limiter, "key", 3).admitted());
}

TEST_F(Findings, ARepeatedAcquireGivesNothingBackToABucketThatItDidNotCharge) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "10/s"}}));
  limiter::Core limiter = core();
  const std::vector<Charge> charge{{"rpm", 6}};
  const auto keyed = [&] { return limiter.acquire("key", "gpt-4", charge, {.idempotency_key = "K"}); };
  ASSERT_TRUE(keyed()->admitted());
  table.clock.advance(60s);
  ASSERT_TRUE(acquire(limiter, "key", 1).admitted()) << "a new bucket";
  auto again = keyed();
  ASSERT_TRUE(again && again->admitted());
  ASSERT_TRUE(again->lease().rollback());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 1'000);
}

}  // namespace
}  // namespace weir::dynamodb
