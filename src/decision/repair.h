// A bucket that was written while the clock was ahead would refill nothing until the clock has caught up.
// Beyond a bound its refill time is set back to the present; its balances stay. The interval between the two
// is then granted twice, which costs at most one burst (see docs/guarantees.md).
#pragma once

#include "bucket/state.h"

namespace weir::decision {

/// How far a stored refill time may lie ahead of the clock before it is taken for a mistake. A clock that is
/// set back by less only pauses refill for as long.
inline constexpr Time clock_bound = 60'000;

inline bool is_ahead(Time refilled_at, Time now, Time bound = clock_bound) {
  return refilled_at - bound > now;
}

/// Sets back a refill time that lies too far ahead; returns whether it did.
inline bool repair(bucket::State& state, Time now, Time bound) {
  if (!is_ahead(state.refilled_at, now, bound)) return false;
  state.refilled_at = now;
  return true;
}

}  // namespace weir::decision
