#include "store/remote/catalog_change.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "limits/names.h"

namespace weir::remote {

Result<std::vector<store::Changed>> CatalogChange::run() {
  for (attempts_ = 0; attempts_ < most_attempts; ++attempts_) {
    auto changed = attempt();
    const bool starts_over = changed && !*changed;
    unfence(starts_over);
    if (starts_over) continue;
    if (!changed) return changed.error();
    tell(2 * changes_.changes.size());
    return **std::move(changed);
  }
  unfence(false);
  return base::error(ErrorCode::contention,
                     "others changed limits or entities too often meanwhile; try again");
}

Result<std::optional<std::vector<store::Changed>>> CatalogChange::attempt() {
  const std::optional<std::vector<store::Changed>> start_over;
  tenant_ = {};
  levels_read_.clear();
  entities_read_.clear();
  plans_read_.clear();
  damaged_.clear();
  not_members_.clear();
  auto begun = begin();
  if (!begun) return begun.error();
  if (!*begun) return start_over;
  if (auto read = read_concerned(); !read) return read.error();
  std::optional<table::Draft> draft(std::in_place, tenant_, now_, head_.stamp);
  auto changed = draft_all(*draft);
  if (!changed) return changed.error();
  if (auto fenced = fence(*draft); !fenced) return fenced.error();
  if (auto may = check_moved(*draft); !may) return may.error();
  if (auto read = read_buckets(*draft); !read) return read.error();
  if (const Time later = stamp_at(); later != now_) {
    now_ = later;
    draft.emplace(tenant_, now_, head_.stamp);
    changed = draft_all(*draft);
    if (!changed) return changed.error();
  }
  auto done = commit(
      *draft, draft->sign(changes_.principal, head_.audited_to, static_cast<std::uint64_t>(head_.sequence)));
  if (!done) return done.error();
  return *done ? std::optional(*std::move(changed)) : start_over;
}

/// Reports the progress of a change once, even if it is drafted twice.
void CatalogChange::tell(std::size_t done) {
  if (done < told_) return;
  told_ = done;
  if (changes_.options.progress) changes_.options.progress(done, 2 * changes_.changes.size());
}

Result<std::vector<store::Changed>> CatalogChange::draft_all(table::Draft& draft) {
  return draft.add_all(changes_.changes, [this](std::size_t done) {
    if (attempts_ == 0) tell(done);
  });
}

Result<void> CatalogChange::check_moved(const table::Draft& draft) {
  for (const std::string& id : draft.moved()) {
    auto has = has_bucket(id);
    if (!has) return has.error();
    if (*has) return table::has_buckets(id);
  }
  return {};
}

Result<void> CatalogChange::read_concerned() {
  std::set<std::string> levels;
  std::set<std::string> entities;
  std::set<std::string> erased;
  for (const store::Change& change : changes_.changes) {
    if (const auto* write = std::get_if<store::LimitsWrite>(&change)) {
      levels.insert(table::level_key(write->level));
    } else if (const auto* put = std::get_if<store::EntityPut>(&change)) {
      entities.insert(put->entity.id);
      if (!put->entity.parent.empty()) entities.insert(put->entity.parent);
    } else if (const auto* erase = std::get_if<store::EntityErase>(&change)) {
      erased.insert(erase->id);
    } else if (const auto* access = std::get_if<store::AccessWrite>(&change)) {
      entities.insert(access->entity);
    } else if (std::holds_alternative<store::NamespaceWrite>(change)) {
      levels.insert(table::level_key(Level::system()));
    }
  }
  entities.insert(erased.begin(), erased.end());
  for (const std::string& id : erased) {
    // The key of an entity's default level is a prefix of the keys of its resources.
    auto keys = list_all({.begins_with = table::level_key(Source::entity_default, id, {})});
    if (!keys) return keys.error();
    levels.insert(keys->begin(), keys->end());
  }
  if (auto read = read_levels(levels); !read) return read;
  if (auto read = read_entities(entities); !read) return read;
  if (auto found = find_plans_of_damaged(); !found) return found;
  if (auto read = read_ancestors(); !read) return read;
  if (auto read = read_concerned_plans(); !read) return read;
  std::set<std::string> moving;
  for (const store::Change& change : changes_.changes) {
    const auto* const put = std::get_if<store::EntityPut>(&change);
    if (put != nullptr && put->entity.parent != parent_before(put->entity.id)) moving.insert(put->entity.id);
  }
  if (auto read = read_children(moving, true); !read) return read;
  return read_children(erased, false);
}

/// The record of an entity cannot tell its plan, but the lists of members can. A change that replaces the
/// record must also remove the entity from that list. The plan has no stamp, so that it counts as new if it
/// is assigned again.
Result<void> CatalogChange::find_plans_of_damaged() {
  if (damaged_.empty()) return {};
  auto plans = list_all({.of = Listing::Of::plans});
  if (!plans) return plans.error();
  for (const std::string& id : damaged_) {
    for (const std::string& plan : *plans) {
      auto listed = is_listed(plan, id);
      if (!listed) return listed.error();
      if (*listed) tenant_.entities[id].plan = plan;
    }
  }
  return {};
}

Result<bool> CatalogChange::is_listed(const std::string& plan, const std::string& entity) {
  auto page = catalog_.list(name_space_, {.of = Listing::Of::members, .owner = plan, .begins_with = entity},
                            {.cursor = {}, .limit = 1});
  if (!page) return page.error();
  // Of the names that begin with its name, the entity itself is the first.
  return !page->items.empty() && page->items.front() == entity;
}

/// The plans that are put or deleted, those that entities name, and those that they leave.
Result<void> CatalogChange::read_concerned_plans() {
  std::set<std::string> names;
  for (const store::Change& change : changes_.changes) {
    if (const auto* const put = std::get_if<store::PlanPut>(&change)) {
      names.insert(put->name);
    } else if (const auto* const entity = std::get_if<store::EntityPut>(&change)) {
      names.insert(entity->entity.plan);
      names.insert(plan_before(entity->entity.id));
    } else if (const auto* const erase = std::get_if<store::PlanErase>(&change)) {
      names.insert(erase->name);
      if (auto read = read_members(erase->name); !read) return read;
    }
  }
  return read_plans(names);
}

/// An entity whose record cannot be used counts as a member until a put replaces it.
Result<void> CatalogChange::read_members(const std::string& plan) {
  auto listed = list_all({.of = Listing::Of::members, .owner = plan});
  if (!listed) return listed.error();
  if (auto read = read_entities({listed->begin(), listed->end()}); !read) return read;
  for (const std::string& id : *listed) {
    const bool is_member = plan_before(id) == plan || damaged_.contains(id);
    (is_member ? tenant_.members : not_members_)[plan].insert(id);
  }
  return {};
}

Result<void> CatalogChange::read_plans(const std::set<std::string>& names) {
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    if (!name.empty() && plans_read_.insert(name).second) wanted.insert(name);
  }
  if (wanted.empty()) return {};
  auto found = catalog_.plans_by_name(name_space_, wanted);
  if (!found) return found.error();
  for (auto& [name, plan] : *found) tenant_.plans[name] = std::move(plan);
  return {};
}

