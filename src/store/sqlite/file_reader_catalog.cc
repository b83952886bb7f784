// Reads the catalog from the file: limits, plans, entities, and their latest stamp and audit id.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "limits/access.h"
#include "limits/names.h"
#include "store/sqlite/file_reader.h"
#include "store/sqlite/level_row.h"

namespace weir::sqlite {
namespace {

using Past = table::TableCatalog::Past;

Result<void> check_set_of_plan(std::string_view plan, std::string_view resource) {
  if (auto known = limits::check_plan(plan); !known) return known;
  return resource == default_resource ? Result<void>() : limits::check_resource(resource);
}

std::string described_set(std::string_view plan, std::string_view resource) {
  std::string text = base::join("plan ", base::quoted(plan));
  if (resource != default_resource) text += base::join(" on resource ", base::quoted(resource));
  return text;
}

}  // namespace

Result<Past> FileReader::past() {
  const base::Guard guard(mutex_);
  Past past;
  if (auto read = read_limits(past); !read) return read.error();
  if (auto read = read_entities(past); !read) return read.error();
  if (auto read = read_stamps(past); !read) return read.error();
  for (const auto& [name_space, tenant] : past.tenants) {
    for (const auto& [id, entity] : tenant.entities) {
      if (!entity.plan.empty() && !tenant.plans.contains(entity.plan) && !tenant.bad_entities.contains(id))
        bad_.report(table::missing_plan(name_space, id, entity.plan));
    }
  }
  return past;
}

Result<void> FileReader::read_limits(Past& past) {
  Statement rows(
      *database_,
      "SELECT namespace, entity, resource, limits, owner, expires_at_ms, "
      "bucket_ttl_refill_multiplier, on_unavailable, from_file, stamp, earlier, "
      "CASE WHEN later IS NULL THEN 0 WHEN json_valid(later) THEN coalesce(later ->> '$.inherit', 0) "
      "ELSE -1 END, CASE WHEN json_valid(later) THEN later ->> '$.usage' END, "
      "CASE WHEN json_valid(later) THEN later ->> '$.namespace' END FROM limits");
  rows.begin();
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return {};
    const auto plan = plan_of_row(rows.text(1));
    const Level level = level_of_row(rows.text(1), rows.text(2));
    if (auto known = plan ? check_set_of_plan(*plan, rows.text(2)) : limits::check_level(level); !known) {
      bad_.report(base::join(database_->path(), ": a row of limits in namespace ", base::quoted(rows.text(0)),
                             " cannot be used: ", known.error().message, ". Delete the row"));
      continue;
    }
    auto record = record_of(rows);
    if (!record) {
      record = bad_record_of(rows, plan ? described_set(*plan, rows.text(2)) : table::described(level),
                             record.error());
    }
    if (plan) {
      add_set(past, rows, *plan, **record);
      continue;
    }
    past.last_stamp = std::max(past.last_stamp, (*record)->current.stamp);
    past.tenants[std::string(rows.text(0))].limits.emplace(table::level_key(level),
                                                           limits::LimitsRecordRef(record->get()));
  }
}

Result<base::Ref<limits::LimitsRecord>> FileReader::record_of(const Statement& row) {
  auto record = base::make_ref<limits::LimitsRecord>();
  record->current.stamp = row.integer(9);
  if (!row.is_null(3)) {
    auto set = json_.limit_set(row.text(3));
    if (!set) return set.error();
    record->current.limits = *std::move(set);
    if (record->current.limits->size() > limits::max_limits) return json_.damaged("a set of limits");
  }
  if (!limits::can_be_used(record->current)) return json_.damaged("the stamp");
  record->owner = row.text(4) == "sync" ? Owner::sync : Owner::operator_;
  record->expires_at = time_or_never(row, 5);
  if (!row.is_null(6)) {
    const std::int64_t multiplier = row.integer(6);
    if (multiplier < 1 || multiplier > std::numeric_limits<int>::max())
      return json_.damaged("bucket_ttl_refill_multiplier");
    record->bucket_ttl_refill_multiplier = static_cast<int>(multiplier);
  }
  if (!row.is_null(7))
    record->on_unavailable = row.text(7) == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
  record->from_file = row.integer(8) != 0;
  auto earlier = json_.versions(row.text(10));
  if (!earlier) return earlier.error();
  record->earlier = *std::move(earlier);
  if (row.integer(11) != 0 && row.integer(11) != 1) return json_.damaged("the fields of later versions");
  record->current.gap = row.integer(11) == 1;
  if (!row.is_null(12)) record->usage = base::parse_on_or_off(row.text(12));
  const auto mark = limits::decode_mark(row.is_null(13) ? std::string_view() : row.text(13));
  if (!mark) return json_.damaged("the state of the namespace");
  record->name_space = *mark;
  return record;
}

