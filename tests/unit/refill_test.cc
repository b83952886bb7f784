#include "bucket/refill.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "unit/rational.h"

namespace weir::bucket {
namespace {

using reference::granted_until;
using reference::Integer;

constexpr Time today = 1'790'000'000'000;
constexpr std::int64_t exact_bound = std::int64_t{1} << 53;

/// A rate within the validated bounds; small, ordinary and extreme ones alike.
template <class Random>
Rate random_rate(Random& random) {
  for (;;) {
    const auto bits = [&](unsigned most) {
      return static_cast<std::int64_t>(random() >> (64 - 1 - random() % most));
    };
    const Rate rate = limits::reduced(1 + bits(52), 1 + bits(40));
    if (base::Int128{rate.amount} * rate.period <= exact_bound) return rate;
  }
}

std::int64_t saturated(const Integer& value) {
  const Integer most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, most));
}

TEST(Refill, TenMillionRandomOperationsEqualTheRationalReference) {
  std::mt19937_64 random(20261115);
  for (int i = 0; i < 2'500'000; ++i) {
    const Rate rate = random_rate(random);
    const Time from = today + static_cast<Time>(random() % 100'000'000);
    const Time to = from + static_cast<Time>(random() >> (random() % 41 + 23));
    // 1: a grant is the difference of two floors.
    const Integer at_from = granted_until(rate, from);
    const std::int64_t grant = granted(rate, from, to);
    ASSERT_EQ(grant, saturated(granted_until(rate, to) - at_from))
        << rate.amount << "/" << rate.period << " " << from << " " << to;
    // 2: no stretch of that length grants more than most_granted.
    ASSERT_LE(grant, most_granted(rate, to - from));
    // 3: the moment of a grant is the first one.
    const std::int64_t missing = 1 + static_cast<std::int64_t>(random() >> (random() % 50 + 12));
    const Time moment = moment_granted(rate, from, missing);
    if (moment < std::numeric_limits<Time>::max()) {
      ASSERT_GE(granted_until(rate, moment) - at_from, missing);
      ASSERT_LT(granted_until(rate, moment - 1) - at_from, missing);
    }
    // 4: a claim cuts at the burst.
    const auto burst = static_cast<std::int64_t>(random() >> (random() % 50 + 12));
    const auto tokens = burst - static_cast<std::int64_t>(random() >> (random() % 50 + 12));
    ASSERT_EQ(claim(rate, burst, from, to).held(tokens),
              saturated(std::min<Integer>(Integer(tokens) + grant, burst)));
  }
}

TEST(Refill, AnHourlyLimitPolledEveryMillisecondForADayRefillsTwentyFour) {
  const Rate hourly = limits::reduced(1000, 3'600'000);
  constexpr Time day = 86'400'000;
  std::int64_t tokens = 0;
  int admitted = 0;
  for (Time t = today; t < today + day; ++t) {
    tokens = claim(hourly, 1000, t, t + 1).held(tokens);
    if (tokens < 1000) continue;
    tokens -= 1000;
    ++admitted;
  }
  EXPECT_EQ(admitted, 24);
}

TEST(Refill, TimeThatDoesNotAdvanceGrantsNothing) {
  EXPECT_EQ(granted({1, 1}, 100, 100), 0);
  EXPECT_EQ(granted({1, 1}, 100, 50), 0);
}

TEST(Refill, AGrantTooLargeForAnIntegerIsHeldAtTheEnd) {
  EXPECT_EQ(granted({exact_bound, 1}, 0, today), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(claim({exact_bound, 1}, 1000, 0, today).held(-Amount::max_millitokens), 1000);
}

RC_GTEST_PROP(Refill, GrantsTelescopeOverAnyPartition, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const Rate rate = random_rate(random);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5000));
  Time at = today + static_cast<Time>(random() % 1'000'000);
  const Time start = at;
  Integer sum = 0;
  for (const int step : steps) {
    const std::int64_t grant = granted(rate, at, at + step);
    if (grant == std::numeric_limits<std::int64_t>::max()) return;
    sum += grant;
    at += step;
  }
  RC_ASSERT(sum == granted_until(rate, at) - granted_until(rate, start));
}

RC_GTEST_PROP(Refill, AClaimAcrossAChangeEqualsTheIdealBucket, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const Rate old_rate = random_rate(random);
  const Rate new_rate = random_rate(random);
  const std::int64_t old_burst = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const std::int64_t new_burst = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const std::int64_t tokens = *rc::gen::inRange<std::int64_t>(-1'000'000, old_burst + 1);
  const Time from = today;
  const Time moment = from + *rc::gen::inRange<Time>(0, 100'000);
  const Time to = moment + *rc::gen::inRange<Time>(0, 100'000);

  reference::IdealBucket ideal(old_rate, old_burst, tokens, from);
  ideal.move_to(moment);
  ideal.change(new_rate, new_burst);
  ideal.move_to(to);
  const Parameters next{new_burst, new_burst, new_rate.amount, new_rate.period, new_rate};
  RC_ASSERT(claim_across(old_rate, old_burst, next, from, moment, to).held(tokens) == ideal.tokens());
}

}  // namespace
}  // namespace weir::bucket