Result<std::vector<std::string>> CatalogChange::list_all(const Listing& listing) {
  auto page = catalog_.list(name_space_, listing, {.cursor = {}, .limit = std::size_t{1} << 40U});
  if (!page) return page.error();
  std::erase_if(page->items, [&](const std::string& name) {
    return listing.of == Listing::Of::limits ? !table::is_level_key(name) : !limits::check_entity(name);
  });
  return std::move(page->items);
}

Result<void> CatalogChange::read_levels(const std::set<std::string>& keys) {
  std::set<std::string> wanted;
  for (const std::string& key : keys) {
    if (levels_read_.insert(key).second) wanted.insert(key);
  }
  auto found = catalog_.limits_by_key(name_space_, wanted);
  if (!found) return found.error();
  tenant_.limits.merge(*found);
  return {};
}

Result<void> CatalogChange::read_levels_of(const ResourcesOfEntities& resources) {
  std::set<std::string> keys;
  std::set<std::string> entities;
  for (const auto& [entity, names] : resources) {
    for (const std::string& resource : names) {
      if (!limits::check_resource(resource)) continue;
      for (const Source level : limits::recorded_levels)
        keys.insert(table::level_key(level, entity, resource));
      entities.insert(entity);
    }
  }
  if (keys.empty()) return {};
  if (auto read = read_levels(keys); !read) return read;
  if (auto read = read_entities(entities); !read) return read;
  std::set<std::string> plans;
  for (const std::string& entity : entities) plans.insert(plan_before(entity));
  return read_plans(plans);
}

