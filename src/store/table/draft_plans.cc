// Plans in a draft: changes of a plan, and entities that get or lose one.
#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/table/draft.h"

namespace weir::table {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;
using limits::PlanRecordRef;

namespace {

/// Whether a set of a plan stays as it is. Then it has no new version, and no bucket has to follow.
bool same(const LimitsRecordRef& old, const store::PlanSet& set) {
  const bool had = old && old->current.limits;
  if (!had || !set.limits) return !had && !set.limits;
  return *old->current.limits == *set.limits && old->inherits() == set.inherit;
}

PlanRecordRef find_plan(const Tenant& tenant, std::string_view name) {
  const auto found = tenant.plans.find(name);
  return found == tenant.plans.end() ? PlanRecordRef() : found->second;
}

}  // namespace

Error no_plan(std::string_view name) {
  return error(ErrorCode::not_found, "plan ", quoted(name), " does not exist");
}

std::string missing_plan(std::string_view name_space, std::string_view entity, std::string_view plan) {
  return base::join("entity ", quoted(entity), " in namespace ", quoted(name_space), " names plan ",
                    quoted(plan),
                    ", which does not exist. The next level applies; put the plan or the entity");
}

limits::Levels levels_of(const Tenant& tenant, std::string_view entity, std::string_view resource) {
  limits::Levels levels;
  for (const Source level : limits::recorded_levels) {
    const auto found = tenant.limits.find(level_key(level, entity, resource));
    if (found != tenant.limits.end()) levels.at(level) = found->second;
  }
  const auto found = tenant.entities.find(entity);
  if (found == tenant.entities.end()) return levels;
  levels.plan_stamp = found->second.plan_stamp;
  levels.set_plan(find_plan(tenant, found->second.plan).get(), resource);
  return levels;
}

limits::Levels Draft::levels(std::string_view entity, std::string_view resource) const {
  limits::Levels levels;
  for (const Source level : limits::recorded_levels)
    levels.at(level) = record(level_key(level, entity, resource));
  const Entity* const after = this->entity(entity);
  if (after == nullptr) return levels;
  levels.plan_stamp = after->plan_stamp;
  levels.set_plan(plan(after->plan).get(), resource);
  const auto before = tenant_.entities.find(entity);
  if (before == tenant_.entities.end() || before->second.plan_stamp == after->plan_stamp) return levels;
  if (const PlanRecordRef left = find_plan(tenant_, before->second.plan))
    levels.left = {left->on(resource), left->limits};
  return levels;
}

base::Ref<limits::Resolution> Draft::resolve_adopted(std::string_view entity, std::string_view resource,
                                                     Time at, int multiplier) const {
  auto resolution = limits::resolve(levels(entity, resource), {}, at, multiplier);
  if (resolution->limits || !reassigned(entity)) return resolution;
  // The entity has lost its plan, and no other level has limits. Changes of that plan will be unknown later,
  // so the bucket follows them now.
  return limits::resolve(levels_of(tenant_, entity, resource), {}, at, multiplier);
}

PlanRecordRef Draft::plan(std::string_view name) const {
  if (name.empty()) return {};
  if (const auto found = plans_.find(std::string(name)); found != plans_.end()) return found->second;
  return find_plan(tenant_, name);
}

bool Draft::reassigned(std::string_view id) const {
  const auto found = entities_.find(std::string(id));
  // An entity that an earlier change erased starts anew, without buckets.
  if (found == entities_.end() || !found->second || erased_.contains(found->first)) return false;
  const auto before = tenant_.entities.find(id);
  return found->second->plan_stamp != (before == tenant_.entities.end() ? 0 : before->second.plan_stamp);
}

std::vector<std::string> Draft::reassigned() const {
  std::vector<std::string> ids;
  for (const auto& [id, entity] : entities_) {
    if (reassigned(id)) ids.push_back(id);
  }
  return ids;
}

Result<void> Draft::assign_plan(Entity& next, const Entity* old) {
  const std::string before = old == nullptr ? std::string() : old->plan;
  next.plan_stamp = old == nullptr ? 0 : old->plan_stamp;
  // A plan without a stamp comes from a record that could not be used: assigning it again is a change.
  if (next.plan == before && (before.empty() || next.plan_stamp != 0)) return {};
  if (!next.plan.empty() && !plan(next.plan)) {
    return base::invalid("entity ", quoted(next.id), " names plan ", quoted(next.plan),
                         ", which does not exist; put the plan first");
  }
  next.plan_stamp = next_stamp();
  members_.erase(before, next.id);
  members_.insert(next.plan, next.id);
  return {};
}

void Draft::leave_plan(const Entity& erased) {
  if (erased.plan_stamp == 0 && erased.plan.empty()) return;
  members_.erase(erased.plan, erased.id);
  // The stamp is deleted with the entity, but a process with a stale cache may still create a bucket that
  // carries it. So a tombstone with a later stamp stays.
  const std::string key = level_key(Source::entity_default, erased.id, {});
  if (limits_.contains(key)) return;
  limits_[key] = LimitsRecordRef(next_record(record(key), {}, next_stamp()).get());
}

Result<store::Changed> Draft::apply(const store::PlanPut& put) {
  const PlanRecordRef old = plan(put.name);
  auto next = base::make_ref<limits::PlanRecord>();
  next->from_file = put.from_file;
  Time stamp = 0;  // one for all sets: a change of a plan is one change
  const auto next_set = [&](const LimitsRecordRef& before, const store::PlanSet& set) {
    if (same(before, set)) return before;
    if (stamp == 0) stamp = next_stamp();
    auto record = next_record(before, set.limits, stamp);
    record->current.gap = set.inherit;
    return LimitsRecordRef(record.get());
  };
  next->limits = next_set(old ? old->limits : LimitsRecordRef(), put.on_all);
  if (old) {
    for (const auto& [resource, set] : old->resources) {
      if (!put.resources.contains(resource)) next->resources[resource] = next_set(set, {});
    }
  }
  for (const auto& [resource, set] : put.resources)
    next->resources[resource] = next_set(old ? old->on(resource) : LimitsRecordRef(), set);
  if (next->resources.size() > maxima::plan_resources) {
    return error(ErrorCode::conflict, "plan ", quoted(put.name), " would have limits for ",
                 std::to_string(next->resources.size()), " resources, removed ones included, and ",
                 std::to_string(maxima::plan_resources), " are allowed; use another plan for some of them");
  }
  const PlanRecordRef written(next.get());
  events_.push_back(store::plan_event(put.name, old, written));
  plans_[put.name] = written;
  return store::Changed{.plan = written};
}

Result<store::Changed> Draft::apply(const store::PlanErase& erase) {
  const PlanRecordRef old = plan(erase.name);
  if (!old) return no_plan(erase.name);
  std::size_t count = 0;
  std::string member;
  members_.visit(tenant_.members, erase.name, [&](const std::string& one) {
    if (member.empty()) member = one;
    ++count;
    return false;
  });
  if (count > 0) {
    return error(ErrorCode::conflict, "plan ", quoted(erase.name), " has ", std::to_string(count),
                 count == 1 ? " member, " : " members, such as ", quoted(member),
                 "; give them another plan first");
  }
  events_.push_back(store::plan_event(erase.name, old, {}));
  plans_[erase.name] = {};
  return store::Changed{};
}

}  // namespace weir::table
