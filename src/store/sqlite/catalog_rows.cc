#include "store/sqlite/catalog_rows.h"

#include "base/json.h"
#include "base/text.h"
#include "limits/access.h"
#include "store/client_version.h"
#include "store/sqlite/codec.h"
#include "store/sqlite/level_row.h"

namespace weir::sqlite {

namespace {

/// What a record changes in the column `later`, as a JSON merge patch: null removes a field.
std::string changes_of_later(const limits::LimitsRecord& record) {
  auto json = base::JsonWriter::object();
  record.inherits() ? json.flag("inherit", true) : json.raw("inherit", "null");
  record.usage ? json.text("usage", base::on_or_off(*record.usage)) : json.raw("usage", "null");
  const std::string mark = limits::encode_mark(record.name_space);
  mark.empty() ? json.raw("namespace", "null") : json.text("namespace", mark);
  return json.str();
}

/// The same of an entity.
std::string changes_of_later(const Entity& entity) {
  auto json = base::JsonWriter::object();
  if (entity.plan_stamp != 0) {
    json.text("plan", entity.plan).number("plan_stamp", entity.plan_stamp);
  } else {
    json.raw("plan", "null").raw("plan_stamp", "null");
  }
  const std::string access = limits::encode_access(entity);
  access.empty() ? json.raw("access", "null") : json.text("access", access);
  return json.str();
}

}  // namespace

CatalogRows::CatalogRows(Database& database)
    : upsert_limits_(
          database,
          "INSERT INTO limits (namespace, entity, resource, limits, owner, expires_at_ms, "
          "bucket_ttl_refill_multiplier, on_unavailable, from_file, stamp, earlier, later) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(json_patch('{}', ?12), '{}')) "
          "ON CONFLICT DO UPDATE SET limits = excluded.limits, owner = excluded.owner, "
          "expires_at_ms = excluded.expires_at_ms, "
          "bucket_ttl_refill_multiplier = excluded.bucket_ttl_refill_multiplier, "
          "on_unavailable = excluded.on_unavailable, from_file = excluded.from_file, stamp = excluded.stamp, "
          "earlier = excluded.earlier, "
          // Fields of later versions stay.
          "later = nullif(json_patch(iif(json_valid(later), later, '{}'), ?12), '{}')"),
      require_client_(database, "UPDATE settings SET value = ?1 WHERE name = 'least_client' AND value < ?1"),
      upsert_entity_(database,
                     "INSERT INTO entities (namespace, id, parent, cascade, name, metadata, "
                     "created_at_ms, from_file, later) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
                     "nullif(json_patch('{}', ?9), '{}')) "
                     "ON CONFLICT DO UPDATE SET parent = excluded.parent, cascade = excluded.cascade, "
                     "name = excluded.name, metadata = excluded.metadata, "
                     "created_at_ms = excluded.created_at_ms, from_file = excluded.from_file, "
                     // Fields of later versions stay.
                     "later = nullif(json_patch(iif(json_valid(later), later, '{}'), ?9), '{}')"),
      delete_entity_(database, "DELETE FROM entities WHERE namespace = ?1 AND id = ?2"),
      delete_sets_(database,
                   "DELETE FROM limits WHERE namespace = ?1 AND entity = ?2 AND resource NOT IN "
                   "(SELECT value FROM json_each(?3))"),
      add_event_(
          database,
          "INSERT INTO audit (namespace, id, at_ms, principal, action, subject, resource, before, after) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") {}

Result<void> CatalogRows::write_plan(std::string_view name_space, const std::string& name,
                                     const limits::PlanRecordRef& plan) {
  const std::string entity = entity_of_plan(name);
  std::vector<std::string> kept;
  if (plan && plan->limits) kept.emplace_back(default_resource);
  if (plan) {
    for (const auto& [resource, set] : plan->resources) kept.push_back(resource);
  }
  const std::string kept_json = to_json(kept);
  auto deleted = delete_sets_.begin().bind(name_space).bind(std::string_view(entity)).bind(kept_json).run();
  if (!deleted || !plan) return deleted;
  std::vector<std::pair<std::string_view, limits::LimitsRecordRef>> sets = {{default_resource, plan->limits}};
  sets.insert(sets.end(), plan->resources.begin(), plan->resources.end());
  for (const auto& [resource, set] : sets) {
    if (!set) continue;
    if (auto done = write_limits({name_space, entity, resource, plan->from_file}, *set); !done) return done;
  }
  return require_client(store::plan_client);
}

Result<void> CatalogRows::write_limits(std::string_view name_space, const Level& level,
                                       const limits::LimitsRecord& record) {
  return write_limits({name_space, level.entity(), resource_of_row(level)}, record);
}

Result<void> CatalogRows::write_limits(const LimitsRow& at, const limits::LimitsRecord& record) {
  const std::string limits = record.current.limits ? to_json(*record.current.limits) : std::string();
  const std::string earlier = to_json(record.earlier);
  Statement& row = upsert_limits_.begin();
  row.bind(at.name_space).bind(at.entity).bind(at.resource);
  row.bind_or_null(limits).bind(std::string_view(weir::name_of(record.owner)));
  record.expires_at == limits::never ? row.bind_null() : row.bind(record.expires_at);
  const auto& multiplier = record.bucket_ttl_refill_multiplier;
  multiplier ? row.bind(std::int64_t{*multiplier}) : row.bind_null();
  const auto& policy = record.on_unavailable;
  policy ? row.bind(std::string_view(weir::name_of(*policy))) : row.bind_null();
  row.bind(std::int64_t{record.from_file || at.from_file}).bind(record.current.stamp).bind(earlier);
  const std::string later = changes_of_later(record);
  if (auto done = row.bind(std::string_view(later)).run(); !done) return done;
  const int needed = store::client_of(record);
  if (needed == store::plain_client) return {};
  return require_client(needed);
}

Result<void> CatalogRows::write_entity(std::string_view name_space, const Entity& entity) {
  const std::string metadata = to_json(entity.metadata);
  Statement& row = upsert_entity_.begin();
  row.bind(name_space).bind(std::string_view(entity.id)).bind_or_null(entity.parent);
  row.bind(std::int64_t{entity.cascade}).bind(std::string_view(entity.name)).bind(metadata);
  row.bind(entity.created_at).bind(std::int64_t{entity.from_file});
  const std::string later = changes_of_later(entity);
  if (auto done = row.bind(std::string_view(later)).run(); !done || entity.access.empty()) return done;
  return require_client(store::access_client);
}

Result<void> CatalogRows::delete_entity(std::string_view name_space, std::string_view id) {
  return delete_entity_.begin().bind(name_space).bind(id).run();
}

Result<void> CatalogRows::write_event(std::string_view name_space, const store::AuditEvent& event) {
  Statement& row = add_event_.begin();
  row.bind(name_space).bind(std::string_view(event.id)).bind(event.at);
  row.bind(std::string_view(event.principal)).bind(std::string_view(event.action));
  row.bind(std::string_view(event.subject)).bind_or_null(event.resource);
  auto done = row.bind_or_null(event.before).bind_or_null(event.after).run();
  if (!done || event.action != store::granted_action) return done;
  return require_client(store::access_client);
}

}  // namespace weir::sqlite