Result<void> CatalogChange::read_entities(const std::set<std::string>& ids) {
  std::set<std::string> wanted;
  for (const std::string& id : ids) {
    if (entities_read_.insert(id).second) wanted.insert(id);
  }
  auto found = catalog_.entities_by_id(name_space_, wanted);
  if (!found) return found.error();
  for (auto& [id, entity] : *found) {
    // The change replaces a record that cannot be used, or ends the chain there.
    if (!entity) {
      damaged_.insert(id);
      tenant_.bad_entities[id] = entity.error().message;
    }
    tenant_.entities[id] = entity ? *std::move(entity) : Entity{.id = id};
  }
  return {};
}

Result<void> CatalogChange::read_ancestors() {
  for (std::size_t i = 0; i <= limits::max_chain; ++i) {
    std::set<std::string> above;
    for (const auto& [id, entity] : tenant_.entities) {
      if (!entity.parent.empty() && !entities_read_.contains(entity.parent)) above.insert(entity.parent);
    }
    if (above.empty()) break;
    if (auto read = read_entities(above); !read) return read;
  }
  return {};
}

Result<void> CatalogChange::read_children(const std::set<std::string>& of, bool all_below) {
  std::set<std::string> next;
  for (const std::string& id : of) {
    if (tenant_.children.contains(id)) continue;
    auto children = list_all({.of = Listing::Of::children, .owner = id});
    if (!children) return children.error();
    next.insert(children->begin(), children->end());
    tenant_.children[id] = {children->begin(), children->end()};
  }
  return all_below && !next.empty() ? read_children(next, true) : Result<void>();
}

limits::ResolutionRef CatalogChange::resolve(const table::Draft& draft, std::string_view entity,
                                             std::string_view resource, Time at) const {
  return limits::ResolutionRef(draft.resolve_adopted(entity, resource, at, changes_.ttl_multiplier).get());
}

std::map<std::string, std::map<std::string, Time>> CatalogChange::new_stamps(const table::Draft& draft) {
  std::map<std::string, std::map<std::string, Time>> stamps;
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (level.entity().empty() || draft.erased().contains(level.entity())) continue;
    Time& stamp = stamps[level.entity()][level.resource()];
    stamp = std::max(stamp, record->current.stamp);
  }
  for (const std::string& id : draft.reassigned()) {
    Time& stamp = stamps[id][""];
    stamp = std::max(stamp, draft.entity(id)->plan_stamp);
  }
  return stamps;
}

std::string CatalogChange::parent_before(const std::string& entity) const {
  const auto found = tenant_.entities.find(entity);
  return found == tenant_.entities.end() ? std::string() : found->second.parent;
}

std::string CatalogChange::plan_before(const std::string& entity) const {
  const auto found = tenant_.entities.find(entity);
  return found == tenant_.entities.end() ? std::string() : found->second.plan;
}

}  // namespace weir::remote
