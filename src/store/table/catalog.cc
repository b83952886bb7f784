#include "store/table/catalog.h"

#include <algorithm>

#include "base/text.h"
#include "limits/names.h"

namespace weir::table {
namespace {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;

// No name has a space in it.
std::string entity_key(std::string_view entity) { return base::join("e ", entity, " "); }

std::string level_key(Source kind, std::string_view entity, std::string_view resource) {
  switch (kind) {
    case Source::entity:
      return entity_key(entity) + std::string(resource);
    case Source::entity_default:
      return entity_key(entity);
    case Source::resource:
      return base::join("r ", resource);
    default:
      return "s";
  }
}

Error not_found(const char* what, std::string_view name) {
  return error(ErrorCode::not_found, what, " ", quoted(name), " does not exist");
}

std::string described(const Level& level) {
  switch (level.kind()) {
    case Source::entity:
      return base::join("entity ", quoted(level.entity()), " on resource ", quoted(level.resource()));
    case Source::entity_default:
      return base::join("entity ", quoted(level.entity()));
    case Source::resource:
      return base::join("resource ", quoted(level.resource()));
    default:
      return "the system";
  }
}

/// How many levels of entities hang below this one, itself included; stops counting past the most allowed.
template <class Children>
std::size_t height(const Children& children, std::string_view id, std::size_t enough) {
  std::size_t below = 0;
  const auto found = children.find(id);
  if (enough > 0 && found != children.end()) {
    for (const std::string& child : found->second)
      below = std::max(below, height(children, child, enough - 1));
  }
  return below + 1;
}

}  // namespace

Catalog::Tenant& Catalog::tenant(std::string_view name_space) {
  const auto found = tenants_.find(name_space);
  return found != tenants_.end() ? found->second : tenants_[std::string(name_space)];
}

Time Catalog::next_stamp(Time now) { return last_stamp_ = std::max(now, last_stamp_ + 1); }

void Catalog::write(const store::LimitsWrite& write, store::Completion<LimitsRecordRef> done) {
  done(write_limits(write));
}

Result<LimitsRecordRef> Catalog::write_limits(const store::LimitsWrite& write) {
  const Time now = clock_.now();
  const store::Guard guard(mutex_);
  auto& records = tenant(write.name_space).limits;
  const std::string key = level_key(write.level.kind(), write.level.entity(), write.level.resource());
  const LimitsRecordRef old = records.contains(key) ? records[key] : LimitsRecordRef();
  const bool absent = !old || old->absent(now);
  if (!write.limits && absent)
    return error(ErrorCode::not_found, "no limits are set for ", described(write.level));
  if (write.owner == Owner::sync && !absent && old->owner == Owner::operator_) {
    return error(ErrorCode::operator_owned, "an operator owns the limits of ", described(write.level),
                 "; they must be deleted before sync can write them");
  }
  auto record = limits::next_record(old, write.limits, next_stamp(now), now);
  // A record can outlive its own expiry, whose moment then is a version too; stamps go on after it.
  last_stamp_ = record->current.stamp;
  record->owner = write.owner;
  record->expires_at = write.expires_in ? base::saturating_add(now, *write.expires_in) : limits::never;
  if (write.bucket_ttl_refill_multiplier)
    record->bucket_ttl_refill_multiplier = write.bucket_ttl_refill_multiplier;
  const LimitsRecordRef written(record.get());
  records[key] = written;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return written;
}

void Catalog::read(std::string_view name_space, const Level& level, store::Completion<LimitsRecordRef> done) {
  const Time now = clock_.now();
  LimitsRecordRef record;
  {
    const store::Guard guard(mutex_);
    const auto& records = tenant(name_space).limits;
    const auto found = records.find(level_key(level.kind(), level.entity(), level.resource()));
    if (found != records.end()) record = found->second;
  }
  if (!record || record->absent(now))
    return done(error(ErrorCode::not_found, "no limits are set for ", described(level)));
  done(record);
}

void Catalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                   store::Completion<store::Found> done) {
  store::Found found;
  found.now = clock_.now();
  {
    const store::Guard guard(mutex_);
    const Tenant& in = tenant(name_space);
    for (std::size_t i = 0; i < found.levels.size(); ++i) {
      const auto at = in.limits.find(level_key(static_cast<Source>(i), entity, resource));
      if (at != in.limits.end()) found.levels[i] = at->second;
    }
    const auto at = in.entities.find(entity);
    if (at != in.entities.end() && at->second.cascade) found.parent = at->second.parent;
    found.generation = generation_.load(std::memory_order_acquire);
  }
  done(std::move(found));
}

