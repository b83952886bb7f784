#include "store/table/catalog.h"

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "store/audit.h"

namespace weir::table {
namespace {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;

// How many audit events are kept in memory; the backing keeps the rest.
constexpr std::size_t audit_in_memory = 100'000;

/// Fills a page with the items after the cursor for which `accept(item)` holds. The cursor is the key of the
/// last item of the previous page.
template <class Map, class Accept>
void fill(const Map& map, const store::Paging& paging, std::string& next, Accept&& accept) {
  std::size_t taken = 0;
  std::string last;
  for (auto at = paging.cursor.empty() ? map.begin() : map.upper_bound(std::string(paging.cursor));
       at != map.end(); ++at) {
    if (taken == paging.limit) {
      next = last;
      return;
    }
    if (!accept(*at)) continue;
    ++taken;
    if constexpr (requires { at->first; }) {
      last = at->first;
    } else {
      last = *at;
    }
  }
}

}  // namespace

Tenant& TableCatalog::tenant(std::string_view name_space) {
  const auto found = tenants_.find(name_space);
  return found != tenants_.end() ? found->second : tenants_[std::string(name_space)];
}

void TableCatalog::change(const store::Changes& changes,
                          store::Completion<std::vector<store::Changed>> done) {
  while (const int holds = holds_.load(std::memory_order_relaxed)) holds_.wait(holds);
  done(change_all(changes));
}

Result<std::vector<store::Changed>> TableCatalog::change_all(const store::Changes& changes) {
  const Time now = clock_.now();
  const base::Guard guard(mutex_);
  Tenant& in = tenant(changes.name_space);
  Draft draft(in, now, last_stamp_);
  const auto tell = [&](std::size_t done) {
    if (changes.options.progress) changes.options.progress(done, 2 * changes.changes.size());
  };
  auto changed = draft.add_all(changes.changes, tell);
  if (!changed) return changed;
  if (auto still = hold_still(changes.name_space, draft); !still) return still.error();
  if (auto adopted = adopt(changes.name_space, draft, now, changes.ttl_multiplier); !adopted)
    return adopted.error();
  std::vector<store::AuditEvent> events = draft.sign(changes.principal, audited_to_, audit_sequence_);
  audit_sequence_ += events.size();
  if (!events.empty()) audited_to_ = std::max(audited_to_, now);
  const auto kept = [&]() WEIR_NOT_ANALYSED { put_in_place(changes, draft, events, now); };
  if (backing_ == nullptr) {
    kept();
  } else if (auto written = backing_->keep(changes.name_space, draft, events, kept); !written) {
    return written.error();
  }
  tell(2 * changes.changes.size());
  return changed;
}

void TableCatalog::put_in_place(const store::Changes& changes, Draft& draft,
                                std::vector<store::AuditEvent>& events, Time now) {
  Tenant& in = tenant(changes.name_space);
  last_stamp_ = draft.last_stamp();
  const std::set<std::string> erased = draft.erased();
  std::move(draft).merge_into(in);
  if (backing_ == nullptr) {
    for (auto& event : events) in.audit.push_back(std::move(event));
    const Time oldest = now - keep_audit_for_;
    while (!in.audit.empty() && (in.audit.size() > audit_in_memory || in.audit.front().at <= oldest))
      in.audit.pop_front();
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const std::string& id : erased) table_.forget(changes.name_space, id);
}

/// From here until the lock is released no bucket is created for an entity that moves or is deleted, or
/// charged for one whose limits change: existing plans are out of date, and new ones wait for the lock.
Result<void> TableCatalog::hold_still(std::string_view name_space, const Draft& draft) {
  const std::vector<std::string> moved = draft.moved();
  if (moved.empty() && draft.erased().empty() && draft.limits().empty() && draft.reassigned().empty())
    return {};
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const std::string& id : moved) {
    if (auto brought = table_.bring_in(name_space, id); !brought) return brought.error();
    if (table_.has_bucket(name_space, id)) return has_buckets(id);
  }
  return {};
}

/// Buckets adopt the new limits of their entity, and its new plan. If the change then fails, they continue
/// under the stricter of the two.
Result<void> TableCatalog::adopt(std::string_view name_space, const Draft& draft, Time now, int multiplier) {
  // `on`: the resource; empty: every one.
  const auto adopt_of = [&](const std::string& entity, const std::string& on) -> Result<void> {
    if (auto brought = table_.bring_in(name_space, entity); !brought) return brought;
    table_.adopt(name_space, entity, on, [&](std::string_view resource) {
      return draft.resolve_adopted(entity, resource, now, multiplier);
    });
    return {};
  };
  for (const auto& [key, record] : draft.limits()) {
    const Level changed = level_of(key);
    if (changed.entity().empty()) continue;
    if (auto adopted = adopt_of(changed.entity(), changed.resource()); !adopted) return adopted;
  }
  for (const std::string& id : draft.reassigned()) {
    if (auto adopted = adopt_of(id, {}); !adopted) return adopted;
  }
  return {};
}

void TableCatalog::resume(Past past) {
  const base::Guard guard(mutex_);
  tenants_ = std::move(past.tenants);
  for (auto& [name, tenant] : tenants_) {
    for (const auto& [id, entity] : tenant.entities) {
      if (!entity.parent.empty()) tenant.children[entity.parent].insert(id);
      if (!entity.plan.empty()) tenant.members[entity.plan].insert(id);
    }
  }
  last_stamp_ = past.last_stamp;
  audit_sequence_ = past.audit_sequence;
  audited_to_ = past.audited_to;
}

void TableCatalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                        store::Completion<store::Found> done) {
  store::Found found;
  found.now = clock_.now();
  std::string bad;
  {
    const base::Guard guard(mutex_);
    const Tenant& in = tenant(name_space);
    if (const auto at = in.bad_entities.find(entity); at != in.bad_entities.end()) bad = at->second;
    found.levels = levels_of(in, entity, resource);
    if (const auto at = in.entities.find(entity); at != in.entities.end()) found.take(at->second);
    found.generation = generation_.load(std::memory_order_acquire);
  }
  if (!bad.empty()) return done(Error{ErrorCode::unavailable, std::move(bad)});
  done(std::move(found));
}

void TableCatalog::limits(std::string_view name_space, const Level& level,
                          store::Completion<LimitsRecordRef> done) {
  const Time now = clock_.now();
  LimitsRecordRef record;
  {
    const base::Guard guard(mutex_);
    const auto& records = tenant(name_space).limits;
    const auto found = records.find(level_key(level));
    if (found != records.end()) record = found->second;
  }
  if (record && !record->bad.empty()) return done(Error{ErrorCode::unavailable, record->bad});
  if (!record || record->absent(now))
    return done(error(ErrorCode::not_found, "no limits are set for ", described(level)));
  done(record);
}

void TableCatalog::list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                               const store::Paging& paging,
                               store::Completion<store::Page<store::StoredLimitsItem>> done) {
  const Time now = clock_.now();
  store::Page<store::StoredLimitsItem> page;
  {
    const base::Guard guard(mutex_);
    fill(tenant(name_space).limits, paging, page.next, [&](const auto& item) {
      const auto& [key, record] = item;
      if (record->absent(now) || (filter.owner && record->owner != *filter.owner)) return false;
      Level level = level_of(key);
      if (filter.level && level.kind() != *filter.level) return false;
      page.items.push_back({std::move(level), record});
      return true;
    });
  }
  done(std::move(page));
}

void TableCatalog::entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) {
  std::optional<Entity> entity;
  std::string bad;
  {
    const base::Guard guard(mutex_);
    const Tenant& in = tenant(name_space);
    if (const auto at = in.bad_entities.find(id); at != in.bad_entities.end()) bad = at->second;
    const auto found = in.entities.find(id);
    if (found != in.entities.end()) entity = found->second;
  }
  if (!bad.empty()) return done(Error{ErrorCode::unavailable, std::move(bad)});
  if (!entity) return done(error(ErrorCode::not_found, "entity ", quoted(id), " does not exist"));
  done(*std::move(entity));
}

void TableCatalog::children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                            store::Completion<store::Page<std::string>> done) {
  done(list_names(name_space, &Tenant::children, id, paging));
}

void TableCatalog::members(std::string_view name_space, std::string_view plan, const store::Paging& paging,
                           store::Completion<store::Page<std::string>> done) {
  done(list_names(name_space, &Tenant::members, plan, paging));
}

store::Page<std::string> TableCatalog::list_names(std::string_view name_space, NameSets Tenant::* sets,
                                                  std::string_view owner, const store::Paging& paging) {
  store::Page<std::string> page;
  const base::Guard guard(mutex_);
  const NameSets& all = tenant(name_space).*sets;
  const auto found = all.find(owner);
  if (found == all.end()) return page;
  fill(found->second, paging, page.next, [&](const std::string& name) {
    page.items.push_back(name);
    return true;
  });
  return page;
}

void TableCatalog::plan(std::string_view name_space, std::string_view name,
                        store::Completion<limits::PlanRecordRef> done) {
  limits::PlanRecordRef record;
  {
    const base::Guard guard(mutex_);
    const auto& plans = tenant(name_space).plans;
    const auto found = plans.find(name);
    if (found != plans.end()) record = found->second;
  }
  if (!record) return done(no_plan(name));
  if (!record->bad.empty()) return done(Error{ErrorCode::unavailable, record->bad});
  done(std::move(record));
}

void TableCatalog::plans(std::string_view name_space, const store::Paging& paging,
                         store::Completion<store::Page<store::StoredPlan>> done) {
  store::Page<store::StoredPlan> page;
  {
    const base::Guard guard(mutex_);
    fill(tenant(name_space).plans, paging, page.next, [&](const auto& item) {
      if (!item.second->bad.empty()) return false;
      page.items.push_back({item.first, item.second});
      return true;
    });
  }
  done(std::move(page));
}

void TableCatalog::entities(std::string_view name_space, const store::Paging& paging,
                            store::Completion<store::Page<Entity>> done) {
  store::Page<Entity> page;
  {
    const base::Guard guard(mutex_);
    const Tenant& in = tenant(name_space);
    fill(in.entities, paging, page.next, [&](const auto& item) {
      if (in.bad_entities.contains(item.first)) return false;
      page.items.push_back(item.second);
      return true;
    });
  }
  done(std::move(page));
}

void TableCatalog::audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
                         store::Completion<store::Page<store::AuditEvent>> done) {
  const Time oldest = clock_.now() - keep_audit_for_;
  if (backing_ != nullptr) return done(backing_->audit(name_space, subject, paging, oldest));
  store::Page<store::AuditEvent> page;
  {
    const base::Guard guard(mutex_);
    const auto& events = tenant(name_space).audit;
    for (const store::AuditEvent& event : std::views::reverse(events)) {
      if (event.at <= oldest || (!subject.empty() && event.subject != subject) ||
          (!paging.cursor.empty() && event.id >= paging.cursor))
        continue;
      if (page.items.size() == paging.limit) {
        page.next = page.items.back().id;
        break;
      }
      page.items.push_back(event);
    }
  }
  done(std::move(page));
}

}  // namespace weir::table
