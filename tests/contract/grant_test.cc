// Grants: more beside the balance of a limit, which does not refill, ends, and is taken first.
#include "contract/contract.h"

namespace weir::contract {
namespace {

class Grants : public Contract {
 public:
  void grant(std::string_view entity, std::initializer_list<Charge> amounts,
             const GrantOptions& options = {}) {
    store_->between();
    auto granted = limiter.grant(entity, resource, amounts, options);
    ASSERT_TRUE(granted) << granted.error().message;
  }
  /// What the stored bucket has of a limit: "balance + grant + grant", and "/consumed".
  std::string stored(std::string_view entity, std::string_view limit) {
    auto page = limiter.buckets(entity);
    if (!page) return page.error().message;
    for (const Bucket& bucket : page->items) {
      for (const BucketLimit& one : bucket.limits) {
        if (bucket.resource != resource || one.name != limit) continue;
        std::string text = one.tokens.to_string();
        for (const GrantLeft& left : one.grants) text += "+" + left.amount.to_string();
        return text + "/" + one.consumed.to_string();
      }
    }
    return "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Grants, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Grants, AddToWhatIsLeftAndAreTakenFirst) {
  set_system({{"tpm", "60/min"}, {"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"tpm", 50}}));
  grant("key", {{"tpm", 100}});
  EXPECT_EQ(remaining("key", "tpm"), "110");
  EXPECT_EQ(remaining("key", "rpm"), "10");
  EXPECT_EQ(stored("key", "tpm"), "10+100/50");
  ASSERT_TRUE(admits("key", {{"tpm", 70}}));
  EXPECT_EQ(stored("key", "tpm"), "10+30/120");
  ASSERT_TRUE(admits("key", {{"tpm", 35}, {"rpm", 1}}));
  EXPECT_EQ(stored("key", "tpm"), "5/155");
  EXPECT_FALSE(admits("key", {{"tpm", 6}}));
  advance(1s);
  EXPECT_TRUE(admits("key", {{"tpm", 6}}));
}

TEST_P(Grants, OfAShadowLimitDoNotMakeOthersWaitWhenTheyEnd) {
  set_system({{"rpm", "1/min"}, {"tpm", "60/min:shadow"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  grant("key", {{"tpm", 1000}}, {.expires_in = 10s});
  const Decision refused = acquire("key", {{"rpm", 1}, {"tpm", 500}});
  ASSERT_FALSE(refused.admitted());
  EXPECT_FALSE(refused.never_fits());
  ASSERT_TRUE(refused.retry_after());
  EXPECT_EQ(refused.retry_after(), acquire("key", {{"rpm", 1}}).retry_after()) << "of the other limit alone";
  advance(*refused.retry_after());
  EXPECT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 500}})) << "the shadow limit is left out";
}

TEST_P(Grants, AreNotCutAtTheBurstAndDoNotRefill) {
  set_system({{"tpm", "60/min"}});
  grant("key", {{"tpm", 1000}});
  EXPECT_EQ(remaining("key", "tpm"), "1060") << "also of a bucket that did not exist";
  advance(1h);
  EXPECT_EQ(remaining("key", "tpm"), "1060");
  ASSERT_TRUE(admits("key", {{"tpm", 1060}})) << "more than the burst at once";
  EXPECT_EQ(remaining("key", "tpm"), "0");
  advance(24h);
  EXPECT_EQ(remaining("key", "tpm"), "60");
}

TEST_P(Grants, LastUntilTheyAreUsedUnlessTheyEnd) {
  set_system({{"tpm", "60/min"}}, {.bucket_ttl_refill_multiplier = 1});
  grant("key", {{"tpm", 7}});
  grant("other", {{"tpm", 7}}, {.expires_in = 2h});
  grant("other", {{"tpm", 5}}, {.expires_in = 3h});
  advance(2h - 1ms);
  EXPECT_EQ(remaining("other", "tpm"), "72");
  ASSERT_TRUE(admits("other", {{"tpm", 4}})) << "of the one that ends first";
  advance(1ms);
  EXPECT_EQ(remaining("other", "tpm"), "65");
  advance(1h);
  EXPECT_EQ(remaining("other", "tpm"), "60");
  advance(24h * 365);
  EXPECT_EQ(remaining("key", "tpm"), "67");
  ASSERT_TRUE(admits("key", {{"tpm", 67}}));
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
}

TEST_P(Grants, TakeBackFirstWhatWasTakenOfThem) {
  set(Level::entity("key", "gpt-4"), {{"tpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"tpm", 60}}));
  grant("key", {{"tpm", 30}}, {.expires_in = 1h});
  grant("key", {{"tpm", 20}}, {.expires_in = 2h});
  advance(10s);
  Decision first = acquire("key", {{"tpm", 55}});
  ASSERT_TRUE(first.admitted());
  EXPECT_EQ(stored("key", "tpm"), "5/115");
  ASSERT_TRUE(first.lease().settle({{"tpm", 30}}));
  EXPECT_EQ(stored("key", "tpm"), "5+5+20/90") << "the later end first";
  Decision second = acquire("key", {{"tpm", 28}}, {.lease_for = 2h});
  auto id = second.lease().id();
  ASSERT_TRUE(id);
  EXPECT_EQ(stored("key", "tpm"), "2/118");
  advance(1h);
  ASSERT_TRUE(limiter.rollback(*id)) << "by its id";
  EXPECT_EQ(stored("key", "tpm"), "60+20/90") << "the grant that has ended is lost";
}

TEST_P(Grants, AreAdjustedByALeaseInSteps) {
  set_system({{"tpm", "60/min"}});
  grant("key", {{"tpm", 50}});
  Decision decision = acquire("key", {{"tpm", 20}});
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 60}}));
  EXPECT_EQ(stored("key", "tpm"), "30/80");
  ASSERT_TRUE(decision.lease().adjust({{"tpm", -25}}));
  EXPECT_EQ(stored("key", "tpm"), "30+25/55");
  ASSERT_TRUE(decision.lease().adjust({{"tpm", -45}}));
  EXPECT_EQ(stored("key", "tpm"), "50+50/10");
  ASSERT_TRUE(decision.lease().rollback());
  EXPECT_EQ(stored("key", "tpm"), "60+50/0");
}

TEST_P(Grants, ServeAChainWhereverTheyWereGiven) {
  set_system({{"tpm", "60/min"}});
  put("key", "project");
  put("project", "organisation");
  ASSERT_TRUE(admits("key", {{"tpm", 60}}));
  grant("key", {{"tpm", 100}});
  EXPECT_FALSE(admits("key", {{"tpm", 1}})) << "the parents have nothing left";
  grant("project", {{"tpm", 100}});
  grant("organisation", {{"tpm", 30}});
  Decision decision = acquire("key", {{"tpm", 30}});
  ASSERT_TRUE(decision.admitted());
  EXPECT_EQ(stored("organisation", "tpm"), "0/90");
  EXPECT_FALSE(admits("key", {{"tpm", 1}}));
  ASSERT_TRUE(decision.lease().settle({{"tpm", 10}}));
  EXPECT_EQ(stored("key", "tpm"), "0+90/70");
  EXPECT_EQ(stored("project", "tpm"), "0+90/70");
  EXPECT_EQ(stored("organisation", "tpm"), "0+20/70");
}

TEST_P(Grants, HappenOnceForAKey) {
  set_system({{"tpm", "60/min"}, {"rpm", "10/min"}});
  for (int i = 0; i < 2; ++i) grant("key", {{"tpm", 100}}, {.key = "ticket-1"});
  EXPECT_EQ(remaining("key", "tpm"), "160");
  ASSERT_TRUE(admits("key", {{"tpm", 160}}));
  grant("key", {{"tpm", 100}}, {.key = "ticket-1"});
  EXPECT_EQ(remaining("key", "tpm"), "0") << "after it was used up";
  grant("key", {{"tpm", 100}}, {.key = "ticket-2"});
  EXPECT_EQ(remaining("key", "tpm"), "100");
  EXPECT_FALSE(acquire_keyed("key", {{"tpm", 101}}, "ticket-2").admitted()) << "not the key of an acquire";
  const auto events = limiter.audit("key");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 2U) << "repetitions are no events";
  EXPECT_EQ(events->items[0].action, "entity.grant");
  EXPECT_EQ(events->items[0].resource, "gpt-4");
  EXPECT_NE(events->items[0].after.find("100"), std::string::npos) << events->items[0].after;
}

TEST_P(Grants, AreChargedOnceByAKeyedAcquire) {
  set_system({{"tpm", "60/min"}});
  grant("key", {{"tpm", 100}});
  Decision first = acquire_keyed("key", {{"tpm", 120}}, "call-1");
  ASSERT_TRUE(first.admitted());
  const std::string id = *first.lease().id();
  Decision second = acquire_keyed("key", {{"tpm", 120}}, "call-1");
  ASSERT_TRUE(second.admitted());
  EXPECT_EQ(*second.lease().id(), id);
  EXPECT_EQ(stored("key", "tpm"), "40/120");
  ASSERT_TRUE(second.lease().settle({{"tpm", 10}}));
  ASSERT_TRUE(first.lease().settle({{"tpm", 10}})) << "settled the same way before";
  EXPECT_EQ(stored("key", "tpm"), "50+100/10");
}

TEST_P(Grants, AreInTheWaitThatIsPromised) {
  set_system({{"tpm", "60/min"}});
  ASSERT_TRUE(admits("key", {{"tpm", 60}}));
  grant("key", {{"tpm", 30}}, {.expires_in = 10s});
  Decision soon = acquire("key", {{"tpm", 35}});
  ASSERT_TRUE(soon.refused());
  EXPECT_EQ(soon.retry_after(), 5s) << "5 refill while the grant lasts";
  Decision late = acquire("key", {{"tpm", 41}});
  EXPECT_EQ(late.retry_after(), 41s) << "the grant has ended by then";
  EXPECT_TRUE(acquire("key", {{"tpm", 91}}).never_fits());
  EXPECT_FALSE(acquire("key", {{"tpm", 60}}).never_fits());
  advance(5s - 1ms);
  EXPECT_FALSE(admits("key", {{"tpm", 35}}));
  advance(1ms);
  EXPECT_TRUE(admits("key", {{"tpm", 35}}));
}

TEST_P(Grants, StayBesideDebtsResetsAndLowerings) {
  set_system({{"tpm", "60/min"}});
  Decision decision = acquire("key", {{"tpm", 60}});
  grant("key", {{"tpm", 20}});
  ASSERT_TRUE(decision.lease().settle({{"tpm", 100}}));
  EXPECT_EQ(stored("key", "tpm"), "-20/100") << "grants first, then debt";
  grant("key", {{"tpm", 50}});
  EXPECT_EQ(remaining("key", "tpm"), "30");
  ASSERT_TRUE(limiter.reset("key"));
  EXPECT_EQ(stored("key", "tpm"), "60+50/100");
  ASSERT_TRUE(limiter.lower("key", resource, std::vector<Charge>{{"tpm", 70}}));
  EXPECT_EQ(stored("key", "tpm"), "20+50/100");
  EXPECT_EQ(remaining("key", "tpm"), "70");
}

TEST_P(Grants, StayWhenLimitsChangeAndReturn) {
  const Level level = Level::entity("key", "gpt-4");
  set(level, {{"tpm", "60/min"}, {"rpm", "10/min"}});
  grant("key", {{"tpm", 20}});
  set(level, {{"tpm", "30/min"}, {"rpm", "10/min"}});
  EXPECT_EQ(remaining("key", "tpm"), "50");
  set(level, {{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(24h);
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set(level, {{"tpm", "30/min"}, {"rpm", "10/min"}});
  EXPECT_EQ(remaining("key", "tpm"), "50") << "a limit that left keeps its grants";
  set(level, {{"tpm", "5:concurrent"}, {"rpm", "10/min"}});
  EXPECT_EQ(remaining("key", "tpm"), "5") << "a limit of another kind has none";
  ASSERT_TRUE(admits("key", {{"tpm", 1}, {"rpm", 1}}));
}

TEST_P(Grants, AreFourWithDifferentEndsAtMost) {
  set_system({{"tpm", "60/min"}});
  for (int i = 1; i <= 4; ++i) grant("key", {{"tpm", 10}}, {.expires_in = i * 1h});
  grant("key", {{"tpm", 10}}, {.expires_in = 2h});
  EXPECT_EQ(stored("key", "tpm"), "60+10+20+10+10/0") << "the same end is the same grant";
  EXPECT_ERROR("conflict", "4 grants", limiter.grant("key", resource, {{"tpm", 10}}, {.expires_in = 30min}));
  EXPECT_ERROR("conflict", "4 grants", limiter.grant("key", resource, {{"tpm", 10}}));
  EXPECT_EQ(remaining("key", "tpm"), "110");
  ASSERT_TRUE(admits("key", {{"tpm", 10}}));
  grant("key", {{"tpm", 10}});
  advance(24h);
  EXPECT_EQ(remaining("key", "tpm"), "70");
}

TEST_P(Grants, AreRefusedWithAReason) {
  EXPECT_ERROR("no-limits", "key", limiter.grant("key", resource, {{"tpm", 1}}));
  set_system({{"tpm", "10/min"}, {"calls", "2:concurrent"}});
  EXPECT_ERROR("invalid-argument", "\"rpm\"", limiter.grant("key", resource, {{"rpm", 1}}));
  EXPECT_ERROR("invalid-argument", "concurrent", limiter.grant("key", resource, {{"calls", 1}}));
  EXPECT_ERROR("invalid-argument", "more than 0", limiter.grant("key", resource, {{"tpm", 0}}));
  EXPECT_ERROR("invalid-argument", "negative", limiter.grant("key", resource, {{"tpm", Amount::milli(-1)}}));
  EXPECT_ERROR("invalid-argument", "twice", limiter.grant("key", resource, {{"tpm", 1}, {"tpm", 1}}));
  EXPECT_ERROR("invalid-argument", "names no limit", limiter.grant("key", resource, {}));
  EXPECT_ERROR("invalid-argument", "a b", limiter.grant("a b", resource, {{"tpm", 1}}));
  EXPECT_ERROR("invalid-argument", "a b", limiter.grant("key", "a b", {{"tpm", 1}}));
  EXPECT_ERROR("invalid-argument", "ends between",
               limiter.grant("key", resource, {{"tpm", 1}}, {.expires_in = 0ms}));
  const std::string long_key(200, 'k');
  EXPECT_ERROR("invalid-argument", "key", limiter.grant("key", resource, {{"tpm", 1}}, {.key = long_key}));
  EXPECT_EQ(stored("key", "tpm"), "none") << "nothing was made";
}

TEST_P(Grants, AreSeenByOtherProcesses) {
  set_system({{"tpm", "60/3660s"}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  // A store in memory cannot be opened a second time.
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  ASSERT_TRUE(admits("key", {{"tpm", 60}}));
  auto refused = other.acquire("key", resource, {{"tpm", 30}});
  ASSERT_TRUE(refused && refused->refused());
  grant("key", {{"tpm", 100}});
  // A refusal may come from memory for as long as the store's options allow, which is a minute here. One
  // token is refilled meanwhile.
  advance(61s);
  auto admitted = other.acquire("key", resource, {{"tpm", 30}});
  ASSERT_TRUE(admitted && admitted->admitted());
  EXPECT_EQ(stored("key", "tpm").substr(0, 4), "1+70");
  ASSERT_TRUE(admitted->lease().settle({{"tpm", 29}}));
  EXPECT_EQ(stored("key", "tpm").substr(0, 4), "1+71");
  ASSERT_TRUE(admits("key", {{"tpm", 71}}));
  EXPECT_EQ(stored("key", "tpm").substr(0, 2), "1/");
}

}  // namespace
}  // namespace weir::contract
