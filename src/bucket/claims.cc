#include "bucket/claims.h"

#include <algorithm>

namespace weir::bucket {
namespace {

using limits::Resolution;

LimitClaim added(std::string_view name, const Parameters& parameters) {
  const Claim full = Claim{0, 0}.then(parameters.capacity, parameters.burst);
  return {std::string(name), -1, true, true, true, parameters, full};
}

/// The slowest rate and the smallest capacity and burst of a limit among its own and those of several missed
/// changes.
Parameters strictest(Parameters own, std::string_view name, const Resolution::Missed& missed) {
  const int index = missed.lowest ? missed.lowest->find(name) : -1;
  if (index < 0) return own;
  const Parameters& low = (*missed.lowest)[static_cast<std::size_t>(index)];
  if (limits::slower(low.rate, own.rate)) {
    own.rate = low.rate;
    own.refill_amount = low.rate.amount;
    own.refill_period = low.rate.period;
  }
  own.capacity = std::min(own.capacity, low.capacity);
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

/// What the bucket missed of the changes up to the resolution.
Resolution::Missed missed_by(const State& state, const Resolution& resolution, const Claims& claims) {
  const bool of_request = resolution.source == Source::request;
  const bool newer = resolution.stamp > state.version;
  Resolution::Missed missed{claims.at, false, {}};
  if (newer) {
    missed = resolution.missed_since(state.version);
  } else if (claims.changed && !of_request) {
    // The bucket's version ran ahead of the stamps, so what it missed cannot be told from it.
    missed = resolution.missed_since(resolution.stamp - 1);
    missed.several = true;
  }
  // Parameters that came with the request hold from now on, whatever was stored and deleted before.
  if (of_request && claims.changed) missed.moment = claims.at;
  return missed;
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
  const bool newer = resolution.stamp > state->version;
  claims.version = newer ? resolution.stamp : state->version + (claims.changed ? 1 : 0);
  const Resolution::Missed missed = missed_by(*state, resolution, claims);
  claims.changed_at = missed.moment;

  for (std::size_t i = 0; i < state->limits.size(); ++i) {
    const LimitState& limit = state->limits[i];
    const int index = set.find(limit.name);
    const bool in_force = index >= 0;
    // A limit that left the set after other changes goes on by the strictest that it had: which was last in
    // force cannot be told.
    Parameters next = in_force ? set[static_cast<std::size_t>(index)] : limit.parameters;
    if (!in_force && missed.several) next = strictest(next, limit.name, missed);
    Claim claim = claim_of_change(limit.parameters, next, limit.name, missed, state->refilled_at, claims.at);
    // A dormant limit is forgotten once it holds its capacity, and would then come back with just that. Among
    // several missed changes it may have come back and left again.
    const bool returns = in_force && limit.dormant;
    if (returns || (limit.dormant && missed.several)) {
      const Parameters low = missed.several ? strictest(next, limit.name, missed) : next;
      claim = claim.then(0, low.capacity);
    }
    claims.changed = claims.changed || returns;
    claims.limits.push_back(
        {limit.name, static_cast<int>(i), in_force, next != limit.parameters, returns, next, claim});
  }
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (state->find(set.name(i)) == nullptr) claims.limits.push_back(added(set.name(i), set[i]));
  }
  return claims;
}

}  // namespace weir::bucket
