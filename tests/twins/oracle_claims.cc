// The claims of the oracle: the balances of a bucket at a moment, after the changes of limits that it missed.
#include <algorithm>
#include <set>

#include "twins/oracle.h"

namespace weir::twins {

Oracle::History Oracle::history_of(const Record* record, std::int64_t version, Time now) {
  History found;
  if (record == nullptr) return found;
  std::vector<Version> history;
  history.push_back(version_at(*record, now));
  if (history[0].stamp != record->current.stamp) history.push_back(record->current);
  history.insert(history.end(), record->earlier.begin(), record->earlier.end());
  bool always = true;
  bool reached = false;
  std::optional<std::set<int>> named_always;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Version& one = history[i];
    always = always && one.limits && !one.gap;
    std::set<int> names;
    for (const NamedTerms& named : one.limits ? *one.limits : Set()) names.insert(named.limit);
    // A version that was merged from several may have had no limits at times.
    const bool merged = record->earlier.size() == remembered_versions && i + 1 == history.size();
    if (merged && one.gap) names.clear();
    if (named_always)
      std::erase_if(*named_always, [&](int name) { return !names.contains(name); });
    else
      named_always = names;
    if (one.limits) found.felt.push_back(*one.limits);
    if (one.stamp <= version) {
      reached = true;
      break;
    }
    found.changes.insert(one.stamp);
  }
  found.always = always && reached;
  if (reached) found.named_always = *named_always;
  return found;
}

/// Before an entity got its plan, the plan that it left was in force.
Oracle::History Oracle::history_of_plan(const Resolution& resolution, std::size_t level, std::int64_t version,
                                        Time now) {
  const Time since = resolution.plan_stamp;
  if (since <= version) return history_of(resolution.records[level], version, now);
  History after = history_of(resolution.records[level], since, now);
  const History before = history_of(resolution.left_by[level - 2], version, now);
  after.changes.insert(before.changes.begin(), before.changes.end());
  after.felt.insert(after.felt.end(), before.felt.begin(), before.felt.end());
  after.always = after.always && before.always;
  std::erase_if(after.named_always, [&](int name) { return !before.named_always.contains(name); });
  return after;
}

/// What changed since a version of a bucket's parameters. Changes below a level that had limits all the time
/// do not count.
Oracle::Missed Oracle::missed_since(const Resolution& resolution, std::int64_t version, Time now) {
  Missed missed;
  std::size_t changes = 0;
  std::set<Time> of_plan;  // a change of a plan may concern both of its sets
  std::set<int> shadows;   // named by a stronger level all the time
  for (std::size_t i = 0; i < resolution.records.size(); ++i) {
    const bool is_plan = i == 2 || i == 3;
    if (i == 2 && resolution.plan_stamp > version) of_plan.insert(resolution.plan_stamp);
    const History history = is_plan ? history_of_plan(resolution, i, version, now)
                                    : history_of(resolution.records[i], version, now);
    if (is_plan) {
      of_plan.insert(history.changes.begin(), history.changes.end());
    } else {
      changes += history.changes.size();
    }
    for (const Time change : history.changes) missed.moment = std::max(missed.moment, change);
    for (const Set& set : history.felt) {
      Set felt;
      for (const NamedTerms& named : set) {
        if (!shadows.contains(named.limit)) felt.push_back(named);
      }
      if (!felt.empty()) tighten(missed.lowest, std::make_shared<const Set>(std::move(felt)));
    }
    if (history.always) break;
    shadows.insert(history.named_always.begin(), history.named_always.end());
  }
  for (const Time change : of_plan) missed.moment = std::max(missed.moment, change);
  missed.several = changes + of_plan.size() > 1;
  return missed;
}

/// `sent`: for limits that came with the request, which hold from the moment of the decision on. `differ`:
/// whether limits of levels, or any, differ from those of the bucket.
Oracle::Missed Oracle::missed_by(const BucketState& state, const Resolution& resolution, const Claims& claims,
                                 bool sent, bool levels_differ, Time now) {
  Missed missed{claims.at, false, {}};
  if (resolution.stamp > state.version) {
    missed = missed_since(resolution, state.version, now);
  } else if (levels_differ && !sent) {
    // Limits of requests took the version ahead of the stamps, so that it does not say what was missed.
    missed = missed_since(resolution, resolution.stamp - 1, now);
    missed.several = true;
  }
  if (sent && claims.changed) missed.moment = claims.at;
  return missed;
}