/// Refuses a parent that would close a circle or make a chain too long.
Result<void> Catalog::check_chain(const Tenant& in, const Entity& entity) const {
  std::size_t length = height(in.children, entity.id, limits::max_chain);
  std::string_view at = entity.parent;
  while (!at.empty()) {
    if (at == entity.id) {
      return error(ErrorCode::conflict, "entity ", quoted(entity.id), " cannot have ", quoted(entity.parent),
                   " as its parent: it would become its own ancestor");
    }
    if (++length > limits::max_chain) break;
    const auto found = in.entities.find(at);
    at = found == in.entities.end() ? std::string_view() : std::string_view(found->second.parent);
  }
  if (length <= limits::max_chain) return {};
  return error(ErrorCode::conflict, "entity ", quoted(entity.id), " under ", quoted(entity.parent),
               " would make a chain of more than ", std::to_string(limits::max_chain),
               " entities; choose a parent nearer to the top");
}

void Catalog::put(std::string_view name_space, const Entity& entity, store::Completion<Entity> done) {
  done(put_entity(name_space, entity));
}

Result<Entity> Catalog::put_entity(std::string_view name_space, const Entity& entity) {
  const Time now = clock_.now();
  const store::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  const auto old = in.entities.find(entity.id);
  const Entity before = old == in.entities.end() ? Entity{.id = entity.id} : old->second;
  const bool moves = entity.parent != before.parent || entity.cascade != before.cascade;
  Entity next = entity;
  next.created_at = old == in.entities.end() ? now : before.created_at;
  if (auto checked = check_chain(in, entity); !checked) return checked.error();

  bool refused = false;
  table_->with_entity_still(name_space, entity.id, [&](bool has_bucket) {
    refused = moves && has_bucket;
    // Moved while the entity is held still: a bucket made from here on is made under the new parent.
    if (moves && !refused) generation_.fetch_add(1, std::memory_order_acq_rel);
    return false;
  });
  if (refused) {
    return error(
        ErrorCode::conflict, "entity ", quoted(entity.id),
        " has buckets, so its parent and cascade cannot change; delete it first, or wait until they expire");
  }
  if (moves && !before.parent.empty()) in.children[before.parent].erase(entity.id);
  if (!next.parent.empty()) in.children[next.parent].insert(entity.id);
  in.entities[entity.id] = next;
  return next;
}

void Catalog::get(std::string_view name_space, std::string_view id, store::Completion<Entity> done) {
  std::optional<Entity> entity;
  {
    const store::Guard guard(mutex_);
    const auto& entities = tenant(name_space).entities;
    const auto found = entities.find(id);
    if (found != entities.end()) entity = found->second;
  }
  if (!entity) return done(not_found("entity", id));
  done(*std::move(entity));
}

void Catalog::erase(std::string_view name_space, std::string_view id, store::Completion<bool> done) {
  done(erase_entity(name_space, id));
}

Result<bool> Catalog::erase_entity(std::string_view name_space, std::string_view id) {
  const Time now = clock_.now();
  const store::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  const auto found = in.entities.find(id);
  if (found == in.entities.end()) return not_found("entity", id);
  const auto below = in.children.find(id);
  if (below != in.children.end() && !below->second.empty()) {
    return error(ErrorCode::conflict, "entity ", quoted(id), " has children, such as ",
                 quoted(*below->second.begin()), "; delete them first");
  }
  if (!found->second.parent.empty()) in.children[found->second.parent].erase(std::string(id));
  in.entities.erase(found);
  const std::string prefix = entity_key(id);
  for (auto at = in.limits.lower_bound(prefix); at != in.limits.end() && at->first.starts_with(prefix);
       ++at) {
    if (!at->second->absent(now))
      at->second = LimitsRecordRef(limits::next_record(at->second, {}, next_stamp(now), now).get());
  }
  table_->with_entity_still(name_space, id, [&](bool) {
    generation_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  });
  return true;
}

void Catalog::children(std::string_view name_space, std::string_view id,
                       store::Completion<std::vector<std::string>> done) {
  std::vector<std::string> list;
  {
    const store::Guard guard(mutex_);
    const auto& children = tenant(name_space).children;
    const auto found = children.find(id);
    if (found != children.end()) list.assign(found->second.begin(), found->second.end());
  }
  done(std::move(list));
}

}  // namespace weir::table
