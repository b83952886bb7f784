#include "store/sqlite/batch.h"

#include <algorithm>

#include "base/wide.h"
#include "store/sqlite/file_reader.h"

namespace weir::sqlite {
namespace {

constexpr std::size_t most_set_ids = 65'536;

}  // namespace

Batch::Batch(Database& database)
    : database_(database),
      upsert_bucket_(
          database,
          "INSERT INTO buckets (namespace, entity, resource, balances, limit_set, refilled_at_ms, "
          "expires_at_ms, version, generation, usage_hour_ms, usage_segment, usage_events, usage_amounts) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) "
          "ON CONFLICT DO UPDATE SET balances = excluded.balances, limit_set = excluded.limit_set, "
          "refilled_at_ms = excluded.refilled_at_ms, expires_at_ms = excluded.expires_at_ms, "
          "version = excluded.version, generation = excluded.generation, "
          "usage_hour_ms = excluded.usage_hour_ms, usage_segment = excluded.usage_segment, "
          "usage_events = excluded.usage_events, usage_amounts = excluded.usage_amounts, "
          // The fields of an expired bucket do not carry over to its successor.
          "later = iif(generation = excluded.generation, later, NULL)"),
      update_bucket_(
          database,
          "UPDATE buckets SET balances = ?4, limit_set = ?5, refilled_at_ms = ?6, expires_at_ms = ?7, "
          "version = ?8, generation = ?9, usage_hour_ms = ?10, usage_segment = ?11, usage_events = ?12, "
          "usage_amounts = ?13, later = iif(generation = ?9, later, NULL) "
          "WHERE namespace = ?1 AND entity = ?2 AND resource = ?3"),
      close_usage_(database, close_open_usage),
      upsert_lease_(database,
                    "INSERT INTO leases (nonce, ending, amounts, keys, deadline_ms, buckets, later) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, iif(?7, json_object('first_deadline_ms', ?7), NULL)) "
                    "ON CONFLICT DO UPDATE SET ending = excluded.ending, amounts = excluded.amounts, "
                    "keys = excluded.keys, deadline_ms = excluded.deadline_ms, buckets = excluded.buckets, "
                    // Fields of later versions stay.
                    "later = nullif(iif(?7, json_set(coalesce(later, '{}'), '$.first_deadline_ms', ?7), "
                    "json_remove(later, '$.first_deadline_ms')), '{}')"),
      upsert_usage_(
          database,
          "INSERT INTO usage (namespace, entity, resource, start_ms, window, segment, amounts, events) "
          "VALUES (?1, ?2, ?3, ?4, 'hour', ?5, ?6, ?7) "
          // A segment that the cleaner has copied from its bucket may have been behind memory.
          "ON CONFLICT DO UPDATE SET amounts = excluded.amounts, events = excluded.events "
          "WHERE excluded.events > events"),
      find_set_(database, "SELECT id FROM limit_sets WHERE limits = ?1"),
      add_set_(database, "INSERT INTO limit_sets (limits) VALUES (?1) RETURNING id") {}

// Called with every shard of the table locked, so it only copies.
void Batch::put(const table::Record& record) {
  const std::string_view key = record.entity_and_resource();
  rows_.push_back({.text_at = texts_.size(),
                   .balances_at = balances_.size(),
                   .entity_size = record.entity_size,
                   .resource_size = record.resource_size,
                   .name_space_size = record.name_space_size,
                   .holds_size = record.holds_size,
                   .refilled_at = record.refilled_at,
                   .expires_at = record.expires_at,
                   .version = record.version,
                   .generation = record.generation,
                   .dormant = record.dormant,
                   .usage_hour = record.counts_usage() ? record.hour : not_counted,
                   .usage_segment = record.segment,
                   .usage_events = record.events,
                   .is_new = !record.stored,
                   .limits = record.limits});
  texts_.append(key);
  texts_.append(record.name_space());
  texts_.append(record.holds());
  balances_.insert(balances_.end(), record.balances(), record.balances() + record.limit_count);
  if (!record.stored) ++new_buckets_;
}

void Batch::put(const table::Nonce& nonce, const table::Marker& marker) {
  markers_.emplace_back(nonce, marker);
}

Result<void> Batch::write() {
  // Sorted, because neighbouring rows share pages. Several rows of one bucket keep their order.
  std::sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
    const int order = key_text(a).compare(key_text(b));
    return order != 0 ? order < 0 : a.text_at < b.text_at;
  });
  for (const Row& row : rows_) {
    if (auto written = write_bucket(row); !written) return written;
  }
  for (const auto& [nonce, marker] : markers_) {
    if (auto written = write_marker(nonce, marker); !written) return written;
  }
  for (const table::ClosedSegment& closed : closed_) {
    if (auto written = write_usage(closed); !written) return written;
  }
  return {};
}

