#include "bucket/claims.h"

#include <algorithm>

namespace weir::bucket {
namespace {

using limits::Resolution;

LimitClaim added(std::string_view name, const Parameters& parameters) {
  return {
      std::string(name), -1, true, true, parameters, Claim{0, 0}.then(parameters.capacity, parameters.burst)};
}

/// The slowest rate and the smallest burst of a limit among its own and those of several missed changes.
Parameters strictest(Parameters own, std::string_view name, const Resolution::Missed& missed) {
  const int index = missed.lowest ? missed.lowest->find(name) : -1;
  if (index < 0) return own;
  const Parameters& low = (*missed.lowest)[static_cast<std::size_t>(index)];
  if (limits::slower(low.rate, own.rate)) own.rate = low.rate;
  own.burst = std::min(own.burst, low.burst);
  return own;
}

/// The claim of a limit whose parameters change: by the old ones up to the moment of the change, or, where
/// several changes were missed, by the strictest of them.
Claim claim_of_change(const Parameters& old, const Parameters& next, std::string_view name,
                      const Resolution::Missed& missed, Time from, Time to) {
  const Parameters before = missed.several ? strictest(old, name, missed) : old;
  return claim_across(before.rate, before.burst, next, from, missed.moment, to);
}

bool differs(const State& state, const limits::LimitSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    const LimitState* const limit = state.find(set.name(i));
    if (limit == nullptr || limit->parameters != set[i]) return true;
  }
  return false;
}

}  // namespace

Claims claims_of(const State* state, const Resolution& resolution, Time now) {
  const limits::LimitSet& set = *resolution.limits;
  Claims claims;
  if (state == nullptr) {
    claims.at = std::max<Time>(now, 0);
    claims.version = resolution.stamp;
    claims.changed = true;
    for (std::size_t i = 0; i < set.size(); ++i) claims.limits.push_back(added(set.name(i), set[i]));
    return claims;
  }

  claims.at = std::max(now, state->refilled_at);
  claims.changed = differs(*state, set);
  // Parameters that differ without a newer stamp came with the request: they change now, as a version of
  // their own.
  const bool newer = resolution.stamp > state->version;
  claims.version = newer ? resolution.stamp : state->version + (claims.changed ? 1 : 0);
  const Resolution::Missed missed =
      newer ? resolution.missed_since(state->version) : Resolution::Missed{claims.at, false, {}};

  for (std::size_t i = 0; i < state->limits.size(); ++i) {
    const LimitState& limit = state->limits[i];
    const int index = set.find(limit.name);
    const bool in_force = index >= 0;
    // A limit that left the set after other changes goes on by the strictest that it had: which was last in
    // force cannot be told.
    const Parameters next = in_force                  ? set[static_cast<std::size_t>(index)]
                            : newer && missed.several ? strictest(limit.parameters, limit.name, missed)
                                                      : limit.parameters;
    const Claim claim =
        newer ? claim_of_change(limit.parameters, next, limit.name, missed, state->refilled_at, claims.at)
              : claim_across(limit.parameters.rate, limit.parameters.burst, next, state->refilled_at,
                             claims.at, claims.at);
    claims.limits.push_back(
        {limit.name, static_cast<int>(i), in_force, next != limit.parameters, next, claim});
  }
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (state->find(set.name(i)) == nullptr) claims.limits.push_back(added(set.name(i), set[i]));
  }
  return claims;
}

}  // namespace weir::bucket
