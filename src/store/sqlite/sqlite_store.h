// `sqlite:PATH`: decides in memory and stores everything in one file. A caller is answered once the changes
// behind its answer are on the disk.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/entropy.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/file_reader.h"
#include "store/sqlite/file_writer.h"
#include "store/sqlite/writer.h"
#include "store/store.h"
#include "store/table/catalog.h"
#include "store/table/table.h"

namespace weir::sqlite {

/// The table, with a commit of each change before its completion is called.
class DurableBuckets final : public store::Buckets {
 public:
  DurableBuckets(table::Table& table, Writer& writer, FileWriter& file_writer, FileReader& file_reader,
                 const Clock& clock)
      : table_(table), writer_(writer), file_writer_(file_writer), file_reader_(file_reader), clock_(clock) {}

  std::uint64_t token_of(std::string_view name_space) const override { return table_.token_of(name_space); }
  bool carries_every() const override { return true; }
  bool start_carried(const store::Request& request, Decision& decision,
                     store::Completion<store::Progress> done) override;
  void acquire(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override;
  void peek(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override {
    table_.peek(plan, decision, done);
  }
  void correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
               store::Completion<store::Progress> done) override;
  void change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done) override;
  void begin_round() override { writer_.begin_round(); }
  void end_round() override { writer_.end_round(); }
  void list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
            store::Completion<store::Page<Bucket>> done) override {
    table_.list(name_space, entity, paging, done);
  }
  void list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
               store::Completion<store::Page<Bucket>> done) override {
    // Everything is read from the file, so it must have everything.
    if (auto flushed = file_writer_.flush(table_); !flushed) return done(flushed.error());
    done(file_reader_.list_on(name_space, resource, paging, clock_.now()));
  }

 private:
  table::Table& table_;
  Writer& writer_;
  FileWriter& file_writer_;
  FileReader& file_reader_;
  const Clock& clock_;
};

struct OpenOptions {
  std::shared_ptr<const Clock> clock;
  std::chrono::milliseconds wait_for_file{0};
  bool create = true;       ///< create the file if it is missing
  bool checkpoints = true;  ///< false, for measurements: the log grows until the file is closed
};

/// Safe to use from any thread. Owns the file until it is destroyed.
class SqliteStore final : public store::Store, private table::Backing, private store::UsageReader {
 public:
  /// Creates a missing file, and migrates one of an earlier version.
  static Result<std::shared_ptr<SqliteStore>> open(const std::string& path, const OpenOptions& options,
                                                   base::Entropy& entropy);
  ~SqliteStore() override;

  store::Buckets& buckets() override { return buckets_; }
  store::Catalog& catalog() override { return catalog_; }
  store::UsageReader& usage() override { return *this; }
  const store::LeaseKey& lease_key() const override { return lease_key_; }
  Result<void> health() const override {
    const Error* const failure = writer_.failure();
    return failure == nullptr ? Result<void>() : Result<void>(*failure);
  }
  Time now() const override { return clock_->now(); }
  std::vector<store::Counter> counters() const override {
    std::vector<store::Counter> counters = table_.clock_watch().counters();
    counters.push_back(file_reader_.bad().counter());
    return counters;
  }
  std::vector<std::string> warnings() const override;
  Result<void> keep_audit_for(Time duration) override;
  Result<void> keep_usage(const store::UsageKept& kept) override;
  Result<std::vector<std::string>> namespaces() override {
    // Everything is read from the file, so it must have everything.
    if (auto flushed = file_writer_.flush(table_); !flushed) return flushed.error();
    return file_reader_.namespaces();
  }
  Result<void> erase_namespace(std::string_view name_space) override {
    return catalog_.erase_namespace(name_space);
  }

  void announce(const std::string& how) override { lock_.announce(how); }
  /// The observer is called with the writer locked.
  void observe_commits(const std::function<void(std::chrono::nanoseconds)>& observer) override {
    file_writer_.observe_commits(observer);
  }

  const Clock& clock() const { return *clock_; }
  /// Writes everything and drops all buckets from memory: each is read again when it is needed.
  Result<void> let_go_of_buckets() { return file_writer_.flush_and_let_go(table_); }
  /// Cleans a slice at once, as the writer does regularly. True: the round has not ended.
  Result<bool> clean() { return file_writer_.clean(moment()); }
  FileWriter::Counts counts() { return file_writer_.counts(); }
  std::size_t buckets_in_memory() { return table_.size(); }

 private:
  /// The settings stored in the file.
  struct Settings {
    store::LeaseKey lease_key{};
    Time keep_audit_for = 0;
    store::UsageKept usage_kept;
    Time leases_forgotten_to = 0;
    Time written_at = 0;   ///< by the clock of its last commit, to within some seconds
    bool new_key = false;  ///< the lease key was replaced: earlier leases are void
  };
  struct Parts {
    FileLock lock;
    std::unique_ptr<Database> write;
    std::unique_ptr<Database> read;
    std::unique_ptr<Database> copy;
    Settings settings;
  };
  static Result<Parts> open_parts(const std::string& path, const OpenOptions& options,
                                  base::Entropy& entropy);
  static Result<Settings> read_settings(Database& database, base::Entropy& entropy, Time now);
  SqliteStore(Parts parts, const OpenOptions& options, base::Entropy& entropy);

  Result<table::RecordPtr> load(const table::Key& key) override { return file_reader_.load(key); }
  Result<std::vector<table::RecordPtr>> load_all(std::string_view name_space,
                                                 std::string_view entity) override {
    return file_reader_.load_all(name_space, entity);
  }
  Result<std::optional<table::Marker>> load_marker(const table::Nonce& nonce) override {
    return file_reader_.load_marker(nonce);
  }
  Result<store::Page<store::AuditEvent>> audit(std::string_view name_space, std::string_view subject,
                                               const store::Paging& paging, Time oldest) override {
    return file_reader_.audit(name_space, subject, paging, oldest);
  }
  Result<void> keep(std::string_view name_space, const table::Draft& draft,
                    const std::vector<store::AuditEvent>& events,
                    const std::function<void()>& kept) override {
    return file_writer_.keep(table_, name_space, draft, events, kept);
  }
  Result<void> erase_namespace(std::string_view name_space, const std::function<void()>& erased) override {
    return file_writer_.erase_namespace(table_, name_space, erased);
  }

  void read(const store::UsageQuery& query, const store::Paging& paging,
            store::Completion<store::Page<Usage>> done) override;

  Cleaner::Moment moment() const {
    return {clock_->now(), clock_->now() - keep_audit_for_, {keep_hours_, keep_days_}};
  }

  // In the order of dependency: later members use earlier ones, and are destroyed first.
  FileLock lock_;
  const std::shared_ptr<const Clock> clock_;
  const store::LeaseKey lease_key_;
  const bool leases_forgotten_;
  const Time found_ahead_;  ///< how far the file was ahead of the clock when it was opened; 0: within bounds
  std::atomic<Time> keep_audit_for_;
  std::atomic<Time> keep_hours_;
  std::atomic<Time> keep_days_;
  std::atomic<std::uint64_t> catalog_generation_{1};
  // The last connection to close cleans up the log, which a read-only one could not.
  Checkpointer checkpointer_;
  FileWriter file_writer_;
  FileReader file_reader_;
  table::Table table_;
  table::TableCatalog catalog_;
  Writer writer_;
  DurableBuckets buckets_;
  mutable base::Mutex warnings_mutex_;
  mutable std::vector<std::string> warnings_ WEIR_GUARDED_BY(warnings_mutex_);
};

}  // namespace weir::sqlite
