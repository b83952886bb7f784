// Writes the file: one connection, one transaction at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/lock.h"
#include "store/sqlite/batch.h"
#include "store/sqlite/catalog_rows.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/cleaner.h"
#include "store/sqlite/database.h"
#include "store/table/table.h"

namespace weir::sqlite {

/// Safe to use from any thread.
class FileWriter {
 public:
  /// The checkpointer is notified of every commit. It and the clock must outlive the writer. `written_at`:
  /// the time of the last commit in the file; 0: unknown or invalid.
  FileWriter(std::unique_ptr<Database> database, Checkpointer& checkpointer, const Clock& clock,
             Time written_at);

  /// Writes the changes of the table since the last call, and commits. After a failure the next call writes
  /// them again.
  Result<void> flush(table::Table& table);
  /// The same; the table then drops everything that is in the file.
  Result<void> flush_and_let_go(table::Table& table);
  /// Writes a change of the catalog together with the changes of the table. See table::Backing.
  Result<void> keep(table::Table& table, std::string_view name_space, const table::Draft& draft,
                    const std::vector<store::AuditEvent>& events, const std::function<void()>& kept);
  /// Deletes every row of a namespace but leases, which have none. See table::Backing.
  Result<void> erase_namespace(table::Table& table, std::string_view name_space,
                               const std::function<void()>& erased);
  /// Deletes a slice of the expired rows. True: there may be more.
  Result<bool> clean(const Cleaner::Moment& moment);
  /// Whether buckets are added faster than cleaning visits them.
  bool cleaning_is_behind();
  Result<Database::Checkpoint> checkpoint();

  Result<void> set_setting(std::string_view name, std::int64_t value);

  /// For measurements.
  struct Counts {
    std::uint64_t commits = 0;
    std::uint64_t bucket_rows = 0;
    std::uint64_t new_buckets = 0;  ///< of these, new to the file
  };
  Counts counts();
  /// Sets a function that is called after each commit with its duration, syncing included.
  void observe_commits(std::function<void(std::chrono::nanoseconds)> observer);

 private:
  Result<void> flush_locked(table::Table& table) WEIR_REQUIRES(mutex_);
  Result<void> write(const table::Draft& draft, std::string_view name_space,
                     const std::vector<store::AuditEvent>& events) WEIR_REQUIRES(mutex_);
  /// One transaction: writes the batch, calls `more`, and commits. Fails with outcome_unknown if the commit
  /// itself failed: it is rolled back, but after a crash the part that reached the disk could still take
  /// effect.
  Result<void> commit(table::Table& table, const std::function<Result<void>()>& more) WEIR_REQUIRES(mutex_);
  /// Stores the time in the file now and then: see Settings::written_at. Returns the stored time after this
  /// transaction.
  Result<Time> mark_time(table::ClockWatch& watch) WEIR_REQUIRES(mutex_);

  base::Mutex mutex_;
  const std::unique_ptr<Database> database_;
  const Clock& clock_;
  Time written_at_ WEIR_GUARDED_BY(mutex_);
  Batch batch_ WEIR_GUARDED_BY(mutex_);
  Cleaner cleaner_ WEIR_GUARDED_BY(mutex_);
  CatalogRows rows_ WEIR_GUARDED_BY(mutex_);
  Statement close_usage_ WEIR_GUARDED_BY(mutex_);
  Statement delete_buckets_ WEIR_GUARDED_BY(mutex_);
  Statement set_setting_ WEIR_GUARDED_BY(mutex_);
  Counts counts_ WEIR_GUARDED_BY(mutex_);
  std::function<void(std::chrono::nanoseconds)> observer_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::sqlite