/// What one limit of a bucket holds at a moment. `in_force`: its new terms; null: it has left the set.
Oracle::Claimed Oracle::claim_one(const Held& held, const Terms* in_force, const Missed& missed, Time from,
                                  Time at) {
  const bool returns = in_force != nullptr && held.dormant;
  Terms next = in_force != nullptr ? *in_force : held.terms;
  Claimed claimed{held.limit, next, 0, held.consumed, in_force == nullptr, returns && !next.concurrent()};
  if (next.concurrent()) {
    claimed.slots = live_at(held.slots, at);
    claimed.held = next.capacity - total(claimed.slots);
    return claimed;
  }
  const Time turn = std::clamp(missed.moment, from, at);
  const Terms* const low = missed.several ? find(missed.lowest, held.limit) : nullptr;
  if (held.terms.concurrent() || (low != nullptr && low->concurrent())) {
    // A limit that was of another kind starts empty, or with its debt.
    const std::int64_t debt = held.terms.concurrent() ? 0 : std::min<std::int64_t>(held.tokens, 0);
    claimed.held = std::min(debt + granted(next, turn, at), next.burst);
    return claimed;
  }
  const Terms before = low != nullptr ? tighter(held.terms, *low) : held.terms;
  if (in_force == nullptr) claimed.terms = next = before;
  // By the old terms up to the change, cut to the new burst, then by the new terms.
  std::int64_t tokens = std::min(held.tokens + granted(before, from, turn), before.burst);
  tokens = std::min(tokens, next.burst);
  tokens = std::min(tokens + granted(next, turn, at), next.burst);
  // A dormant limit may have been forgotten, and then comes back with its capacity; among several changes
  // it may have come back and left again.
  if (returns || (held.dormant && missed.several))
    tokens = std::min(tokens, low != nullptr ? tighter(next, *low).capacity : next.capacity);
  claimed.held = tokens;
  claimed.grants = live_at(held.grants, at);
  return claimed;
}

/// What each limit holds at the moment of a decision, and under which terms it goes on.
Oracle::Claims Oracle::claim(const BucketState* state, const Resolution& resolution, Time now) const {
  Claims claims;
  const Set& set = *resolution.limits;
  const auto added = [](const NamedTerms& named) {
    return Claimed{named.limit, named.terms, named.terms.capacity, 0, false, !named.terms.concurrent()};
  };
  if (state == nullptr) {
    claims.at = now;
    claims.version = resolution.stamp;
    claims.changed = true;
    for (const NamedTerms& named : set) claims.limits.push_back(added(named));
    return claims;
  }
  const bool ahead = state->refilled_at > now + config_.clock_bound;
  const Time from = ahead ? now : state->refilled_at;
  claims.at = std::max(now, from);
  bool levels_differ = false;
  for (const NamedTerms& named : set) {
    const auto same = [&](const Held& held) { return held.limit == named.limit; };
    const auto held = std::find_if(state->limits.begin(), state->limits.end(), same);
    if (held != state->limits.end() && held->terms == named.terms) continue;
    claims.changed = true;
    levels_differ = levels_differ || resolution.source_of(named.limit) != Source::request;
  }
  claims.version =
      resolution.stamp > state->version ? resolution.stamp : state->version + (claims.changed ? 1 : 0);
  const bool all_sent = resolution.source == Source::request;
  const Missed by_sent = missed_by(*state, resolution, claims, true, levels_differ, now);
  const Missed by_levels = missed_by(*state, resolution, claims, false, levels_differ, now);
  claims.changed_at = all_sent ? by_sent.moment : by_levels.moment;
  for (const Held& held : state->limits) {
    const Terms* const in_force = find(set, held.limit);
    const bool sent = in_force != nullptr ? resolution.source_of(held.limit) == Source::request : all_sent;
    claims.limits.push_back(claim_one(held, in_force, sent ? by_sent : by_levels, from, claims.at));
    claims.returned = claims.returned || (in_force != nullptr && held.dormant);
  }
  for (const NamedTerms& named : set) {
    if (claims.find(named.limit) == nullptr) claims.limits.push_back(added(named));
  }
  std::sort(claims.limits.begin(), claims.limits.end(),
            [](const Claimed& a, const Claimed& b) { return a.limit < b.limit; });
  return claims;
}

}  // namespace weir::twins
