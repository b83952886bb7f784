// The limiter's side of the catalog: validates arguments, and converts results to public types.
#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limiter/core.h"
#include "limits/access.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using base::invalid;
using base::quoted;
using store::wait_for;

constexpr std::size_t longest_page = maxima::page;

StoredLimits stored(const Level& level, const limits::LimitsRecord& record) {
  StoredLimits out{.level = level, .limits = record.current.limits->limits(), .owner = record.owner};
  if (record.expires_at != limits::never) out.expires_at = record.expires_at;
  out.version = record.current.stamp;
  out.bucket_ttl_refill_multiplier = record.bucket_ttl_refill_multiplier;
  out.on_unavailable = record.on_unavailable;
  out.usage = record.usage;
  out.from_file = record.from_file;
  out.inherit = record.inherits();
  return out;
}

Result<void> check_options(const Level& level, const SetLimitsOptions& options) {
  const bool entity_level = level.kind() == Source::entity || level.kind() == Source::entity_default;
  if (options.owner == Owner::sync && !entity_level)
    return invalid("only an entity's limits can be owned by sync");
  const bool expires = options.expires_in || options.expires_at;
  if (options.owner == Owner::sync && !expires) return invalid("limits owned by sync need an expiry");
  if (options.expires_in && options.expires_at)
    return invalid("expires_in and expires_at exclude each other; use one of them");
  if (options.owner == Owner::operator_ && expires) {
    return invalid("an operator's limits do not expire; leave the expiry out, or write them as sync");
  }
  if (options.expires_in && options.expires_in->count() < 1)
    return invalid("the expiry must be in the future");
  if (options.on_unavailable && level.kind() != Source::system)
    return invalid("on_unavailable belongs to the system's limits");
  if (options.usage && level.kind() != Source::system && level.kind() != Source::resource)
    return invalid("usage belongs to the limits of a resource or of the system");
  if (options.inherit && level.kind() == Source::system)
    return invalid("the system's limits cannot inherit: there is no stored level below them");
  if (!options.bucket_ttl_refill_multiplier) return {};
  if (level.kind() != Source::system)
    return invalid("bucket_ttl_refill_multiplier belongs to the system's limits");
  if (*options.bucket_ttl_refill_multiplier < 1)
    return invalid("bucket_ttl_refill_multiplier must be at least 1");
  return {};
}

Result<store::Change> checked(const SetLimits& set) {
  if (auto level = limits::check_level(set.level); !level) return level.error();
  if (auto options = check_options(set.level, set.options); !options) return options.error();
  auto limits = limits::make_limit_set(set.limits);
  if (!limits) return limits.error();
  store::LimitsWrite write{.level = set.level, .limits = *limits, .owner = set.options.owner};
  if (set.options.expires_in) write.expires_in = set.options.expires_in->count();
  write.expires_at = set.options.expires_at;
  write.replaces = set.options.replaces;
  write.bucket_ttl_refill_multiplier = set.options.bucket_ttl_refill_multiplier;
  write.on_unavailable = set.options.on_unavailable;
  write.usage = set.options.usage;
  write.from_file = set.options.from_file;
  write.inherit = set.options.inherit;
  return store::Change(std::move(write));
}

Result<store::Change> checked(const DeleteLimits& erase) {
  if (auto level = limits::check_level(erase.level); !level) return level.error();
  return store::Change(store::LimitsWrite{.level = erase.level});
}

Result<store::Change> checked(const PutEntity& put) {
  if (auto checked = limits::check_entity_record(put.entity); !checked) return checked.error();
  return store::Change(store::EntityPut{put.entity});
}

Result<store::Change> checked(const DeleteEntity& erase) {
  if (auto id = limits::check_entity(erase.id); !id) return id.error();
  return store::Change(store::EntityErase{erase.id});
}

/// Requires checked limits.
store::PlanSet set_of(const PlanLimits& set) {
  return {set.limits.empty() ? limits::LimitSetRef() : *limits::make_limit_set(set.limits), set.inherit};
}