void Batch::clear() {
  texts_.clear();
  balances_.clear();
  rows_.clear();
  markers_.clear();
  closed_.clear();
  new_buckets_ = 0;
}

Result<void> Batch::write_bucket(const Row& row) {
  auto id = set_id(row.limits);
  if (!id) return id.error();
  scratch_.clear();
  append_balances(scratch_, *row.limits, {balances_.data() + row.balances_at, row.limits->size()},
                  row.dormant, holds(row));
  if (row.is_new) {
    if (auto closed = close_predecessor(row); !closed) return closed;
  }
  append_usage(row);
  // An update costs a tenth less than an upsert. The row may be gone: the cleaner deletes expired ones.
  if (!row.is_new) {
    if (auto updated = bind_bucket(update_bucket_, row, *id).run(); !updated) return updated;
    if (database_.changed_rows() > 0) return {};
  }
  return bind_bucket(upsert_bucket_, row, *id).run();
}

Statement& Batch::bind_bucket(Statement& statement, const Row& row, std::int64_t limit_set) {
  const std::string_view key = key_text(row);
  statement.begin()
      .bind(key.substr(row.entity_size + row.resource_size))
      .bind(key.substr(0, row.entity_size))
      .bind(key.substr(row.entity_size, row.resource_size))
      .bind(scratch_)
      .bind(limit_set)
      .bind(row.refilled_at);
  if (row.expires_at == limits::never) {
    statement.bind_null();
  } else {
    statement.bind(row.expires_at);
  }
  return statement.bind(row.version)
      .bind(static_cast<std::int64_t>(row.generation))
      .bind(row.usage_hour)
      .bind(static_cast<std::int64_t>(row.usage_segment))
      .bind(std::int64_t{row.usage_events})
      .bind(amounts_);
}

/// Keeps the usage of an expired bucket of the same name whose row is still there.
Result<void> Batch::close_predecessor(const Row& row) {
  const std::string_view key = key_text(row);
  return close_usage_.begin()
      .bind(key.substr(row.entity_size + row.resource_size))
      .bind(key.substr(0, row.entity_size))
      .bind(key.substr(row.entity_size, row.resource_size))
      .bind_null()
      .bind(static_cast<std::int64_t>(row.generation))
      .run();
}

/// Sets `amounts_` to what the open segment has counted.
void Batch::append_usage(const Row& row) {
  amounts_ = "{";
  if (row.usage_hour != not_counted) {
    for (std::size_t i = 0; i < row.limits->size(); ++i) {
      const table::Balance& balance = balances_[row.balances_at + i];
      append_amount(amounts_, row.limits->name(i), base::wrapping_sub(balance.consumed, balance.counted));
    }
  }
  amounts_ += '}';
}

Result<void> Batch::write_usage(const table::ClosedSegment& closed) {
  amounts_ = "{";
  for (const usage::Used& used : closed.segment.amounts) append_amount(amounts_, used.limit, used.amount);
  amounts_ += '}';
  return upsert_usage_.begin()
      .bind(std::string_view(closed.name_space))
      .bind(std::string_view(closed.entity))
      .bind(std::string_view(closed.resource))
      .bind(closed.segment.hour)
      .bind(static_cast<std::int64_t>(closed.segment.id))
      .bind(amounts_)
      .bind(closed.segment.events)
      .run();
}

Result<void> Batch::write_marker(const table::Nonce& nonce, const table::Marker& marker) {
  const auto bytes = bytes_of(nonce);
  const std::string amounts = to_json(marker.record.amounts);
  const std::string keys = to_json(marker.record.keys);
  upsert_lease_.begin().bind_blob(bytes).bind(std::string_view(name_of(marker.record.ending)));
  const std::string buckets = to_json(marker.buckets);
  return upsert_lease_.bind(amounts)
      .bind(keys)
      .bind(marker.deadline)
      .bind(buckets)
      .bind(marker.first_deadline)
      .run();
}

Result<std::int64_t> Batch::set_id(const limits::LimitSetRef& set) {
  if (const auto known = set_ids_.find(set.get()); known != set_ids_.end()) return known->second.id;
  const std::string json = to_json(*set);
  auto row = find_set_.begin().bind(json).step();
  if (!row) return row.error();
  std::int64_t id = 0;
  if (*row) {
    id = find_set_.integer(0);
    find_set_.reset();
  } else {
    auto added = add_set_.begin().bind(json).step();
    if (!added) return added.error();
    id = add_set_.integer(0);
    if (auto finished = add_set_.run(); !finished) return finished.error();
  }
  if (set_ids_.size() >= most_set_ids) set_ids_.clear();
  set_ids_.emplace(set.get(), KnownSet{set, id});
  return id;
}

}  // namespace weir::sqlite
