// Reads the file on a separate connection, so that reads do not wait for commits.
#pragma once

#include <memory>

#include "base/lock.h"
#include "store/bad_records.h"
#include "store/sqlite/codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/usage_file.h"
#include "store/table/backing.h"
#include "store/table/catalog.h"

namespace weir::sqlite {

/// Safe to use from any thread.
class FileReader {
 public:
  explicit FileReader(std::unique_ptr<Database> database);

  Result<table::RecordPtr> load(const table::Key& key);
  Result<std::vector<table::RecordPtr>> load_all(std::string_view name_space, std::string_view entity);
  /// As store::Buckets::list_on().
  Result<store::Page<Bucket>> list_on(std::string_view name_space, std::string_view resource,
                                      const store::Paging& paging, Time now);
  /// The same buckets as records.
  Result<store::Page<table::RecordPtr>> records(std::string_view name_space, std::string_view resource,
                                                const store::Paging& paging, Time now);
  Result<std::vector<std::string>> namespaces();
  Result<std::optional<table::Marker>> load_marker(const table::Nonce& nonce);
  Result<store::Page<store::AuditEvent>> audit(std::string_view name_space, std::string_view subject,
                                               const store::Paging& paging, Time oldest);
  Result<store::Page<Usage>> usage(const store::UsageQuery& query, const usage::Position& after,
                                   std::size_t limit);
  /// Limits, plans, entities, and their latest stamp and audit id.
  Result<table::TableCatalog::Past> past();
  /// Reads every record, so that bad() knows those that cannot be used.
  Result<void> check_records();
  const store::BadRecords& bad() const { return bad_; }

 private:
  Result<table::RecordPtr> record_at(Statement& row, const table::Key& key) WEIR_REQUIRES(mutex_);
  Result<table::RecordPtr> read_record(Statement& row, const table::Key& key) WEIR_REQUIRES(mutex_);
  std::optional<usage::Segment> read_segment(const Statement& row, const table::Record& record,
                                             const table::Key& key) WEIR_REQUIRES(mutex_);
  Result<base::Ref<limits::LimitsRecord>> record_of(const Statement& row) WEIR_REQUIRES(mutex_);
  base::Ref<limits::LimitsRecord> bad_record_of(const Statement& row, const std::string& of, const Error& why)
      WEIR_REQUIRES(mutex_);
  static void add_set(table::TableCatalog::Past& past, const Statement& row, std::string_view plan,
                      const limits::LimitsRecord& record);
  static Time time_or_never(const Statement& row, int column);
  Result<Entity> entity_of(const Statement& row) WEIR_REQUIRES(mutex_);
  Result<limits::LimitSetRef> limits_of(std::int64_t set_id) WEIR_REQUIRES(mutex_);
  Result<void> read_limits(table::TableCatalog::Past& past) WEIR_REQUIRES(mutex_);
  Result<void> read_entities(table::TableCatalog::Past& past) WEIR_REQUIRES(mutex_);
  Result<void> read_stamps(table::TableCatalog::Past& past) WEIR_REQUIRES(mutex_);

  store::BadRecords bad_;
  base::Mutex mutex_;
  const std::unique_ptr<Database> database_;
  JsonDecoder json_ WEIR_GUARDED_BY(mutex_);
  Statement bucket_ WEIR_GUARDED_BY(mutex_);
  Statement buckets_of_ WEIR_GUARDED_BY(mutex_);
  Statement buckets_on_ WEIR_GUARDED_BY(mutex_);
  Statement set_ WEIR_GUARDED_BY(mutex_);
  Statement lease_ WEIR_GUARDED_BY(mutex_);
  Statement events_ WEIR_GUARDED_BY(mutex_);
  Statement events_of_ WEIR_GUARDED_BY(mutex_);
  UsageRows usage_rows_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::int64_t, limits::LimitSetRef> sets_ WEIR_GUARDED_BY(mutex_);
};

/// The bytes of a nonce as they are stored.
std::array<std::byte, 16> bytes_of(const table::Nonce& nonce);

}  // namespace weir::sqlite