Result<store::Change> checked(const PutPlan& put) {
  const LimitsPlan& plan = put.plan;
  if (auto checked = limits::check_plan_record(plan); !checked) return checked.error();
  store::PlanPut write{.name = plan.name, .on_all = set_of(plan.limits), .from_file = plan.from_file};
  for (const auto& [resource, limits] : plan.resources) write.resources.emplace(resource, set_of(limits));
  return store::Change(std::move(write));
}

Result<store::Change> checked(const DeletePlan& erase) {
  if (auto name = limits::check_plan(erase.name); !name) return name.error();
  return store::Change(store::PlanErase{erase.name});
}

Result<store::Change> checked(const SetAccess& set) {
  if (auto id = limits::check_entity(set.entity); !id) return id.error();
  if (auto rule = limits::check_access(set.rule); !rule) return rule.error();
  return store::Change(store::AccessWrite{.entity = set.entity, .rule = set.rule});
}

Result<store::Change> checked(const RemoveAccess& remove) {
  if (auto id = limits::check_entity(remove.entity); !id) return id.error();
  if (!remove.resource.empty()) {
    if (auto resource = limits::check_resource(remove.resource); !resource) return resource.error();
  }
  return store::Change(store::AccessWrite{.entity = remove.entity,
                                          .rule = {.access = remove.access, .resource = remove.resource},
                                          .removes = true});
}

PlanLimits limits_of(const limits::LimitsRecord& set) {
  return {.limits = set.current.limits->limits(), .inherit = set.inherits()};
}

LimitsPlan plan_of(std::string_view name, const limits::PlanRecord& record) {
  LimitsPlan plan{.name = std::string(name), .from_file = record.from_file};
  if (record.limits && record.limits->current.limits) plan.limits = limits_of(*record.limits);
  for (const auto& [resource, set] : record.resources) {
    if (set->current.limits) plan.resources.emplace(resource, limits_of(*set));
  }
  return plan;
}

Result<EffectiveLimits> effective(const limits::Resolution& found, std::string_view entity,
                                  std::string_view resource) {
  if (auto fits = limits::check_inherited(found); !fits) return fits.error();
  if (!found.limits) {
    return base::error(ErrorCode::no_limits, "no limits are set for entity ", quoted(entity), " on resource ",
                       quoted(resource));
  }
  EffectiveLimits effective{found.limits->limits(), found.source, found.owner};
  for (std::size_t i = 0; i < found.limits->size(); ++i)
    effective.sources.push_back(found.limits->source(i).value_or(found.source));
  return effective;
}

/// "change 2: ", where there are several.
std::string numbered(std::size_t index, std::size_t count) {
  return count == 1 ? std::string() : base::join("change ", std::to_string(index + 1), ": ");
}

}  // namespace

Result<void> Core::check_paging(const Paging& paging) {
  if (paging.limit >= 1 && paging.limit <= longest_page) return {};
  return invalid("a page holds 1 to ", std::to_string(longest_page), " items");
}

Result<std::vector<store::Changed>> Core::write_in(std::string_view name_space,
                                                   std::span<const store::Change> changes,
                                                   const ChangeOptions& options) {
  auto changed = wait_for<std::vector<store::Changed>>([&](auto done) {
    store_.catalog().change({name_space, principal_, changes, options, shared_.ttl_multiplier()}, done);
  });
  const auto is_note = [](const store::Change& one) { return std::holds_alternative<store::AuditNote>(one); };
  // A change of the system, of a plan or of an ancestor may concern any request of the namespace that waits.
  if (changed && !std::all_of(changes.begin(), changes.end(), is_note)) waiting().nudge(name_space);
  return changed;
}

Result<void> Core::change(std::span<const CatalogChange> changes, const ChangeOptions& options) {
  auto taken = change_counted(changes, options);
  if (!taken) return taken.error();
  return {};
}

