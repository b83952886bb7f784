#include "store/dynamodb/catalog.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/catalog_change.h"
#include "store/dynamodb/lookup.h"

namespace weir::dynamodb {

using limits::LimitsRecordRef;

namespace {

constexpr std::size_t most_in_answer = 10'000;

/// `resource`: as keys of items have it.
std::string level_key_of(std::string_view entity, std::string_view resource) {
  return resource == "_default_" ? table::level_key(Source::entity_default, entity, {})
                                 : table::level_key(Source::entity, entity, resource);
}

}  // namespace

void DynamoCatalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                         store::Completion<store::Found> done) {
  auto known = context_.memory.find({name_space, entity, resource});
  if (!known) return look_up(context_, name_space, entity, resource, done);
  known->now = context_.now();
  done(*std::move(known));
}

Result<void> DynamoCatalog::check_may_change() const {
  if (auto may = BlockingCalls(context_).check_may_wait(); !may) return may;
  return context_.check_clock();
}

Result<void> DynamoCatalog::require_client(int version) {
  BlockingCalls asking(context_);
  if (auto may = asking.check_may_wait(); !may) return may;
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  const std::string least = write.expression.name("least_client");
  write.expression.condition(base::join(least, "<", write.expression.value(std::int64_t{version})));
  write.expression.set("least_client", Value::of(std::int64_t{version}));
  const auto raised = asking.ask(single_write(context_.table, write), true);
  // A failed condition means that it is that high already.
  if (raised.ok() || raised.failure->kind == aws::DynamoFailure::Kind::condition) return {};
  return aws::error_of(*raised.failure);
}

Result<std::vector<store::Changed>> DynamoCatalog::make_changes(const store::Changes& changes) {
  return CatalogChange(context_, *this, changes, start_up_.keep_audit_for()).run();
}

void DynamoCatalog::limits(std::string_view name_space, const Level& level,
                           store::Completion<LimitsRecordRef> done) {
  const std::string key = table::level_key(level);
  auto found = limits_by_key(name_space, {key});
  done(limits_of(name_space, level, found ? Result<LimitsRecordRef>((*found)[key]) : found.error()));
}

Result<store::Page<std::string>> DynamoCatalog::list(std::string_view name_space,
                                                     const remote::Listing& listing,
                                                     const store::Paging& paging) {
  using Of = remote::Listing::Of;
  // The prefix of all sort keys of the listing.
  const std::string_view prefix = listing.of == Of::children  ? child_prefix
                                  : listing.of == Of::members ? member_prefix
                                                              : std::string_view();
  QueryOf wanted{.pk = listing.of == Of::limits     ? listed_limits_key(name_space, {}).pk
                       : listing.of == Of::entities ? listed_entity_key(name_space, {}).pk
                       : listing.of == Of::plans    ? listed_plan_key(name_space, {}).pk
                       : listing.of == Of::members  ? plan_key(name_space, listing.owner).pk
                                                    : entity_pk(name_space, listing.owner),
                 .begins_with = base::join(prefix, listing.begins_with)};
  if (!paging.cursor.empty()) wanted.after = base::join(prefix, paging.cursor);
  // One more, to know whether there is a next page. A larger limit would not fit into an answer anyway.
  if (paging.limit < most_in_answer) wanted.limit = paging.limit + 1;
  store::Page<std::string> page;
  const auto add_name = [&](std::string name) {
    return remote::add(page, paging.limit, std::move(name), std::identity());
  };
  std::vector<std::string> others;
  if (listing.of == Of::limits) {
    auto found = listing.begins_with.empty() ? indexed_limits(name_space, paging.cursor.empty())
                                             : limits_of_entity(name_space, listing.begins_with);
    if (!found) return found.error();
    others = *std::move(found);
  }
  std::erase_if(others, [&](const std::string& key) { return key <= paging.cursor; });
  // Both are in order.
  auto other = others.begin();
  const auto add_others = [&](const std::string* until) {
    for (; other != others.end() && (until == nullptr || *other <= *until); ++other) {
      if ((until == nullptr || *other != *until) && !add_name(*other)) return false;
    }
    return true;
  };
  bool full = false;
  auto listed = BlockingCalls(context_).for_each(wanted, [&](const Item& item) {
    const std::string name = key_of(item).sk.substr(prefix.size());
    full = !add_others(&name) || !add_name(name);
    return !full;
  });
  if (!listed) return listed.error();
  if (!full) add_others(nullptr);
  return page;
}

