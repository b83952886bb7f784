// Reads every record of a table.
#include <charconv>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"
#include "store/audit.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/copy.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/usage_items.h"
#include "store/remote/catalog_copy.h"

namespace weir::dynamodb {
namespace {

using base::join;

constexpr std::string_view lease_prefix = "#LEASE#";

Request scan(const std::string& table, bool keys_only, const Item& after) {
  std::string json = join("{\"TableName\":", base::json_string(table));
  if (keys_only) json += R"(,"ProjectionExpression":"PK,SK")";
  if (!after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after);
  }
  return {"Scan", json + R"(,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"})"};
}

/// The namespace of an item that belongs to one; empty: it belongs to the table.
std::string namespace_of(const Key& key) {
  std::string_view pk = key.pk;
  std::string name = "default";
  const std::size_t slash = pk.find('/');
  if (slash < pk.find('#')) {
    name = pk.substr(0, slash);
    pk.remove_prefix(slash + 1);
  }
  const bool of_system = pk == "SYSTEM#" && key.sk == "#CONFIG";
  for (const std::string_view begin : {"ENTITY#", "RESOURCE#", "PLAN#", "AUDIT#"}) {
    if (pk.starts_with(begin)) return name;
  }
  return of_system ? name : std::string();
}

std::optional<decision::Nonce> nonce_in(std::string_view digits) {
  constexpr std::size_t half = 16;
  decision::Nonce nonce{};
  if (digits.size() != half * nonce.size()) return std::nullopt;
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    const char* const from = digits.data() + half * i;
    const auto [end, failure] = std::from_chars(from, from + half, nonce[i], half);
    if (failure != std::errc() || end != from + half) return std::nullopt;
  }
  return nonce;
}

/// The marker as every store has it. Format 1 has no entities; where one bucket was charged, it is that of
/// the item.
decision::Marker marker_of(const conditional::Marker& read, const std::string& entity) {
  decision::Marker marker{read.lease, read.deadline, {}, read.first_deadline};
  std::vector<std::string> entities = read.entities;
  if (entities.empty() && read.generations.size() == 1) entities.push_back(entity);
  if (entities.size() != read.generations.size()) return marker;
  for (std::size_t i = 0; i < entities.size(); ++i)
    marker.buckets.push_back({entities[i], read.generations[i]});
  return marker;
}

Result<void> add_lease(const Item& item, const EntityName& owner, store::CopyPages& pages) {
  const auto read = read_marker(item);
  const auto nonce = nonce_in(std::string_view(key_of(item).sk).substr(lease_prefix.size()));
  if (!read) return store::cannot_be_copied(read.error().message);
  if (!nonce) return store::cannot_be_copied(join("the item ", base::quoted(key_of(item).sk)));
  // An acquire that was given up: no copy of it is under way in another store.
  if (read->fence) return {};
  return pages.add(
      {owner.name_space, store::CopiedLease{owner.entity, *nonce, marker_of(*read, owner.entity)}});
}

}  // namespace

Result<Item> TableCopy::version_record() {
  const Key key = version_key();
  auto found = BlockingCalls(context_).get(std::span(&key, 1));
  if (!found) return found.error();
  return found->empty() ? Item() : found->begin()->second;
}

Result<store::CopySettings> TableCopy::settings() {
  const auto record = version_record();
  if (!record) return record.error();
  store::CopySettings settings;
  const Value* const lease_key = wire::aws::find(*record, "lease_key");
  if (lease_key == nullptr || lease_key->text.size() != settings.lease_key.size())
    return base::error(ErrorCode::unavailable, "the version record of table ", base::quoted(context_.table),
                       " is damaged");
  std::memcpy(settings.lease_key.data(), lease_key->text.data(), settings.lease_key.size());
  settings.keep_audit_for = store::keep_audit_for_by_default;
  const auto read = [&](std::string_view name, Time& into) {
    const auto number = wire::aws::integer_of(*record, name);
    if (number && *number > 0) into = *number;
  };
  read("keep_audit_for", settings.keep_audit_for);
  read("keep_usage_hours", settings.keep_usage.hours);
  read("keep_usage_days", settings.keep_usage.days);
  return settings;
}

Result<void> TableCopy::for_each_item(bool keys_only,
                                      const std::function<Result<void>(const Item& item)>& visit) {
  BlockingCalls calls(context_);
  Item after;
  do {
    auto asked = calls.ask(scan(context_.table, keys_only, after), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      if (auto visited = visit(item); !visited) return visited;
    }
    after = asked.answer.last_key;
  } while (!after.empty());
  return {};
}

Result<std::set<std::string>> TableCopy::namespaces() {
  std::set<std::string> found;
  auto scanned = for_each_item(true, [&](const Item& item) -> Result<void> {
    std::string name = namespace_of(key_of(item));
    if (!name.empty() && limits::check_namespace(name)) found.insert(std::move(name));
    return {};
  });
  if (!scanned) return scanned.error();
  return found;
}

Result<void> TableCopy::read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) {
  store::CopyPages pages(scope, visit);
  const auto all = namespaces();
  if (!all) return all.error();
  DynamoCatalog& catalog = store_->dynamo_catalog();
  for (const std::string& name_space : *all) {
    if (!pages.wants(name_space)) continue;
    if (auto read = remote::copy_catalog(catalog, name_space, pages); !read) return read;
  }
  // The items of an entity come one after the other, in the order of their sort keys.
  auto read = for_each_item(false, [&](const Item& item) { return add_item(item, pages); });
  if (read) read = pages.end_usage();
  if (!read) return read;
  for (const std::string& name_space : *all) {
    if (!pages.wants(name_space)) continue;
    if (auto added = remote::copy_audit(catalog, name_space, pages); !added) return added;
  }
  if (const auto bad = context_.bad.warnings(); !bad.empty()) return store::cannot_be_copied(bad.front());
  return pages.flush();
}

/// Adds an item that is a bucket, a lease or usage.
Result<void> TableCopy::add_item(const Item& item, store::CopyPages& pages) {
  const Key key = key_of(item);
  const auto owner = entity_of(key.pk);
  if (!owner || !pages.wants(owner->name_space)) return {};
  if (usage_name(key)) {
    auto row = read_usage(item);
    if (!row) return store::cannot_be_copied(row.error().message);
    // A cursor that has moved on may leave an hour without events.
    return row->events == 0 ? Result<void>() : pages.add_usage(owner->name_space, *std::move(row));
  }
  if (legacy_name(key))
    return base::error(ErrorCode::conflict, "the table has buckets of an older program, such as ",
                       base::quoted(key.pk), " ", base::quoted(key.sk), "; run weir store migrate first");
  if (is_bucket(key)) {
    auto read = read_bucket(item);
    if (!read) return store::cannot_be_copied(read.error().message);
    const bool counts_usage = read->state.counts_usage;
    return pages.add(
        {owner->name_space, store::CopiedBucket{owner->entity, key.sk.substr(bucket_prefix.size()),
                                                std::move(read->state), counts_usage}});
  }
  return key.sk.starts_with(lease_prefix) ? add_lease(item, *owner, pages) : Result<void>();
}

}  // namespace weir::dynamodb