Result<std::size_t> Core::change_counted(std::span<const CatalogChange> changes,
                                         const ChangeOptions& options) {
  std::vector<store::Change> writes;
  writes.reserve(changes.size());
  for (const CatalogChange& change : changes) {
    auto one = std::visit([](const auto& step) { return checked(step); }, change);
    if (!one) return Error{one.error().code, numbered(writes.size(), changes.size()) + one.error().message};
    writes.push_back(*std::move(one));
  }
  auto changed = write(writes, options);
  if (!changed) return changed.error();
  const auto taken = [](const store::Changed& one) { return one.taken_from_sync; };
  return static_cast<std::size_t>(std::count_if(changed->begin(), changed->end(), taken));
}

Result<StoredLimits> Core::set_limits(const Level& level, std::span<const NamedLimit> limits,
                                      const SetLimitsOptions& options) {
  const SetLimits one{level, {limits.begin(), limits.end()}, options};
  auto all = set_limits(std::span(&one, 1));
  if (!all) return all.error();
  return std::move(all->front());
}

Result<std::vector<StoredLimits>> Core::set_limits(std::span<const SetLimits> levels) {
  std::vector<store::Change> writes;
  writes.reserve(levels.size());
  for (const SetLimits& set : levels) {
    auto one = checked(set);
    if (!one) return Error{one.error().code, numbered(writes.size(), levels.size()) + one.error().message};
    writes.push_back(*std::move(one));
  }
  auto changed = write(writes);
  if (!changed) return changed.error();
  std::vector<StoredLimits> out;
  out.reserve(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    StoredLimits& one = out.emplace_back(stored(levels[i].level, *(*changed)[i].limits));
    one.taken_from_sync = (*changed)[i].taken_from_sync;
  }
  return out;
}

Result<StoredLimits> Core::limits(const Level& level) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  auto record = wait_for<limits::LimitsRecordRef>(
      [&](auto done) { store_.catalog().limits(name_space_, level, done); });
  if (!record) return record.error();
  return stored(level, **record);
}

Result<void> Core::delete_limits(const Level& level) {
  const CatalogChange change = DeleteLimits{level};
  return this->change(std::span(&change, 1));
}

Result<EffectiveLimits> Core::effective_limits(std::string_view entity, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  if (auto checked = limits::check_resource(resource); !checked) return checked.error();
  auto resolution = resolve(entity, resource, {});
  if (!resolution) return resolution.error();
  return effective(**resolution, entity, resource);
}

Result<EffectiveLimits> Core::limits_below(std::string_view entity, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  if (auto checked = limits::check_resource(resource); !checked) return checked.error();
  auto found =
      wait_for<store::Found>([&](auto done) { store_.catalog().find(name_space_, entity, resource, done); });
  if (!found) return found.error();
  found->levels.at(Source::entity) = {};
  return effective(*limits::resolve(found->levels, {}, found->now, limits::default_ttl_multiplier), entity,
                   resource);
}

Result<Page<StoredLimits>> Core::list_limits(const LimitsFilter& filter, const Paging& paging) {
  if (auto checked = check_paging(paging); !checked) return checked.error();
  auto found = wait_for<Page<store::StoredLimitsItem>>(
      [&](auto done) { store_.catalog().list_limits(name_space_, filter, paging, done); });
  if (!found) return found.error();
  Page<StoredLimits> page{.items = {}, .next = std::move(found->next)};
  for (const store::StoredLimitsItem& item : found->items)
    page.items.push_back(stored(item.level, *item.record));
  return page;
}

Result<Entity> Core::put_entity(const Entity& entity) {
  auto one = checked(PutEntity{entity});
  if (!one) return one.error();
  auto changed = write(std::span(&*one, 1));
  if (!changed) return changed.error();
  return *std::move(changed->front().entity);
}

Result<Entity> Core::entity(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  return wait_for<Entity>([&](auto done) { store_.catalog().entity(name_space_, id, done); });
}

