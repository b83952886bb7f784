#include "store/sqlite/file_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/access.h"
#include "limits/names.h"
#include "store/sqlite/batch.h"
#include "store/sqlite/level_row.h"
#include "store/sqlite/namespaces.h"

namespace weir::sqlite {
namespace {

using limits::never;
using table::RecordPtr;
using Past = table::TableCatalog::Past;

constexpr std::size_t most_sets_kept = 65'536;

Result<void> check_set_of_plan(std::string_view plan, std::string_view resource) {
  if (auto known = limits::check_plan(plan); !known) return known;
  return resource == default_resource ? Result<void>() : limits::check_resource(resource);
}

std::string described_set(std::string_view plan, std::string_view resource) {
  std::string text = base::join("plan ", base::quoted(plan));
  if (resource != default_resource) text += base::join(" on resource ", base::quoted(resource));
  return text;
}

Time time_or_never(const Statement& row, int column) {
  return row.is_null(column) ? never : row.integer(column);
}

}  // namespace

std::array<std::byte, 16> bytes_of(const table::Nonce& nonce) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), nonce.data(), bytes.size());
  return bytes;
}

FileReader::FileReader(std::unique_ptr<Database> database)
    : database_(std::move(database)),
      json_(*database_),
      bucket_(
          *database_,
          "SELECT balances, limit_set, refilled_at_ms, expires_at_ms, version, generation, usage_hour_ms, "
          "usage_segment, usage_events, usage_amounts FROM buckets "
          "WHERE namespace = ?1 AND entity = ?2 AND resource = ?3"),
      buckets_of_(
          *database_,
          "SELECT balances, limit_set, refilled_at_ms, expires_at_ms, version, generation, usage_hour_ms, "
          "usage_segment, usage_events, usage_amounts, resource FROM buckets WHERE namespace = ?1 AND entity "
          "= ?2"),
      buckets_on_(
          *database_,
          "SELECT balances, limit_set, refilled_at_ms, expires_at_ms, version, generation, usage_hour_ms, "
          "usage_segment, usage_events, usage_amounts, resource, entity FROM buckets WHERE namespace = ?1 "
          "AND (entity, resource) > (?2, ?3) AND (?4 = '' OR resource = ?4) "
          "AND (expires_at_ms IS NULL OR expires_at_ms > ?5) ORDER BY entity, resource LIMIT ?6"),
      set_(*database_, "SELECT limits FROM limit_sets WHERE id = ?1"),
      lease_(*database_,
             "SELECT ending, amounts, keys, deadline_ms, buckets, CASE WHEN later IS NULL THEN 0 "
             "WHEN json_valid(later) THEN coalesce(later ->> '$.first_deadline_ms', 0) ELSE -1 END "
             "FROM leases WHERE nonce = ?1"),
      events_(*database_,
              "SELECT id, at_ms, principal, action, subject, resource, before, after FROM audit "
              "WHERE namespace = ?1 AND id < ?2 AND at_ms > ?3 ORDER BY id DESC LIMIT ?4"),
      events_of_(
          *database_,
          "SELECT id, at_ms, principal, action, subject, resource, before, after FROM audit "
          "WHERE namespace = ?1 AND id < ?2 AND at_ms > ?3 AND subject = ?5 ORDER BY id DESC LIMIT ?4"),
      usage_rows_(*database_) {}

Result<limits::LimitSetRef> FileReader::limits_of(std::int64_t set_id) {
  if (const auto known = sets_.find(set_id); known != sets_.end()) return known->second;
  auto row = set_.begin().bind(set_id).step();
  if (!row) return row.error();
  if (!*row) return json_.damaged("the limits of a bucket");
  auto set = json_.limit_set(set_.text(0));
  // An open statement would keep the write-ahead log from being reused.
  set_.reset();
  if (!set) return set.error();
  // Equal texts give the same object, and a level may have the same text: see table::can_be_shared().
  if (!table::can_be_shared(**set)) set = limits::copy_of(**set);
  if (sets_.size() >= most_sets_kept) sets_.clear();
  return sets_[set_id] = *std::move(set);
}

Result<RecordPtr> FileReader::record_at(Statement& row, const table::Key& key) {
  auto record = read_record(row, key);
  if (record) return record;
  Error wrong = base::error(ErrorCode::unavailable, "the bucket of ", base::quoted(key.entity), " on ",
                            base::quoted(key.resource), " in namespace ", base::quoted(key.name_space),
                            " cannot be used: ", record.error().message, ". Or delete the entity");
  bad_.report(wrong.message);
  return wrong;
}

