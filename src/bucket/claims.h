// Brings each limit of a bucket up to date before a charge is decided: refill, and the change to the
// parameters of a newer resolution. Pure functions; every store uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bucket/refill.h"
#include "bucket/state.h"
#include "limits/resolution.h"

namespace weir::bucket {

/// One limit, brought to the moment of the decision.
struct LimitClaim {
  std::string name;
  int index = -1;         ///< in the stored state; -1: added, and starts at capacity
  bool in_force = false;  ///< named by the resolution; a dormant limit is neither checked nor charged
  bool changed = false;   ///< the stored parameters differ from those below
  bool joins = false;     ///< added, or dormant before: it refills only once it is written as in force
  Parameters parameters;  ///< from now on
  Claim claim;
  /// The claim does not depend on the stored balance: the limit is concurrent, or was.
  bool anew = false;
  Holds holds = {};    ///< of a concurrent limit: those whose deadline has not passed
  Grants grants = {};  ///< of a rate limit: those that have not ended

  /// The balance, without grants.
  std::int64_t held(const State* state) const {
    return claim.held(index < 0 || anew ? 0 : state->limits[static_cast<std::size_t>(index)].tokens);
  }
};

/// A bucket, brought to the moment of the decision.
struct Claims {
  Time at = 0;               ///< the next refilled_at; never earlier than the stored one
  std::int64_t version = 0;  ///< the next version
  bool changed = false;      ///< limits are added or their parameters differ
  Time changed_at = 0;       ///< the moment of the newest change that the bucket follows
  std::vector<LimitClaim> limits;
};

/// `state` is null where there is no bucket. An expired state must be given as null. The resolution
/// must have limits.
Claims claims_of(const State* state, const limits::Resolution& resolution, Time now);

/// Whether a dormant limit is full again and can be dropped: not while it has grants.
inline bool forgettable(const LimitClaim& limit, std::int64_t held) {
  return !limit.in_force && held >= limit.parameters.capacity && limit.grants.empty();
}

}  // namespace weir::bucket
