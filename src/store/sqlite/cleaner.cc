#include "store/sqlite/cleaner.h"

#include <algorithm>

namespace weir::sqlite {

Cleaner::Cleaner(Database& database)
    : database_(database),
      next_buckets_(database,
                    "SELECT namespace, entity, resource, expires_at_ms FROM buckets "
                    "WHERE (namespace, entity, resource) > (?1, ?2, ?3) "
                    "ORDER BY namespace, entity, resource LIMIT ?4"),
      close_usage_(database, close_open_usage),
      delete_bucket_(database,
                     "DELETE FROM buckets WHERE namespace = ?1 AND entity = ?2 AND resource = ?3 "
                     "AND expires_at_ms <= ?4"),
      last_lease_(database,
                  "SELECT max(deadline_ms), count(*) FROM (SELECT deadline_ms FROM leases "
                  "WHERE deadline_ms < ?1 ORDER BY deadline_ms LIMIT ?2)"),
      delete_leases_(database, "DELETE FROM leases WHERE deadline_ms <= ?1"),
      remember_leases_(database,
                       "INSERT INTO settings (name, value) VALUES ('leases_forgotten_to_ms', ?1) "
                       "ON CONFLICT DO UPDATE SET value = max(value, excluded.value)"),
      delete_audit_(database,
                    "DELETE FROM audit WHERE (namespace, id) IN (SELECT namespace, id FROM audit "
                    "WHERE at_ms <= ?1 ORDER BY at_ms LIMIT ?2) RETURNING 1"),
      usage_(database) {}

Result<bool> Cleaner::clean(const Moment& moment) {
  Transaction transaction(database_);
  if (auto begun = transaction.begin(); !begun) return begun.error();
  slice_ = std::max(owed_, least_slice);
  auto buckets = clean_buckets(moment.now);
  if (!buckets) return buckets;
  auto leases = clean_leases(moment.now);
  if (!leases) return leases;
  auto audit = clean_audit(moment.oldest_audit);
  if (!audit) return audit;
  auto usage = usage_.fold(moment.now, moment.usage_kept, slice_);
  if (!usage) return usage;
  if (auto committed = transaction.commit(); !committed) return committed.error();
  owed_ -= std::min(owed_, slice_);
  return *buckets || *leases || *audit || *usage;
}

Result<std::vector<Cleaner::BucketKey>> Cleaner::expired_in_next_slice(Time now, bool& at_end) {
  std::vector<BucketKey> expired;
  std::size_t looked_at = 0;
  BucketKey last;
  next_buckets_.begin()
      .bind(std::string_view(cleaned_to_.name_space))
      .bind(std::string_view(cleaned_to_.entity))
      .bind(std::string_view(cleaned_to_.resource))
      .bind(static_cast<std::int64_t>(slice_));
  for (;; ++looked_at) {
    auto row = next_buckets_.step();
    if (!row) return row.error();
    if (!*row) break;
    last = {std::string(next_buckets_.text(0)), std::string(next_buckets_.text(1)),
            std::string(next_buckets_.text(2))};
    if (!next_buckets_.is_null(3) && next_buckets_.integer(3) <= now) expired.push_back(last);
  }
  at_end = looked_at < slice_;
  cleaned_to_ = at_end ? BucketKey{} : last;
  return expired;
}

Result<bool> Cleaner::clean_buckets(Time now) {
  bool at_end = false;
  auto expired = expired_in_next_slice(now, at_end);
  if (!expired) return expired.error();
  for (const BucketKey& key : *expired) {
    for (Statement* const statement : {&close_usage_, &delete_bucket_}) {
      auto done = statement->begin()
                      .bind(std::string_view(key.name_space))
                      .bind(std::string_view(key.entity))
                      .bind(std::string_view(key.resource))
                      .bind(now)
                      .run();
      if (!done) return done.error();
    }
  }
  return !at_end;
}

/// A lease whose marker was deleted must not be changed again, even if the clock goes back: the file stores
/// the latest deadline of the deleted markers.
Result<bool> Cleaner::clean_leases(Time now) {
  auto row = last_lease_.begin().bind(now).bind(static_cast<std::int64_t>(slice_)).step();
  if (!row) return row.error();
  const bool some = !last_lease_.is_null(0);
  const Time last = last_lease_.integer(0);
  const std::int64_t count = last_lease_.integer(1);
  last_lease_.reset();
  if (!some) return false;
  if (auto done = remember_leases_.begin().bind(last).run(); !done) return done.error();
  if (auto done = delete_leases_.begin().bind(last).run(); !done) return done.error();
  return count == static_cast<std::int64_t>(slice_);
}

Result<bool> Cleaner::clean_audit(Time oldest) {
  delete_audit_.begin().bind(oldest).bind(static_cast<std::int64_t>(slice_));
  std::size_t deleted = 0;
  for (;;) {
    auto row = delete_audit_.step();
    if (!row) return row.error();
    if (!*row) return deleted == slice_;
    ++deleted;
  }
}

}  // namespace weir::sqlite
