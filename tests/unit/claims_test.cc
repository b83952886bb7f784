#include "bucket/claims.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "decision/expiry.h"
#include "unit/rational.h"

namespace weir::bucket {
namespace {

using limits::LimitSet;
using limits::LimitSetRef;
using limits::LimitsRecordRef;
using limits::ResolutionRef;

constexpr Time today = 1'790'000'000'000;

Parameters parameters(std::int64_t capacity, std::int64_t burst, std::int64_t amount, std::int64_t period) {
  return {capacity, burst, amount, period, limits::reduced(amount, period)};
}

LimitSetRef set_of(std::vector<limits::NamedParameters> limits) {
  return LimitSetRef(new LimitSet(std::move(limits)));
}

/// A system level whose limits are changed in time, and the bucket of one entity under it.
class Bucket {
 public:
  void change(LimitSetRef limits, Time now) {
    record_ = LimitsRecordRef(limits::next_record(record_, std::move(limits), now, now).get());
  }
  ResolutionRef resolution(Time now) const {
    return ResolutionRef(
        limits::resolve({.records = {LimitsRecordRef(), LimitsRecordRef(), LimitsRecordRef(), record_}}, {},
                        now, 7)
            .get());
  }
  const State* state() const { return state_ ? &*state_ : nullptr; }
  Claims claims(Time now) const { return claims_of(state(), *resolution(now), now); }
  std::int64_t held(std::string_view name, Time now) const {
    const Claims all = claims(now);
    for (const LimitClaim& limit : all.limits) {
      if (limit.name == name) return limit.held(state());
    }
    return -1;
  }
  /// Takes from every limit that is named, and forgets dormant limits that are full.
  void take(const std::vector<std::pair<std::string, std::int64_t>>& amounts, Time now) {
    const Claims all = claims(now);
    State next{all.at, all.version, 1, never, {}};
    for (const LimitClaim& limit : all.limits) {
      LimitState after{limit.name, limit.parameters, limit.held(state()), 0};
      if (forgettable(limit, after.tokens)) continue;
      for (const auto& [name, amount] : amounts) {
        if (name == limit.name) after.tokens -= amount;
      }
      next.limits.push_back(after);
    }
    state_ = next;
  }

