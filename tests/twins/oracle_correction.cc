// The oracle's corrections of balances.
#include <algorithm>

#include "twins/oracle.h"

namespace weir::twins {
namespace {

/// Fills, lowers or grants one limit; nothing: it has too many grants. Otherwise whether it has changed.
std::optional<bool> correct_one(Held& held, Oracle::Correction how, const std::vector<Asked>& amounts,
                                Time end) {
  const std::int64_t before = held.tokens;
  if (how == Oracle::Correction::fill) held.tokens = std::max(held.tokens, held.terms.capacity);
  bool granted = false;
  for (const Asked& asked : amounts) {
    if (asked.limit != held.limit) continue;
    if (how == Oracle::Correction::lower)
      held.tokens = std::min(held.tokens, std::max<std::int64_t>(asked.amount - total(held.grants), 0));
    if (how != Oracle::Correction::grant) continue;
    if (held.grants.count(end) == 0 && held.grants.size() == most_grants) return std::nullopt;
    held.grants[end] += asked.amount;
    granted = true;
  }
  return granted || held.tokens != before;
}

}  // namespace

Answer Oracle::correct(int entity, int resource, Correction how, const std::vector<Asked>& amounts, Time now,
                       Time lasts) {
  Answer answer;
  Link link;
  link.entity = entity;
  if (!resolve(entity, resource, nullptr, now).limits) return answer.error = ErrorCode::no_limits, answer;
  link.state = bucket(entity, resource, now);
  link.resolution = resolve_as_stored(entity, resource, link.state, now);
  const Set& set = *link.resolution.limits;
  for (const Asked& asked : amounts) {
    const Terms* const terms = find(set, asked.limit);
    if (terms == nullptr || terms->concurrent()) return answer.error = ErrorCode::invalid_argument, answer;
  }
  link.claims = claim(link.state, link.resolution, now);
  BucketState state = claimed_state(link);
  const Time end = lasts == 0 ? never : link.claims.at + lasts;
  bool changes = false;
  for (Held& held : state.limits) {
    if (held.dormant || held.terms.concurrent()) continue;
    const auto changed = correct_one(held, how, amounts, end);
    if (!changed) return answer.error = ErrorCode::conflict, answer;
    changes = changes || *changed;
  }
  for (const NamedTerms& named : set) {
    Line line{entity,
              named.limit,
              named.terms,
              0,
              0,
              0,
              link.resolution.source_of(named.limit),
              link.resolution.owner,
              named.mode};
    for (const Held& held : state.limits) {
      if (held.limit == named.limit) line.remaining = held.all();
    }
    answer.lines.push_back(line);
  }
  if (changes && (link.state != nullptr || how != Correction::fill))
    put(link, resource, std::move(state), now);
  return answer;
}

Answer Oracle::reset(int entity, int resource, Time now) {
  if (bucket(entity, resource, now) == nullptr) return {};
  const Answer answer = correct(entity, resource, Correction::fill, {}, now);
  if (answer.error) return answer;
  events_.push_back({now, "entity.reset", {Source::entity, entity, resource}});
  return answer;
}

Answer Oracle::grant(int entity, int resource, const std::vector<Asked>& amounts, Time lasts,
                     const std::string& key, Time now) {
  constexpr Time day = 86'400'000;
  const KeyOf by{key, entity, resource, amounts};
  const auto known = granted_.find(by);
  const bool repeated = !key.empty() && known != granted_.end() && known->second > now;
  Answer answer =
      correct(entity, resource, Correction::grant, repeated ? std::vector<Asked>() : amounts, now, lasts);
  if (answer.error || repeated) return answer;
  if (!key.empty()) granted_[by] = now + day;
  events_.push_back({now, "entity.grant", {Source::entity, entity, resource}});
  return answer;
}

Time Oracle::next_key_end(Time now) const {
  Time next = never;
  for (const auto& [key, end] : granted_) {
    if (end > now) next = std::min(next, end);
  }
  return next;
}

bool Oracle::has_taken_grants(int entity, int resource, int limit) const {
  for (const Lease& lease : leases_) {
    if (lease.resource != resource || lease.ending != Ending::open) continue;
    for (const LeaseAmount& amount : lease.amounts) {
      for (const auto& [bucket, pieces] : amount.granted) {
        if (amount.limit == limit && !pieces.empty() && lease.buckets[bucket].entity == entity) return true;
      }
    }
  }
  return false;
}

}  // namespace weir::twins