Result<RecordPtr> FileReader::read_record(Statement& row, const table::Key& key) {
  if (auto known = limits::check_resource(key.resource); !known) return known.error();
  auto set = limits_of(row.integer(1));
  if (!set) return set.error();
  std::vector<table::Balance> balances((*set)->size());
  std::string holds;
  const auto dormant = read_balances(row.text(0), **set, balances, holds);
  if (!dormant) return json_.damaged("the balances of a bucket");
  if (!bucket::is_stored_time(row.integer(2)) || !bucket::is_stored_time(row.integer(4)))
    return json_.damaged("a time of a bucket");
  // A record with grants must not look like one that the fast path decides.
  if (!holds.empty()) set = limits::copy_of(**set);
  RecordPtr record(table::Record::make(key, *set, holds));
  std::copy(balances.begin(), balances.end(), record->balances());
  record->dormant = *dormant;
  record->refilled_at = row.integer(2);
  record->expires_at = time_or_never(row, 3);
  record->version = row.integer(4);
  record->generation = static_cast<std::uint64_t>(row.integer(5));
  record->stored = true;
  table::set_segment(*record, read_segment(row, *record, key));
  return record;
}

/// The open segment of usage. One that cannot be used is reported, and what it has counted is lost: that must
/// not keep the bucket from deciding.
std::optional<usage::Segment> FileReader::read_segment(const Statement& row, const table::Record& record,
                                                       const table::Key& key) {
  // An earlier version has not counted it; the counters count from here on.
  if (row.is_null(6)) return usage::Segment{.hour = usage::hour_of(record.refilled_at)};
  if (row.integer(6) == not_counted) return std::nullopt;
  usage::Segment segment{
      .hour = row.integer(6), .id = static_cast<std::uint64_t>(row.integer(7)), .events = row.integer(8)};
  auto amounts = read_amounts(row.text(9));
  const bool right = amounts && bucket::is_stored_time(segment.hour) && segment.hour % usage::hour == 0 &&
                     segment.events >= 0 && segment.events <= std::numeric_limits<std::uint32_t>::max() &&
                     std::all_of(amounts->begin(), amounts->end(), [&](const usage::Used& used) {
                       return record.limits->find(used.limit) >= 0;
                     });
  if (right) {
    segment.amounts = *std::move(amounts);
    return segment;
  }
  bad_.report(base::join("the usage of ", base::quoted(key.entity), " on ", base::quoted(key.resource),
                         " in namespace ", base::quoted(key.name_space),
                         " cannot be read; the hour counts from 0 again"));
  return usage::Segment{.hour = usage::hour_of(record.refilled_at), .id = segment.id + 1};
}

Result<RecordPtr> FileReader::load(const table::Key& key) {
  const base::Guard guard(mutex_);
  auto row = bucket_.begin().bind(key.name_space).bind(key.entity).bind(key.resource).step();
  if (!row) return row.error();
  if (!*row) return RecordPtr();
  auto record = record_at(bucket_, key);
  // An open statement would keep the write-ahead log from being reused.
  bucket_.reset();
  return record;
}

Result<std::vector<RecordPtr>> FileReader::load_all(std::string_view name_space, std::string_view entity) {
  const base::Guard guard(mutex_);
  std::vector<RecordPtr> records;
  buckets_of_.begin().bind(name_space).bind(entity);
  for (;;) {
    auto row = buckets_of_.step();
    if (!row) return row.error();
    if (!*row) return records;
    // A bucket that cannot be used keeps its own decisions from being made, and nothing else.
    auto record = record_at(buckets_of_, {name_space, entity, buckets_of_.text(10)});
    if (record) records.push_back(*std::move(record));
  }
}

/// The primary key has the order of the listing, so a page reads only the rows from its cursor to its end.
Result<store::Page<RecordPtr>> FileReader::records(std::string_view name_space, std::string_view resource,
                                                   const store::Paging& paging, Time now) {
  const base::Guard guard(mutex_);
  const auto [entity, after] = store::names_of(paging.cursor);
  store::Page<RecordPtr> page;
  std::string last;
  buckets_on_.begin().bind(name_space).bind(entity).bind(after).bind(resource).bind(now);
  buckets_on_.bind(static_cast<std::int64_t>(paging.limit) + 1);
  for (std::size_t read = 0;; ++read) {
    auto row = buckets_on_.step();
    if (!row) return row.error();
    if (!*row) return page;
    if (read == paging.limit) {
      page.next = last;
      buckets_on_.reset();
      return page;
    }
    const table::Key key{name_space, buckets_on_.text(11), buckets_on_.text(10)};
    last = store::place_of(key.entity, key.resource);
    // One that cannot be used is reported, and left out.
    auto record = record_at(buckets_on_, key);
    if (record) page.items.push_back(*std::move(record));
  }
}

