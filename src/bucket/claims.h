// What has to happen to each limit of a bucket before a charge can be decided: refill, and the change to
// the parameters of a newer resolution. Pure; every store decides from this.
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
  Parameters parameters;  ///< from now on
  Claim claim;

  std::int64_t held(const State* state) const {
    return claim.held(index < 0 ? 0 : state->limits[static_cast<std::size_t>(index)].tokens);
  }
};

/// A bucket, brought to the moment of the decision.
struct Claims {
  Time at = 0;               ///< what refilled_at becomes: never earlier than it was
  std::int64_t version = 0;  ///< what the version becomes
  bool changed = false;      ///< limits are added or their parameters differ
  std::vector<LimitClaim> limits;
};

/// `state` is null where there is no bucket. An expired state must be given as null. The resolution
/// must have limits.
Claims claims_of(const State* state, const limits::Resolution& resolution, Time now);

/// Whether a dormant limit is full again and can be forgotten.
inline bool forgettable(const LimitClaim& limit, std::int64_t held) {
  return !limit.in_force && held >= limit.parameters.capacity;
}

/// When a bucket written at `at` may vanish: not before every limit would hold its capacity again, debts
/// included, and not before it was unused for `keep_for`.
class Expiry {
 public:
  Expiry(Time at, Time keep_for) : at_(at), keep_for_(keep_for) {}
  void hold(const Parameters& parameters, std::int64_t tokens) {
    if (keep_for_ == never) return;
    if (tokens >= parameters.capacity) return;
    full_at_ = std::max(full_at_, moment_granted(parameters.rate, at_, parameters.capacity - tokens));
  }
  Time expires_at() const {
    return keep_for_ == never ? never : std::max(base::saturating_add(at_, keep_for_), full_at_);
  }

 private:
  Time at_;
  Time keep_for_;
  Time full_at_ = 0;
};

}  // namespace weir::bucket