/// Adds a row to the plan that it belongs to.
void FileReader::add_set(Past& past, const Statement& row, std::string_view plan,
                         const limits::LimitsRecord& record) {
  past.last_stamp = std::max(past.last_stamp, record.current.stamp);
  auto& plans = past.tenants[std::string(row.text(0))].plans;
  const auto found = plans.find(plan);
  auto next = found == plans.end() ? base::make_ref<limits::PlanRecord>()
                                   : base::make_ref<limits::PlanRecord>(*found->second);
  const limits::LimitsRecordRef set(&record);
  if (row.text(2) == default_resource) {
    next->limits = set;
  } else {
    next->resources[std::string(row.text(2))] = set;
  }
  next->from_file = next->from_file || row.integer(8) != 0;
  if (next->bad.empty()) next->bad = record.bad;
  plans[std::string(plan)] = limits::PlanRecordRef(next.get());
}

/// A record in place of one that cannot be used.
base::Ref<limits::LimitsRecord> FileReader::bad_record_of(const Statement& row, const std::string& of,
                                                          const Error& why) {
  auto record = base::make_ref<limits::LimitsRecord>();
  record->current.stamp = row.integer(9);
  if (!limits::can_be_used(record->current)) record->current.stamp = 0;
  record->owner = row.text(4) == "sync" ? Owner::sync : Owner::operator_;
  record->bad =
      base::join("the limits of ", of, " in namespace ", base::quoted(row.text(0)),
                 " cannot be used: ", why.message, ". The next level applies; set or delete these limits");
  bad_.report(record->bad);
  return record;
}

Result<void> FileReader::read_entities(Past& past) {
  Statement rows(
      *database_,
      "SELECT namespace, id, parent, cascade, name, metadata, created_at_ms, from_file, "
      "CASE WHEN later IS NULL THEN 0 WHEN json_valid(later) THEN coalesce(later ->> '$.plan_stamp', 0) "
      "ELSE -1 END, CASE WHEN json_valid(later) THEN later ->> '$.plan' END, "
      "CASE WHEN json_valid(later) THEN later ->> '$.access' END FROM entities");
  rows.begin();
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return {};
    table::Tenant& tenant = past.tenants[std::string(rows.text(0))];
    const std::string id(rows.text(1));
    auto entity = entity_of(rows);
    if (!entity) {
      const std::string sentence =
          base::join("entity ", base::quoted(id), " in namespace ", base::quoted(rows.text(0)),
                     " cannot be used: ", entity.error().message, ". Put or delete the entity");
      bad_.report(sentence);
      if (!limits::check_entity(id)) continue;
      tenant.bad_entities.emplace(id, sentence);
      // It counts as a member of its plan until a put replaces it; without a stamp, so that it counts as new
      // if the plan is assigned again.
      entity = Entity{.id = id, .plan = std::string(rows.text(9))};
      if (!limits::check_plan(entity->plan)) entity->plan.clear();
    }
    past.last_stamp = std::max(past.last_stamp, entity->plan_stamp);
    tenant.entities.insert_or_assign(tenant.entities.end(), id, *std::move(entity));
  }
}

Result<Entity> FileReader::entity_of(const Statement& row) {
  Entity entity{.id = std::string(row.text(1)),
                .parent = std::string(row.text(2)),
                .cascade = row.integer(3) != 0,
                .name = std::string(row.text(4))};
  if (auto known = limits::check_entity(entity.id); !known) return known.error();
  if (!entity.parent.empty()) {
    if (auto known = limits::check_entity(entity.parent); !known) return known.error();
    if (entity.parent == entity.id) return json_.damaged("its parent, which is itself,");
  }
  auto metadata = json_.metadata(row.text(5));
  if (!metadata) return metadata.error();
  entity.metadata = *std::move(metadata);
  entity.created_at = row.integer(6);
  entity.from_file = row.integer(7) != 0;
  entity.plan_stamp = row.integer(8);
  if (entity.plan_stamp < 0 || entity.plan_stamp > limits::latest_stamp)
    return json_.damaged("the stamp of its plan");
  entity.plan = row.text(9);
  if (!entity.plan.empty()) {
    if (auto known = limits::check_plan(entity.plan); !known) return known.error();
  }
  if (!limits::decode_access(row.text(10), entity)) return json_.damaged("the rules of its access");
  return entity;
}

Result<void> FileReader::read_stamps(Past& past) {
  // Deleted limits and entities leave tombstones, so the rows have every stamp. Part of the audit may have
  // been deleted, with older ids than the rest.
  Statement last(*database_,
                 "SELECT max(substr(id, 1, 14)), max(substr(id, 16)) FROM (SELECT max(id) AS id FROM audit "
                 "GROUP BY namespace)");
  auto row = last.begin().step();
  if (!row) return row.error();
  if (!*row || last.is_null(0)) return {};
  past.audited_to = base::parse_digits(std::string(last.text(0))).value_or(0);
  past.audit_sequence = static_cast<std::uint64_t>(base::parse_digits(std::string(last.text(1))).value_or(0));
  return {};
}

}  // namespace weir::sqlite
