#include "store/sqlite/file_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"
#include "store/sqlite/batch.h"
#include "store/sqlite/namespaces.h"

namespace weir::sqlite {
namespace {

using table::RecordPtr;

constexpr std::size_t most_sets_kept = 65'536;

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

Time FileReader::time_or_never(const Statement& row, int column) {
  return row.is_null(column) ? limits::never : row.integer(column);
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

}  // namespace weir::sqlite
