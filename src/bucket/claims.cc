#include "bucket/claims.h"

#include <algorithm>

namespace weir::bucket {
namespace {

using limits::Resolution;

LimitClaim added(std::string_view name, const Parameters& parameters) {
  const Claim full = Claim{0, 0}.then(parameters.capacity, parameters.burst);
  const bool refills = parameters.kind() == Kind::rate;
  return {std::string(name), -1, true, true, refills, parameters, full};
}

/// The free part of a concurrent limit: its capacity less the holds whose deadline has not passed.
void claim_holds(LimitClaim& claim, const LimitState& limit, Time at) {
  claim.holds = live(limit.holds, at);
  claim.claim = {claim.parameters.capacity - total(claim.holds), claim.parameters.capacity};
  claim.anew = true;
}

/// Whether a limit was of another kind, before the change or, where several were missed, between them.
bool changes_kind(const Parameters& old, const Parameters& next, std::string_view name,
                  const Resolution::Missed& missed) {
  if (old.kind() != next.kind()) return true;
  const int index = missed.several && missed.lowest ? missed.lowest->find(name) : -1;
  return index >= 0 && (*missed.lowest)[static_cast<std::size_t>(index)].kind() != next.kind();
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
  const Time moment = std::clamp(missed.moment, from, to);
  // After a change of kind the limit starts empty, or with its debt, so that changing the kind grants
  // nothing.
  if (changes_kind(old, next, name, missed))
    return Claim{0, 0}.then(granted(next.rate, moment, to), next.burst);
  const Parameters before = missed.several ? strictest(old, name, missed) : old;
  return claim_across(before.rate, before.burst, next, from, missed.moment, to);
}

/// Whether a limit of a resolution was sent with the request.
bool is_sent(const Resolution& resolution, std::size_t index) {
  return resolution.limits->source(index).value_or(resolution.source) == Source::request;
}

/// Which limits of a resolution differ from those that the bucket was written with.
struct Differences {
  bool stored = false;  ///< one of the levels'
  bool sent = false;    ///< one that was sent with the request
};

Differences differences(const State& state, const Resolution& resolution) {
  const limits::LimitSet& set = *resolution.limits;
  Differences found;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const LimitState* const limit = state.find(set.name(i));
    if (limit != nullptr && limit->parameters == set[i]) continue;
    (is_sent(resolution, i) ? found.sent : found.stored) = true;
  }
  return found;
}

/// The changes up to the resolution that the bucket has not followed yet.
struct MissedBy {
  Resolution::Missed stored;  ///< by limits of the levels
  Resolution::Missed sent;    ///< by limits that were sent with the request
};

MissedBy missed_by(const State& state, const Resolution& resolution, Time at, const Differences& differ) {
  MissedBy missed{{at, false, {}}, {at, false, {}}};
  if (resolution.stamp > state.version) {
    missed.stored = missed.sent = resolution.missed_since(state.version);
  } else if (differ.stored) {
    // The bucket's version is ahead of the stamps, so it does not show which changes the bucket missed.
    missed.stored = resolution.missed_since(resolution.stamp - 1);
    missed.stored.several = true;
  }
  // Parameters that came with the request hold from this moment on, whatever was stored before.
  if (differ.stored || differ.sent) missed.sent.moment = at;
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
  const Differences differ = differences(*state, resolution);
  claims.changed = differ.stored || differ.sent;
  const bool newer = resolution.stamp > state->version;
  claims.version = newer ? resolution.stamp : state->version + (claims.changed ? 1 : 0);
  const MissedBy missed_all = missed_by(*state, resolution, claims.at, differ);
  const bool all_sent = resolution.source == Source::request;
  claims.changed_at = all_sent ? missed_all.sent.moment : missed_all.stored.moment;

  for (std::size_t i = 0; i < state->limits.size(); ++i) {
    const LimitState& limit = state->limits[i];
    const int index = set.find(limit.name);
    const bool in_force = index >= 0;
    const bool sent = in_force ? is_sent(resolution, static_cast<std::size_t>(index)) : all_sent;
    const Resolution::Missed& missed = sent ? missed_all.sent : missed_all.stored;
    // A limit that left the set after several changes refills by its strictest parameters: which were in
    // force last is unknown.
    Parameters next = in_force ? set[static_cast<std::size_t>(index)] : limit.parameters;
    const bool concurrent = next.kind() == Kind::concurrent;
    const bool other_kind = changes_kind(limit.parameters, next, limit.name, missed);
    if (!in_force && missed.several && !concurrent && !other_kind) next = strictest(next, limit.name, missed);
    Claim claim = claim_of_change(limit.parameters, next, limit.name, missed, state->refilled_at, claims.at);
    // A dormant limit is dropped once it holds its capacity, and a limit that returns after that starts at
    // its capacity: so a returning one is cut there. Among several missed changes it may have returned and
    // left again.
    const bool returns = in_force && limit.dormant;
    if (!other_kind && (returns || (limit.dormant && missed.several))) {
      const Parameters low = missed.several ? strictest(next, limit.name, missed) : next;
      claim = claim.then(0, low.capacity);
    }
    claims.changed = claims.changed || returns;
    claims.limits.push_back({limit.name, static_cast<int>(i), in_force, next != limit.parameters,
                             returns && !concurrent, next, claim, limit.parameters.kind() != next.kind()});
    if (concurrent) claim_holds(claims.limits.back(), limit, claims.at);
    if (!limit.grants.empty() && !other_kind) claims.limits.back().grants = live(limit.grants, claims.at);
  }
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (state->find(set.name(i)) == nullptr) claims.limits.push_back(added(set.name(i), set[i]));
  }
  return claims;
}

}  // namespace weir::bucket
