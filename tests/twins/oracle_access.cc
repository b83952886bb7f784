// The oracle's blocks and exemptions.
#include <algorithm>

#include "twins/oracle.h"

namespace weir::twins {

std::vector<int> Oracle::ancestry(int entity) const {
  std::vector<int> line{entity};
  while (parent_of(line.back()) >= 0) line.push_back(parent_of(line.back()));
  return line;
}

/// The block that ends last; of several that of the nearest entity.
std::optional<Blocked> Oracle::block(int entity, int resource, Time now) const {
  std::optional<Blocked> last;
  for (const int one : ancestry(entity)) {
    Blocked found{one};
    for (const Rule& rule : rules(one)) {
      if (rule.access != Access::blocked || !rule.holds(resource, now)) continue;
      if (!found.rules.empty() && rule.until < found.rules.front().until) continue;
      if (!found.rules.empty() && rule.until > found.rules.front().until) found.rules.clear();
      found.rules.push_back(rule);
    }
    if (found.rules.empty()) continue;
    if (!last || found.rules.front().until > last->rules.front().until) last = std::move(found);
  }
  return last;
}

bool Oracle::exempt(int entity, int resource, Time now) const {
  return std::any_of(rules(entity).begin(), rules(entity).end(), [&](const Rule& rule) {
    return rule.access == Access::exempt && rule.holds(resource, now);
  });
}

/// Refused whatever was asked for, until the block ends.
Answer Oracle::refused_by(Blocked block, Time now) {
  Answer answer;
  const Time until = block.rules.front().until;
  if (until != never) answer.wait = until - now;
  answer.block = std::move(block);
  return answer;
}

Oracle::Outcome Oracle::set_access(int entity, const Rule& rule, Time now) {
  if (rule.until <= now) return ErrorCode::invalid_argument;
  EntityState& at = entities_[static_cast<std::size_t>(entity)];
  if (!at.stored) {
    at.stored = at.access_only = true;
    at.created_at = now;
  }
  // Rules that have ended are dropped, too.
  std::erase_if(at.rules, [&](const Rule& other) {
    return (other.access == rule.access && other.resource == rule.resource) || other.until <= now;
  });
  at.rules.push_back(rule);
  at.rules.back().since = now;
  const bool blocks = rule.access == Access::blocked;
  events_.push_back(
      {now, blocks ? "entity.block" : "entity.exempt", {Source::entity, entity, rule.resource}});
  return {};
}

/// A record that was made for rules goes with the last of them.
Oracle::Outcome Oracle::remove_access(int entity, Access access, int resource, Time now) {
  EntityState& at = entities_[static_cast<std::size_t>(entity)];
  const auto same = [&](const Rule& rule) { return rule.access == access && rule.resource == resource; };
  const auto found = std::find_if(at.rules.begin(), at.rules.end(), same);
  if (found == at.rules.end() || found->until <= now) return ErrorCode::not_found;
  at.rules.erase(found);
  if (at.access_only && at.rules.empty()) at = {};
  const bool blocks = access == Access::blocked;
  events_.push_back({now, blocks ? "entity.unblock" : "entity.unexempt", {Source::entity, entity, resource}});
  return {};
}

Time Oracle::next_rule_end(Time now) const {
  Time next = never;
  for (const EntityState& at : entities_) {
    for (const Rule& rule : at.rules) {
      if (rule.until > now) next = std::min(next, rule.until);
    }
  }
  return next;
}

Time Oracle::last_rule_end(Time now) const {
  Time last = 0;
  for (const EntityState& at : entities_) {
    for (const Rule& rule : at.rules) {
      if (rule.until <= now) last = std::max(last, rule.until);
    }
  }
  return last;
}

std::vector<Asked> Oracle::changeable(const Lease& lease, const std::vector<Asked>& amounts, Time now) const {
  if (lease.buckets.empty()) return {};
  // A lease names its buckets. Where the entity had no limits of its own, the first one is of an ancestor.
  const int entity = lease.buckets.front().entity;
  if (block(entity, lease.resource, now) || !exempt(entity, lease.resource, now)) return amounts;
  std::vector<Asked> held = amounts;
  std::erase_if(held, [&](const Asked& asked) {
    return std::none_of(lease.amounts.begin(), lease.amounts.end(),
                        [&](const LeaseAmount& amount) { return amount.limit == asked.limit; });
  });
  return held;
}

}  // namespace weir::twins
