// The arithmetic of refill. A limit at the rate amount/period has granted, since the epoch and up to the
// moment t,
//
//     G(t) = floor(t * amount / period)
//
// millitokens, and between two moments the difference. Differences of G telescope: however often and at
// whatever moments refill is claimed, the claims add up to the exact total, nothing is lost to rounding, and
// limits with different rates can share one refill time. No product here overflows: a validated rate in
// lowest terms has amount * period <= 2^53, and t is split into whole periods and a rest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/wide.h"
#include "limits/limit_set.h"
#include "weir/clock.h"

namespace weir::bucket {

using limits::Parameters;
using limits::Rate;

/// The grant after `from` and up to `to`: G(to) - G(from); 0 where time does not advance. Requires 0 <= from.
inline std::int64_t granted(Rate rate, Time from, Time to) {
  if (to <= from) return 0;
  const Time periods_from = from / rate.period;
  const Time periods_to = to / rate.period;
  const std::int64_t rest_from = (from - periods_from * rate.period) * rate.amount / rate.period;
  const std::int64_t rest_to = (to - periods_to * rate.period) * rate.amount / rate.period;
  return base::saturate(base::Int128{periods_to - periods_from} * rate.amount + rest_to - rest_from);
}

/// The largest grant of any interval of `length` milliseconds.
inline std::int64_t most_granted(Rate rate, Time length) {
  return base::saturate((base::Int128{length} * rate.amount + rate.period - 1) / rate.period);
}

/// The least t >= from at which `missing` more millitokens are granted since `from`.
inline Time moment_granted(Rate rate, Time from, std::int64_t missing) {
  if (missing <= 0) return from;
  const base::Int128 target = base::Int128{from} * rate.amount / rate.period + missing;
  return base::saturate((target * rate.period + rate.amount - 1) / rate.amount);
}

/// The effect of refill on a stored balance: it becomes min(balance + grant, ceiling). Claims over
/// consecutive intervals compose, so a claim across a change of parameters has this form too.
struct Claim {
  std::int64_t grant = 0;
  std::int64_t ceiling = 0;

  std::int64_t held(std::int64_t balance) const {
    return std::min(base::saturating_add(balance, grant), ceiling);
  }
  /// This claim, followed by an interval that grants `more` and caps at `burst`.
  Claim then(std::int64_t more, std::int64_t burst) const {
    return {base::saturating_add(grant, more), std::min(base::saturating_add(ceiling, more), burst)};
  }
};

/// A claim under one set of parameters.
inline Claim claim(Rate rate, std::int64_t burst, Time from, Time to) {
  return {granted(rate, from, to), burst};
}

/// A claim across a change: at the old rate up to `moment`, cut to the new burst, then at the new rate.
/// A moment outside (from, to] counts as the nearer end.
inline Claim claim_across(Rate old_rate, std::int64_t old_burst, const Parameters& next, Time from,
                          Time moment, Time to) {
  const Time turn = std::clamp(moment, from, to);
  return claim(old_rate, old_burst, from, turn)
      .then(0, next.burst)
      .then(granted(next.rate, turn, to), next.burst);
}

}  // namespace weir::bucket