Result<std::vector<std::string>> DynamoCatalog::limits_of_entity(std::string_view name_space,
                                                                 std::string_view prefix) {
  // The prefix is the key of the entity's default level.
  const std::string entity = table::level_of(prefix).entity();
  std::vector<std::string> keys;
  auto listed = BlockingCalls(context_).for_each(
      {.pk = entity_pk(name_space, entity), .begins_with = std::string(config_prefix)},
      [&](const Item& item) {
        const std::string resource = key_of(item).sk.substr(config_prefix.size());
        std::string key = level_key_of(entity, resource);
        if (table::is_level_key(key)) keys.push_back(std::move(key));
        return true;
      });
  if (!listed) return listed.error();
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<std::vector<std::string>> DynamoCatalog::indexed_limits(std::string_view name_space, bool first_page) {
  if (!first_page) {
    const base::Guard guard(indexed_mutex_);
    const auto known = indexed_.find(name_space);
    if (known != indexed_.end()) return known->second;
  }
  std::vector<std::string> keys;
  // The record of the system has a fixed key. Those of resources are not in the index; the resources that
  // entities have limits on are.
  keys.emplace_back(table::level_key(Level::system()));
  const std::string begins = base::join(prefix_of(name_space), "ENTITY_CONFIG#");
  Item after;
  do {
    const auto asked = BlockingCalls(context_).ask(scan_index(context_.table, "GSI3", after), true);
    // Without the index, or the right to read it, the listing has the records that weir wrote.
    if (!asked.ok()) break;
    for (const Item& item : asked.answer.items) {
      const std::string_view pk = wire::aws::text_of(item, "GSI3PK");
      if (!pk.starts_with(begins)) continue;
      const std::string_view resource = pk.substr(begins.size());
      for (std::string key : {level_key_of(wire::aws::text_of(item, "GSI3SK"), resource),
                              table::level_key(Source::resource, {}, resource)}) {
        if (table::is_level_key(key)) keys.push_back(std::move(key));
      }
    }
    after = asked.answer.last_key;
  } while (!after.empty());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const base::Guard guard(indexed_mutex_);
  indexed_.insert_or_assign(std::string(name_space), keys);
  return keys;
}

Result<std::map<std::string, LimitsRecordRef>> DynamoCatalog::limits_by_key(
    std::string_view name_space, const std::set<std::string>& keys) {
  std::vector<Key> wanted;
  for (const std::string& key : keys) wanted.push_back(level_key(name_space, table::level_of(key)));
  auto found = BlockingCalls(context_).get(wanted);
  if (!found) return found.error();
  std::map<std::string, LimitsRecordRef> records;
  for (const std::string& key : keys) {
    const auto item = found->find(level_key(name_space, table::level_of(key)));
    if (item == found->end()) continue;
    records[key] = context_.limits_in(item->second);
  }
  return records;
}

Result<remote::Catalog::EntitiesById> DynamoCatalog::entities_by_id(std::string_view name_space,
                                                                    const std::set<std::string>& ids) {
  std::vector<Key> keys;
  for (const std::string& id : ids) keys.push_back(meta_key(name_space, id));
  auto found = BlockingCalls(context_).get(keys);
  if (!found) return found.error();
  EntitiesById entities;
  for (const std::string& id : ids) {
    const auto item = found->find(meta_key(name_space, id));
    if (item == found->end() || !has_entity(item->second)) continue;
    auto entity = read_entity(item->second);
    if (!entity) entity = context_.report(entity.error());
    entities.emplace(id, std::move(entity));
  }
  return entities;
}

Result<remote::Catalog::PlansByName> DynamoCatalog::plans_by_name(std::string_view name_space,
                                                                  const std::set<std::string>& names) {
  std::vector<Key> keys;
  for (const std::string& name : names) keys.push_back(plan_key(name_space, name));
  auto found = BlockingCalls(context_).get(keys);
  if (!found) return found.error();
  PlansByName plans;
  for (const std::string& name : names) {
    const auto item = found->find(plan_key(name_space, name));
    if (item != found->end()) plans.emplace(name, context_.plan_in(item->second));
  }
  return plans;
}

Result<void> DynamoCatalog::for_each_event(std::string_view name_space, std::string_view subject,
                                           const store::Paging& paging,
                                           const std::function<bool(store::AuditEvent event)>& visit) {
  const bool all = subject.empty();
  QueryOf wanted{.pk = all ? listed_audit_key(name_space, "").pk : audit_key(name_space, subject, "").pk,
                 .begins_with = all ? std::string() : std::string(audit_prefix),
                 .backward = true};
  if (!paging.cursor.empty()) wanted.after = base::join(wanted.begins_with, paging.cursor);
  return BlockingCalls(context_).for_each(wanted, [&](const Item& item) {
    auto event = read_event(item);
    if (!event) context_.bad.report(event.error().message);
    return !event || visit(*std::move(event));
  });
}

}  // namespace weir::dynamodb
