#include "store/remote/catalog.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "limits/names.h"
#include "store/client_version.h"
#include "store/table/draft.h"

namespace weir::remote {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;

namespace {

/// The least number of records to read at a time, since a filter may drop most of them.
constexpr std::size_t least_read = 100;

/// Names that only another program can have written, and that no call accepts.
void erase_bad_names(std::vector<std::string>& ids) {
  std::erase_if(ids, [](const std::string& id) { return !limits::check_entity(id); });
}

}  // namespace

void Catalog::change(const store::Changes& changes, store::Completion<std::vector<store::Changed>> done) {
  if (auto may = check_may_change(); !may) return done(may.error());
  Result<std::vector<store::Changed>> changed = [&] {
    const base::Guard guard(changing_);
    int needed = store::plain_client;
    for (const auto& change : changes.changes) needed = std::max(needed, store::client_of(change));
    if (needed > required_) {
      if (auto required = require_client(needed); !required)
        return Result<std::vector<store::Changed>>(required.error());
      required_ = needed;
    }
    return make_changes(changes);
  }();
  done(std::move(changed));
}

Result<LimitsRecordRef> Catalog::limits_of(std::string_view name_space, const Level& level,
                                           Result<LimitsRecordRef> read) {
  const std::string key = table::level_key(level);
  if (!read) {
    // The system record has the policy for an unavailable store, so its last known version is used.
    const bool counts = read.error().code == ErrorCode::unavailable && level.kind() == Source::system;
    const LimitsRecordRef last = counts ? cache_.last_record(name_space, key) : LimitsRecordRef();
    if (last && !last->absent(now())) return last;
    return read.error();
  }
  if (*read && !(*read)->bad.empty()) return Error{ErrorCode::unavailable, (*read)->bad};
  const LimitsRecordRef record = cache_.intern(name_space, key, *std::move(read));
  if (!record || record->absent(now()))
    return error(ErrorCode::not_found, "no limits are set for ", table::described(level));
  return record;
}

void Catalog::mark(std::string_view name_space, store::Completion<limits::NamespaceMark> done) {
  auto records = limits_by_key(name_space, {table::level_key(Level::system())});
  if (!records) return done(records.error());
  done(records->empty() ? limits::NamespaceMark() : records->begin()->second->name_space);
}

void Catalog::list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                          const store::Paging& paging,
                          store::Completion<store::Page<store::StoredLimitsItem>> done) {
  done(list_limits_now(name_space, filter, paging));
}

Result<store::Page<store::StoredLimitsItem>> Catalog::list_limits_now(std::string_view name_space,
                                                                      const store::LimitsFilter& filter,
                                                                      const store::Paging& paging) {
  const Time moment = now();
  store::Page<store::StoredLimitsItem> page;
  store::Paging at{.cursor = paging.cursor, .limit = std::max(paging.limit, least_read)};
  do {
    auto keys = list(name_space, {}, at);
    if (!keys) return keys.error();
    std::erase_if(keys->items, [](const std::string& key) { return !table::is_level_key(key); });
    auto records = limits_by_key(name_space, {keys->items.begin(), keys->items.end()});
    if (!records) return records.error();
    for (const std::string& key : keys->items) {
      const LimitsRecordRef record = (*records)[key];
      if (!record || record->absent(moment) || (filter.owner && record->owner != *filter.owner)) continue;
      Level level = table::level_of(key);
      if (filter.level && level.kind() != *filter.level) continue;
      const auto key_of = [](const auto& item) { return table::level_key(item.level); };
      if (!add(page, paging.limit, {std::move(level), record}, key_of)) return page;
    }
    at.cursor = keys->next;
  } while (!at.cursor.empty());
  return page;
}

void Catalog::entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) {
  auto found = entities_by_id(name_space, {std::string(id)});
  if (!found) return done(found.error());
  if (found->empty()) return done(error(ErrorCode::not_found, "entity ", quoted(id), " does not exist"));
  done(std::move(found->begin()->second));
}

void Catalog::children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                       store::Completion<store::Page<std::string>> done) {
  done(ids(name_space, {.of = Listing::Of::children, .owner = std::string(id)}, paging));
}

void Catalog::members(std::string_view name_space, std::string_view plan, const store::Paging& paging,
                      store::Completion<store::Page<std::string>> done) {
  done(ids(name_space, {.of = Listing::Of::members, .owner = std::string(plan)}, paging));
}

Result<store::Page<std::string>> Catalog::ids(std::string_view name_space, const Listing& listing,
                                              const store::Paging& paging) {
  auto listed = list(name_space, listing, paging);
  if (listed) erase_bad_names(listed->items);
  return listed;
}

void Catalog::plan(std::string_view name_space, std::string_view name,
                   store::Completion<limits::PlanRecordRef> done) {
  auto found = plans_by_name(name_space, {std::string(name)});
  if (!found) return done(found.error());
  if (found->empty()) return done(table::no_plan(name));
  limits::PlanRecordRef plan = std::move(found->begin()->second);
  if (!plan->bad.empty()) return done(Error{ErrorCode::unavailable, plan->bad});
  done(std::move(plan));
}

void Catalog::plans(std::string_view name_space, const store::Paging& paging,
                    store::Completion<store::Page<store::StoredPlan>> done) {
  done(plans_now(name_space, paging));
}

Result<store::Page<store::StoredPlan>> Catalog::plans_now(std::string_view name_space,
                                                          const store::Paging& paging) {
  auto names = list(name_space, {.of = Listing::Of::plans}, paging);
  if (!names) return names.error();
  std::erase_if(names->items, [](const std::string& name) { return !limits::check_plan(name); });
  auto found = plans_by_name(name_space, {names->items.begin(), names->items.end()});
  if (!found) return found.error();
  store::Page<store::StoredPlan> page{.items = {}, .next = names->next};
  for (auto& [name, plan] : *found) {
    if (plan->bad.empty()) page.items.push_back({name, std::move(plan)});
  }
  return page;
}

void Catalog::audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
                    store::Completion<store::Page<store::AuditEvent>> done) {
  const Time oldest = now() - keep_audit_for();
  store::Page<store::AuditEvent> page;
  auto read = for_each_event(name_space, subject, paging, [&](store::AuditEvent event) {
    return event.at <= oldest || add(page, paging.limit, std::move(event), &store::AuditEvent::id);
  });
  if (!read) return done(read.error());
  done(std::move(page));
}

void Catalog::entities(std::string_view name_space, const store::Paging& paging,
                       store::Completion<store::Page<Entity>> done) {
  done(entities_now(name_space, paging));
}

Result<store::Page<Entity>> Catalog::entities_now(std::string_view name_space, const store::Paging& paging) {
  auto ids = list(name_space, {.of = Listing::Of::entities}, paging);
  if (!ids) return ids.error();
  erase_bad_names(ids->items);
  auto found = entities_by_id(name_space, {ids->items.begin(), ids->items.end()});
  if (!found) return found.error();
  store::Page<Entity> page{.items = {}, .next = ids->next};
  // Entities that are missing were deleted since the page was read. Both are in the order of ids.
  for (auto& [id, entity] : *found) {
    if (entity) page.items.push_back(*std::move(entity));
  }
  return page;
}

}  // namespace weir::remote
