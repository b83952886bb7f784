// The JSON of the API, to the letter: other programs read it.
#include <gtest/gtest.h>

#include "api/catalog_json.h"
#include "api/decision_json.h"
#include "store/bucket_now.h"
#include "weir/weir.h"

namespace weir::api {
namespace {

class Api : public testing::Test {
 protected:
  FakeClock clock{1'700'000'000'000};  // grants fall on fixed moments, so waits are not round
  Limiter limiter = *Limiter::open("memory:", {.clock = &clock, .principal = "tester"});

  void set(const Level& level, const std::vector<LimitText>& limits) {
    ASSERT_TRUE(limiter.set_limits(level, limits));
  }
};

TEST_F(Api, AnAdmittedAcquireHasItsLeaseAndEveryLimitOfEveryBucket) {
  set(Level::system(), {{"rpm", "100/min:150"}});
  set(Level::entity_default("org"), {{"tpm", "1.5"}});
  ASSERT_TRUE(limiter.put_entity({.id = "key-1", .parent = "org", .cascade = true}));
  auto decision = *limiter.acquire("key-1", "gpt-4", {{"rpm", 1}});
  EXPECT_EQ(admitted_json(decision.limits(), "ID"),
            R"({"allowed":true,"lease":"ID","limits":[)"
            R"({"entity":"key-1","resource":"gpt-4","name":"rpm","capacity":100,"burst":150,"requested":1,)"
            R"("remaining":99,"exceeded":false,"retry_after_ms":0,"source":"system"},)"
            R"({"entity":"org","resource":"gpt-4","name":"tpm","capacity":1.5,"burst":1.5,"requested":0,)"
            R"("remaining":1.5,"exceeded":false,"retry_after_ms":0,"source":"entity_default"}]})");
}

TEST_F(Api, ARefusalIsAProblemThatNamesTheLimitsAndTheWait) {
  set(Level::resource("gpt-4"), {{"rpm", "1/min"}, {"tpm", "100/min"}});
  ASSERT_TRUE(limiter.acquire("key-1", "gpt-4", {{"rpm", 1}})->admitted());
  const auto decision = *limiter.acquire("key-1", "gpt-4", {{"rpm", 1}, {"tpm", 5}});
  const std::string json = refused_json(decision);
  EXPECT_TRUE(
      json.starts_with(R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"))
      << json;
  EXPECT_NE(
      json.find(R"("status":429,"detail":"over the limit rpm of key-1; retry in 59980 ms","allowed":false,)"
                R"("retry_after_ms":59980,"never_fits":false,"violated-policies":["rpm"],"limits":[)"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("remaining":0,"exceeded":true,"retry_after_ms":59980,"source":"resource")"),
            std::string::npos)
      << json;
}

TEST_F(Api, WhatNeverFitsHasNoWait) {
  set(Level::system(), {{"rpm", "1/min"}});
  const auto decision = *limiter.acquire("key-1", "gpt-4", {{"rpm", 2}});
  const std::string json = refused_json(decision);
  EXPECT_NE(json.find(R"("allowed":false,"retry_after_ms":null,"never_fits":true)"), std::string::npos)
      << json;
  EXPECT_EQ(available_json(*limiter.available("key-1", "gpt-4", {{"rpm", 2}})).substr(0, 39),
            R"({"allowed":false,"retry_after_ms":null,)");
}

TEST_F(Api, DebtsAreNegativeNumbers) {
  set(Level::system(), {{"tpm", "10/min"}});
  auto decision = *limiter.acquire("key-1", "gpt-4", {{"tpm", 10}});
  const auto report = *decision.lease().adjust({{"tpm", Amount::milli(2500)}});
  EXPECT_NE(to_json(report).find(R"("requested":2.5,"remaining":-2.5)"), std::string::npos)
      << to_json(report);
}

TEST_F(Api, StoredLimitsAreInTheLongForm) {
  const auto stored = *limiter.set_limits(Level::entity("key-1", "gpt-4"), {{"rpm", "100/min:150"}},
                                          {.owner = Owner::sync, .expires_in = std::chrono::seconds(30)});
  EXPECT_EQ(to_json(stored),
            R"({"limits":{"rpm":{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000}},)"
            R"("owner":"sync","expires_at_ms":1700000030000})");
  EXPECT_TRUE(
      item_json(stored).starts_with(R"({"level":"entity","entity":"key-1","resource":"gpt-4","limits":{)"));
  EXPECT_EQ(to_json(*limiter.effective_limits("key-1", "gpt-4")),
            R"({"limits":{"rpm":{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000}},)"
            R"("source":"entity","owner":"sync","sources":{"rpm":"entity"}})");
}

TEST_F(Api, TheSystemsLimitsHaveTheirSettings) {
  const auto stored = *limiter.set_limits(Level::system(), {{"rpm", "1"}},
                                          {.bucket_ttl_refill_multiplier = 3,
                                           .on_unavailable = OnUnavailable::allow,
                                           .usage = false,
                                           .from_file = true});
  EXPECT_EQ(
      item_json(stored),
      R"({"level":"system","limits":{"rpm":{"capacity":1,"burst":1,"refill_amount":1,"refill_period_ms":60000}},)"
      R"("owner":"operator","bucket_ttl_refill_multiplier":3,"on_unavailable":"allow","usage":"off",)"
      R"("from_file":true})");
}

TEST_F(Api, EntitiesSayOnlyWhatIsStored) {
  EXPECT_EQ(to_json(*limiter.put_entity({.id = "a"})),
            R"({"entity":"a","cascade":false,"metadata":{},"created_at_ms":1700000000000})");
  EXPECT_EQ(to_json(*limiter.put_entity(
                {.id = "a", .parent = "b", .cascade = true, .name = "\"A\"", .metadata = {{"k", "v"}}})),
            R"({"entity":"a","parent":"b","cascade":true,"name":"\"A\"","metadata":{"k":"v"},)"
            R"("created_at_ms":1700000000000})");
}

TEST_F(Api, AuditEventsHaveWhatWasBeforeAndAfter) {
  ASSERT_TRUE(limiter.put_entity({.id = "a"}));
  const auto events = *limiter.audit("a");
  ASSERT_EQ(events.items.size(), 1U);
  const std::string json = to_json(events.items[0]);
  EXPECT_NE(json.find(R"("at_ms":1700000000000,"principal":"tester","action":"entity.put","subject":"a",)"
                      R"("before":null,"after":{"parent":"",)"),
            std::string::npos)
      << json;
}

TEST_F(Api, ABucketSaysWhatItHoldsNowAndWhenItIsFull) {
  set(Level::system(), {{"tpm", "60/min:90"}});
  ASSERT_TRUE(limiter.acquire("key-1", "gpt-4", {{"tpm", 40}})->admitted());
  const Bucket bucket = limiter.buckets("key-1")->items.at(0);
  const BucketLimit& limit = bucket.limits.at(0);
  EXPECT_EQ(store::held_at(bucket, limit, clock.now()), Amount(20));
  EXPECT_EQ(store::held_at(bucket, limit, clock.now() + 2500), Amount::milli(22'500));
  EXPECT_EQ(store::held_at(bucket, limit, clock.now() + 3'600'000), Amount(90));
  EXPECT_EQ(store::held_at(bucket, limit, clock.now() - 5000), Amount(20)) << "time never runs backward";
  EXPECT_EQ(store::full_at(bucket, limit, clock.now()), clock.now() + 70'000);
  EXPECT_EQ(store::full_at(bucket, limit, clock.now() + 100'000), clock.now() + 100'000);
  const std::string json = to_json(bucket, clock.now() + 2500);
  EXPECT_NE(
      json.find(R"({"name":"tpm","remaining":22.5,"tokens":20,"consumed":40,"capacity":60,"burst":90,)"
                R"("refill_amount":60,"refill_period_ms":60000,"full_at_ms":1700000070000,"in_force":true})"),
      std::string::npos)
      << json;
}

}  // namespace
}  // namespace weir::api