Result<void> Core::delete_entity(std::string_view id) {
  const CatalogChange change = DeleteEntity{std::string(id)};
  return this->change(std::span(&change, 1));
}

Result<Entity> Core::set_access(std::string_view entity, const AccessRule& rule) {
  auto one = checked(SetAccess{std::string(entity), rule});
  if (!one) return one.error();
  auto changed = write(std::span(&*one, 1));
  if (!changed) return changed.error();
  return *std::move(changed->front().entity);
}

Result<void> Core::remove_access(std::string_view entity, Access access, std::string_view resource) {
  const CatalogChange change = RemoveAccess{std::string(entity), access, std::string(resource)};
  return this->change(std::span(&change, 1));
}

Result<Page<std::string>> Core::children(std::string_view id, const Paging& paging) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  if (auto checked = check_paging(paging); !checked) return checked.error();
  return wait_for<Page<std::string>>(
      [&](auto done) { store_.catalog().children(name_space_, id, paging, done); });
}

Result<Page<Entity>> Core::entities(const Paging& paging) {
  if (auto checked = check_paging(paging); !checked) return checked.error();
  return wait_for<Page<Entity>>([&](auto done) { store_.catalog().entities(name_space_, paging, done); });
}

Result<LimitsPlan> Core::put_plan(const LimitsPlan& plan) {
  auto one = checked(PutPlan{plan});
  if (!one) return one.error();
  auto changed = write(std::span(&*one, 1));
  if (!changed) return changed.error();
  return plan_of(plan.name, *changed->front().plan);
}

Result<LimitsPlan> Core::plan(std::string_view name) {
  if (auto checked = limits::check_plan(name); !checked) return checked.error();
  auto record =
      wait_for<limits::PlanRecordRef>([&](auto done) { store_.catalog().plan(name_space_, name, done); });
  if (!record) return record.error();
  return plan_of(name, **record);
}

Result<void> Core::delete_plan(std::string_view name) {
  const CatalogChange change = DeletePlan{std::string(name)};
  return this->change(std::span(&change, 1));
}

Result<Page<LimitsPlan>> Core::plans(const Paging& paging) {
  if (auto checked = check_paging(paging); !checked) return checked.error();
  auto found = wait_for<Page<store::StoredPlan>>(
      [&](auto done) { store_.catalog().plans(name_space_, paging, done); });
  if (!found) return found.error();
  Page<LimitsPlan> page{.items = {}, .next = std::move(found->next)};
  for (const store::StoredPlan& item : found->items) page.items.push_back(plan_of(item.name, *item.record));
  return page;
}

Result<Page<std::string>> Core::members(std::string_view plan, const Paging& paging) {
  if (auto checked = limits::check_plan(plan); !checked) return checked.error();
  if (auto checked = check_paging(paging); !checked) return checked.error();
  return wait_for<Page<std::string>>(
      [&](auto done) { store_.catalog().members(name_space_, plan, paging, done); });
}

Result<Page<Bucket>> Core::buckets(std::string_view entity, const Paging& paging) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  if (auto checked = check_paging(paging); !checked) return checked.error();
  auto page =
      wait_for<Page<Bucket>>([&](auto done) { store_.buckets().list(name_space_, entity, paging, done); });
  if (!page) return page;
  for (Bucket& bucket : page->items) {
    auto resolution = resolve(entity, bucket.resource, {});
    if (!resolution) return resolution.error();
    const limits::LimitSet* const set = (*resolution)->limits.get();
    // Without stored limits those of the last request are in force, and the bucket has them already.
    for (BucketLimit& limit : bucket.limits) {
      if (set != nullptr) limit.in_force = set->find(limit.name) >= 0;
    }
  }
  return page;
}

Result<Page<AuditEvent>> Core::audit(std::string_view subject, const Paging& paging) {
  if (auto checked = check_paging(paging); !checked) return checked.error();
  return wait_for<Page<AuditEvent>>(
      [&](auto done) { store_.catalog().audit(name_space_, subject, paging, done); });
}

}  // namespace weir::limiter
