#include "store/table/draft.h"

#include <algorithm>

#include "base/text.h"
#include "limits/names.h"
#include "store/audit.h"

namespace weir::table {
namespace {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;

// No name has a space in it.
std::string entity_prefix(std::string_view entity) { return base::join("e ", entity, " "); }

/// A rule of the entity that has not ended; null: it has none.
const AccessRule* active_rule(const Entity& entity, Time now) {
  for (const AccessRule& rule : entity.access) {
    if (!rule.until || *rule.until > now) return &rule;
  }
  return nullptr;
}

}  // namespace

std::string level_key(Source kind, std::string_view entity, std::string_view resource) {
  switch (kind) {
    case Source::entity:
      return entity_prefix(entity) + std::string(resource);
    case Source::entity_default:
      return entity_prefix(entity);
    case Source::resource:
      return base::join("r ", resource);
    default:
      return "s";
  }
}

Level level_of(std::string_view key) {
  if (key == "s") return Level::system();
  if (key.starts_with("r ")) return Level::resource(key.substr(2));
  const std::size_t space = key.find(' ', 2);
  const std::string_view entity = key.substr(2, space - 2);
  const std::string_view resource = key.substr(space + 1);
  return resource.empty() ? Level::entity_default(entity) : Level::entity(entity, resource);
}

bool is_level_key(std::string_view key) {
  if (key == "s") return true;
  if (key.starts_with("r ")) return bool(limits::check_resource(key.substr(2)));
  const std::size_t space = key.starts_with("e ") ? key.find(' ', 2) : std::string_view::npos;
  if (space == std::string_view::npos || !limits::check_entity(key.substr(2, space - 2))) return false;
  const std::string_view resource = key.substr(space + 1);
  return resource.empty() || limits::check_resource(resource);
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

Error has_buckets(std::string_view entity) {
  return error(ErrorCode::conflict, "entity ", quoted(entity),
               " has buckets, so its parent and cascade cannot change; delete it first, or wait until they "
               "expire");
}

Result<store::Changed> Draft::add(const store::Change& change) {
  return std::visit([this](const auto& one) { return apply(one); }, change);
}

Result<std::vector<store::Changed>> Draft::add_all(std::span<const store::Change> changes,
                                                   const std::function<void(std::size_t done)>& tell) {
  constexpr std::size_t now_and_then = 1000;
  std::vector<store::Changed> changed;
  changed.reserve(changes.size());
  for (const store::Change& change : changes) {
    auto one = add(change);
    if (changed.size() % now_and_then == 0) tell(changed.size());
    if (!one) {
      const std::string which = changes.size() > 1
                                    ? base::join("change ", std::to_string(changed.size() + 1), ": ")
                                    : std::string();
      return Error{one.error().code, which + one.error().message};
    }
    changed.push_back(*std::move(one));
  }
  return changed;
}

std::vector<store::AuditEvent> Draft::sign(std::string_view principal, Time audited_to,
                                           std::uint64_t sequence) const {
  std::vector<store::AuditEvent> events = events_;
  for (store::AuditEvent& event : events) {
    // Ids sort by time even if the clock goes back.
    event.id = store::audit_id(std::max(audited_to, now_), ++sequence);
    event.at = now_;
    event.principal = principal;
  }
  return events;
}

LimitsRecordRef Draft::record(const std::string& key) const {
  if (const auto found = limits_.find(key); found != limits_.end()) return found->second;
  const auto found = tenant_.limits.find(key);
  return found == tenant_.limits.end() ? LimitsRecordRef() : found->second;
}

const Entity* Draft::entity(std::string_view id) const {
  if (const auto found = entities_.find(std::string(id)); found != entities_.end()) {
    return found->second ? &*found->second : nullptr;
  }
  const auto found = tenant_.entities.find(id);
  return found == tenant_.entities.end() ? nullptr : &found->second;
}

std::vector<std::string> Draft::moved() const {
  std::vector<std::string> moved;
  for (const auto& [id, entity] : entities_) {
    // An entity that an earlier change erased starts anew, without buckets.
    if (!entity || erased_.contains(id)) continue;
    const auto before = tenant_.entities.find(id);
    const bool known = before != tenant_.entities.end();
    const std::string parent = known ? before->second.parent : std::string();
    if (entity->parent != parent || entity->cascade != (known && before->second.cascade)) moved.push_back(id);
  }
  return moved;
}

Result<store::Changed> Draft::apply(const store::LimitsWrite& limits_write) {
  const std::string key = level_key(limits_write.level);
  const LimitsRecordRef old = record(key);
  const bool absent = !old || !old->replaceable(now_);
  if (!limits_write.limits && absent) {
    return error(ErrorCode::not_found, "no limits are set for ", described(limits_write.level));
  }
  if (limits_write.owner == Owner::sync && !absent && old->owner == Owner::operator_) {
    return error(ErrorCode::operator_owned, "an operator owns the limits of ", described(limits_write.level),
                 "; they must be deleted before sync can write them");
  }
  if (limits_write.replaces && !absent && old->current.stamp != *limits_write.replaces) {
    return error(ErrorCode::conflict, "the limits of ", described(limits_write.level),
                 " have changed; read them again");
  }
  if (limits_write.expires_at && *limits_write.expires_at <= now_)
    return error(ErrorCode::invalid_argument, "the expiry must be in the future");
  const bool taken =
      !absent && old->owner == Owner::sync && limits_write.owner == Owner::operator_ && limits_write.limits;
  return store::Changed{.limits = write(key, old, limits_write), .taken_from_sync = taken};
}

Time Draft::next_stamp() {
  last_stamp_ = std::max(now_, std::min(last_stamp_ + 1, limits::latest_stamp));
  return last_stamp_;
}

base::Ref<limits::LimitsRecord> Draft::next_record(const LimitsRecordRef& old, limits::LimitSetRef limits,
                                                   Time stamp) {
  auto next = limits::next_record(old, std::move(limits), stamp, now_);
  // A replaced record may have expired, and its expiry is a version too; later stamps must follow it.
  last_stamp_ = std::max(last_stamp_, next->current.stamp);
  return next;
}

LimitsRecordRef Draft::write(const std::string& key, const LimitsRecordRef& old,
                             const store::LimitsWrite& limits_write) {
  auto next = next_record(old, limits_write.limits, next_stamp());
  next->owner = limits_write.owner;
  if (limits_write.expires_at) next->expires_at = limits::whole_seconds(*limits_write.expires_at);
  if (limits_write.expires_in)
    next->expires_at = limits::whole_seconds(base::saturating_add(now_, *limits_write.expires_in));
  if (limits_write.bucket_ttl_refill_multiplier) {
    next->bucket_ttl_refill_multiplier = limits_write.bucket_ttl_refill_multiplier;
  }
  if (limits_write.on_unavailable) next->on_unavailable = limits_write.on_unavailable;
  if (limits_write.usage) next->usage = limits_write.usage;
  next->from_file = limits_write.from_file;
  next->current.gap = limits_write.inherit;
  const LimitsRecordRef written(next.get());
  const bool was_absent = !old || old->absent(now_);
  // Sync renews its limits all the time. The audit has what they were changed to, and not every renewal.
  const bool renewed = !was_absent && old->owner == Owner::sync && next->owner == Owner::sync &&
                       old->inherits() == next->inherits() && *old->current.limits == *next->current.limits;
  if (!renewed)
    events_.push_back(store::limits_event(limits_write.level, was_absent ? LimitsRecordRef() : old, written));
  limits_[key] = written;
  return written;
}

/// The height of the tree below this entity, itself included; stops counting past `enough`.
std::size_t Draft::height(std::string_view id, std::size_t enough) const {
  std::size_t below = 0;
  if (enough > 0) {
    children_.visit(tenant_.children, id, [&](const std::string& child) {
      below = std::max(below, height(child, enough - 1));
      return below >= enough;
    });
  }
  return below + 1;
}

/// Refuses a parent that would make a cycle or a chain that is too long.
Result<void> Draft::check_chain(const Entity& entity) const {
  std::size_t length = height(entity.id, limits::max_chain);
  std::string_view at = entity.parent;
  while (!at.empty()) {
    if (at == entity.id) {
      return error(ErrorCode::conflict, "entity ", quoted(entity.id), " cannot have ", quoted(entity.parent),
                   " as its parent: it would become its own ancestor");
    }
    if (++length > limits::max_chain) break;
    const Entity* const above = this->entity(at);
    at = above == nullptr ? std::string_view() : std::string_view(above->parent);
  }
  if (length <= limits::max_chain) return {};
  return error(ErrorCode::conflict, "entity ", quoted(entity.id), " under ", quoted(entity.parent),
               " would make a chain of more than ", std::to_string(limits::max_chain),
               " entities; choose a parent nearer to the top");
}

Result<store::Changed> Draft::apply(const store::EntityPut& put) {
  Entity next = put.entity;
  const Entity* const old = entity(next.id);
  // A record that could not be read has no time of creation.
  next.created_at = old == nullptr || old->created_at == 0 ? now_ : old->created_at;
  const std::string parent = old == nullptr ? std::string() : old->parent;
  if (next.parent != parent) {
    if (auto checked = check_chain(next); !checked) return checked.error();
  }
  if (auto assigned = assign_plan(next, old); !assigned) return assigned.error();
  next.access = old == nullptr ? std::vector<AccessRule>() : old->access;
  next.access_only = false;
  events_.push_back(store::entity_event(old, &next));
  if (next.parent != parent) {
    children_.erase(parent, next.id);
    children_.insert(next.parent, next.id);
  }
  entities_[next.id] = next;
  return store::Changed{.entity = std::move(next)};
}

Result<store::Changed> Draft::apply(const store::EntityErase& erase) {
  const Entity* const old = entity(erase.id);
  if (old == nullptr) return error(ErrorCode::not_found, "entity ", quoted(erase.id), " does not exist");
  std::string child;
  children_.visit(tenant_.children, erase.id, [&](const std::string& one) { return child = one, true; });
  if (!child.empty()) {
    return error(ErrorCode::conflict, "entity ", quoted(erase.id), " has children, such as ", quoted(child),
                 "; delete them first");
  }
  if (const AccessRule* const rule = active_rule(*old, now_)) {
    return error(ErrorCode::conflict, "entity ", quoted(erase.id), " is ", name_of(rule->access), " (",
                 rule->reason, "); a deletion would end that, so remove it first");
  }
  delete_limits_of(erase.id);
  events_.push_back(store::entity_event(old, nullptr));
  children_.erase(old->parent, erase.id);
  leave_plan(*old);
  entities_[erase.id].reset();
  erased_.insert(erase.id);
  return store::Changed{};
}

void Draft::delete_limits_of(const std::string& id) {
  const std::string prefix = entity_prefix(id);
  std::set<std::string> keys;
  const auto collect = [&](const auto& records) {
    for (auto at = records.lower_bound(prefix); at != records.end() && at->first.starts_with(prefix); ++at)
      keys.insert(at->first);
  };
  collect(tenant_.limits);
  collect(limits_);
  for (const std::string& key : keys) {
    const LimitsRecordRef old = record(key);
    if (old->replaceable(now_)) write(key, old, {.level = level_of(key)});
  }
}

void Draft::merge_into(Tenant& tenant) && {
  for (auto& [key, record] : limits_) tenant.limits[key] = std::move(record);
  for (auto& [id, entity] : entities_) {
    tenant.bad_entities.erase(id);
    if (entity) {
      tenant.entities[id] = *std::move(entity);
    } else {
      tenant.entities.erase(id);
    }
  }
  for (auto& [name, plan] : plans_) {
    if (plan) {
      tenant.plans[name] = std::move(plan);
    } else {
      tenant.plans.erase(name);
    }
  }
  std::move(children_).merge_into(tenant.children);
  std::move(members_).merge_into(tenant.members);
}

}  // namespace weir::table