 private:
  LimitsRecordRef record_;
  std::optional<State> state_;
};

TEST(Claims, ANewBucketHoldsItsCapacity) {
  Bucket bucket;
  bucket.change(set_of({{"rpm", parameters(10, 20, 1, 1)}}), today);
  EXPECT_EQ(bucket.held("rpm", today + 100), 10);
}

TEST(Claims, AChangeIsSeenOnceAndGivesItsStampToTheBucket) {
  Bucket bucket;
  bucket.change(set_of({{"rpm", parameters(10, 10, 1, 1)}}), today);
  bucket.take({{"rpm", 10}}, today);
  bucket.change(set_of({{"rpm", parameters(20, 20, 2, 1)}}), today + 3);
  EXPECT_TRUE(bucket.claims(today + 5).changed);
  EXPECT_EQ(bucket.held("rpm", today + 5), 3 + 2 * 2);
  bucket.take({}, today + 5);
  EXPECT_EQ(bucket.state()->version, today + 3);
  EXPECT_FALSE(bucket.claims(today + 6).changed);
}

TEST(Claims, ADormantLimitRefillsByItsOwnParameters) {
  Bucket bucket;
  bucket.change(set_of({{"a", parameters(10, 10, 1, 1)}, {"b", parameters(10, 10, 1, 2)}}), today);
  bucket.take({{"a", 10}, {"b", 10}}, today);
  bucket.change(set_of({{"a", parameters(10, 10, 1, 1)}}), today + 1);
  bucket.take({}, today + 4);
  ASSERT_NE(bucket.state()->find("b"), nullptr);
  EXPECT_EQ(bucket.state()->find("b")->tokens, 2);
  bucket.take({}, today + 20);
  EXPECT_EQ(bucket.state()->find("b"), nullptr) << "full again, so forgotten";
}

TEST(Claims, PastTheRememberedVersionsTheStrictestOfThemHolds) {
  Bucket bucket;
  bucket.change(set_of({{"rpm", parameters(1000, 1000, 1, 1)}}), today);
  bucket.take({{"rpm", 1000}}, today);
  bucket.change(set_of({{"rpm", parameters(5, 5, 1, 100)}}), today + 1);
  for (int i = 2; i < 30; ++i) bucket.change(set_of({{"rpm", parameters(1000, 1000, i, 1)}}), today + i);
  EXPECT_EQ(bucket.held("rpm", today + 29), 0) << "at 1/100 ms since the first change";
  EXPECT_EQ(bucket.held("rpm", today + 39), 290) << "and at 29/ms after the last";
}

/// When a bucket with one limit that holds so much may expire, from now.
Time kept(const Parameters& limit, std::int64_t tokens, int multiplier, Time keep_for) {
  limits::Resolution resolution;
  resolution.multiplier = multiplier;
  resolution.keep_for = keep_for;
  decision::Expiry expiry(today, resolution);
  expiry.hold("limit", limit, tokens, true);
  return expiry.expires_at() == never ? never : expiry.expires_at() - today;
}

TEST(Expiry, IsTheTimeToFillTheCapacityTimesTheMultiplier) {
  const Parameters limit = parameters(60'000, 60'000, 1000, 1000);
  EXPECT_EQ(limits::keep_for(limit, 1), 60'000);
  EXPECT_EQ(limits::keep_for(limit, 7), 420'000);
  EXPECT_EQ(kept(limit, 0, 2, 120'000), 120'000);
  EXPECT_EQ(kept(limit, 60'000, 2, 120'000), 120'000) << "whatever it holds";
}

TEST(Expiry, LeavesTimeToFillABurstAboveTheCapacityAndToFillOnceMore) {
  const Parameters limit = parameters(1000, 100'000, 1000, 1000);
  EXPECT_EQ(limits::keep_for(limit, 1), 101'000);
  EXPECT_EQ(limits::keep_for(limit, 200), 200'000);
}

TEST(Expiry, PaysADebtFirst) {
  const Parameters limit = parameters(60'000, 60'000, 1000, 1000);
  EXPECT_EQ(kept(limit, -600'000, 2, 120'000), 720'000);
  EXPECT_EQ(kept(limit, -600'000, 2, never), never);
}

RC_GTEST_PROP(Claims, ABucketThatSeesEveryChangeEqualsTheIdealBucket, ()) {
  const auto any_rate = [] {
    return parameters(*rc::gen::inRange<std::int64_t>(1, 50), 0, *rc::gen::inRange<std::int64_t>(1, 20),
                      *rc::gen::inRange<std::int64_t>(1, 20));
  };
  const auto any_limit = [&] {
    Parameters limit = any_rate();
    limit.burst = limit.capacity + *rc::gen::inRange<std::int64_t>(0, 20);
    return limit;
  };
  Bucket bucket;
  Parameters limit = any_limit();
  Time now = today;
  bucket.change(set_of({{"rpm", limit}}), now);
  bucket.take({}, now);
  reference::IdealBucket ideal(limit.rate, limit.burst, limit.capacity, now);
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    now += *rc::gen::inRange<Time>(1, 40);
    ideal.move_to(now);
    RC_ASSERT(bucket.held("rpm", now) == ideal.tokens());
    if (*rc::gen::inRange(0, 3) == 0) {
      limit = any_limit();
      bucket.change(set_of({{"rpm", limit}}), now);
      ideal.change(limit.rate, limit.burst);
      RC_ASSERT(bucket.held("rpm", now) == ideal.tokens());
    }
    // Debts included: takes may exceed what is there.
    const std::int64_t amount = *rc::gen::inRange<std::int64_t>(0, 30);
    bucket.take({{"rpm", amount}}, now);
    ideal.take(amount);
  }
}

RC_GTEST_PROP(Claims, WhoMissesChangesNeverHoldsMoreThanTheIdealBucket, ()) {
  Bucket bucket;
  const auto any_limit = [] {
    const std::int64_t capacity = *rc::gen::inRange<std::int64_t>(0, 50);
    // Whole tokens a tick: with fractions a lower rate may be a rounding ahead inside one tick.
    return parameters(capacity, capacity, *rc::gen::inRange<std::int64_t>(1, 20), 1);
  };
  Parameters limit = any_limit();
  Time now = today;
  bucket.change(set_of({{"rpm", limit}}), now);
  bucket.take({{"rpm", *rc::gen::inRange<std::int64_t>(0, 100)}}, now);
  reference::IdealBucket ideal(limit.rate, limit.burst, bucket.state()->find("rpm")->tokens, now);
  const int changes = *rc::gen::inRange(0, 15);
  for (int i = 0; i < changes; ++i) {
    now += *rc::gen::inRange<Time>(1, 5);
    ideal.move_to(now);
    limit = any_limit();
    bucket.change(set_of({{"rpm", limit}}), now);
    ideal.change(limit.rate, limit.burst);
  }
  now += *rc::gen::inRange<Time>(0, 5);
  ideal.move_to(now);
  RC_ASSERT(bucket.held("rpm", now) <= ideal.tokens());
  if (changes <= 1) RC_ASSERT(bucket.held("rpm", now) == ideal.tokens());
}

}  // namespace
}  // namespace weir::bucket