Result<store::Page<Bucket>> FileReader::list_on(std::string_view name_space, std::string_view resource,
                                                const store::Paging& paging, Time now) {
  auto records_of_page = records(name_space, resource, paging, now);
  if (!records_of_page) return records_of_page.error();
  store::Page<Bucket> page{.items = {}, .next = std::move(records_of_page->next)};
  for (const RecordPtr& record : records_of_page->items) page.items.push_back(table::bucket_of(*record));
  return page;
}

Result<std::vector<std::string>> FileReader::namespaces() {
  const base::Guard guard(mutex_);
  return namespaces_in(*database_, maxima::namespaces);
}

Result<std::optional<table::Marker>> FileReader::load_marker(const table::Nonce& nonce) {
  const base::Guard guard(mutex_);
  const auto bytes = bytes_of(nonce);
  auto row = lease_.begin().bind_blob(bytes).step();
  if (!row) return row.error();
  if (!*row) return std::optional<table::Marker>();
  auto ending = json_.ending(lease_.text(0));
  auto amounts = json_.amounts(lease_.text(1));
  auto keys = json_.texts(lease_.text(2));
  const Time deadline = lease_.integer(3);
  auto buckets = json_.lease_buckets(lease_.text(4));
  const Time first_deadline = lease_.integer(5);
  lease_.reset();
  const bool times = bucket::is_stored_time(deadline) && bucket::is_stored_time(first_deadline);
  if (ending && amounts && keys && buckets && times) {
    table::Marker marker{
        {*ending, *std::move(amounts), *std::move(keys)}, deadline, *std::move(buckets), first_deadline};
    if (decision::can_be_used(marker.record)) return std::optional(std::move(marker));
  }
  Error wrong = json_.damaged("the row of a lease");
  bad_.report(wrong.message);
  return wrong;
}

Result<store::Page<store::AuditEvent>> FileReader::audit(std::string_view name_space,
                                                         std::string_view subject,
                                                         const store::Paging& paging, Time oldest) {
  const base::Guard guard(mutex_);
  store::Page<store::AuditEvent> page;
  Statement& events = subject.empty() ? events_ : events_of_;
  // Ids are digits, so everything sorts before this.
  const std::string_view before = paging.cursor.empty() ? std::string_view("~") : paging.cursor;
  const auto limit = static_cast<std::int64_t>(paging.limit);
  events.begin().bind(name_space).bind(before).bind(oldest).bind(limit + 1);
  if (!subject.empty()) events.bind(subject);
  for (;;) {
    auto row = events.step();
    if (!row) return row.error();
    if (!*row) return page;
    if (page.items.size() == paging.limit) {
      page.next = page.items.back().id;
      events.reset();
      return page;
    }
    const auto text = [&](int column) { return std::string(events.text(column)); };
    page.items.push_back({.id = text(0),
                          .at = events.integer(1),
                          .principal = text(2),
                          .action = text(3),
                          .subject = text(4),
                          .resource = text(5),
                          .before = text(6),
                          .after = text(7)});
  }
}

Result<store::Page<Usage>> FileReader::usage(const store::UsageQuery& query, const usage::Position& after,
                                             std::size_t limit) {
  const base::Guard guard(mutex_);
  return usage_rows_.read(query, after, limit,
                          [this](const std::string& sentence) { bad_.report(sentence); });
}

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

Result<void> FileReader::check_records() {
  if (auto read = past(); !read) return read.error();
  const base::Guard guard(mutex_);
  Statement rows(
      *database_,
      "SELECT balances, limit_set, refilled_at_ms, expires_at_ms, version, generation, usage_hour_ms, "
      "usage_segment, usage_events, usage_amounts, namespace, entity, resource FROM buckets");
  rows.begin();
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return {};
    (void)record_at(rows, {rows.text(10), rows.text(11), rows.text(12)});
  }
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
