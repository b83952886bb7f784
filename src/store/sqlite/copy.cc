#include "store/sqlite/copy.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/text.h"
#include "limits/resolution.h"
#include "store/client_version.h"
#include "store/sqlite/batch.h"
#include "store/sqlite/catalog_rows.h"
#include "store/sqlite/copy_reader.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/schema.h"

namespace weir::sqlite {
namespace {

/// The ids of segments in a copied file. The copied usage is a closed segment, and the bucket counts on in
/// another one: a segment that its bucket still counts in is not read from the table of closed ones.
constexpr std::uint64_t copied_segment = 1;
constexpr std::uint64_t open_segment = 2;

/// A file as the source of a copy.
class FileSource final : public store::CopyReader {
 public:
  FileSource(FileLock lock, std::unique_ptr<Database> records, std::unique_ptr<Database> names)
      : lock_(std::move(lock)), reader_(std::move(records), std::move(names)) {}
  Result<store::CopySettings> settings() override { return reader_.settings(); }
  Result<void> read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) override {
    return reader_.read(scope, visit);
  }

 private:
  FileLock lock_;
  FileCopyReader reader_;
};

/// The record of a bucket, with an empty segment of usage.
table::RecordPtr record_of(std::string_view name_space, const store::CopiedBucket& bucket) {
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : bucket.state.limits) named.push_back({limit.name, limit.parameters});
  auto resolution = base::make_ref<limits::Resolution>();
  resolution->limits = limits::LimitSetRef(new limits::LimitSet(std::move(named)));
  table::RecordPtr record(table::record_of({name_space, bucket.entity, bucket.resource}, bucket.state,
                                           limits::ResolutionRef(resolution.get())));
  std::optional<usage::Segment> segment;
  if (bucket.counts_usage)
    segment = usage::Segment{.hour = usage::hour_of(bucket.state.refilled_at), .id = open_segment};
  table::set_segment(*record, segment);
  return record;
}

/// A file as the target of a copy. It is locked, so that nothing appears in it meanwhile: what the caller
/// found to be absent stays so.
class FileTarget final : public store::CopyWriter {
 public:
  FileTarget(FileLock lock, std::unique_ptr<Database> write, std::unique_ptr<Database> records,
             std::unique_ptr<Database> names)
      : lock_(std::move(lock)),
        database_(std::move(write)),
        reader_(std::move(records), std::move(names)),
        rows_(*database_),
        batch_(*database_),
        set_setting_(*database_, "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)"),
        put_day_(*database_,
                 "INSERT OR REPLACE INTO usage (namespace, entity, resource, start_ms, window, segment, "
                 "amounts, events) VALUES (?1, ?2, ?3, ?4, 'day', 0, ?5, ?6)") {}

  Result<store::CopySettings> settings() override { return reader_.settings(); }
  Result<void> read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) override {
    return reader_.read(scope, visit);
  }

  Result<std::string> unfinished() override {
    Statement row(*database_, "SELECT value FROM settings WHERE name = 'copy'");
    auto found = row.begin().step();
    if (!found) return found.error();
    return *found ? std::string(row.text(0)) : std::string();
  }

  Result<void> begin(const std::string& copy, const store::CopySettings& settings) override {
    Transaction transaction(*database_);
    if (auto begun = transaction.begin(); !begun) return begun;
    auto set = set_setting_.begin().bind(std::string_view("lease_key")).bind_blob(settings.lease_key).run();
    if (!set) return set;
    for (const auto& [name, number] : {std::pair("keep_audit_for_ms", settings.keep_audit_for),
                                       std::pair("keep_usage_hours_for_ms", settings.keep_usage.hours),
                                       std::pair("keep_usage_days_for_ms", settings.keep_usage.days)}) {
      set = set_setting_.begin().bind(std::string_view(name)).bind(std::int64_t{number}).run();
      if (!set) return set;
    }
    set = set_setting_.begin().bind(std::string_view("copy")).bind(copy).run();
    return set ? transaction.commit() : set;
  }

  bool fit(store::CopyRecord& /*record*/) const override { return true; }

  /// A page is one transaction.
  Result<void> put(const std::vector<store::CopyRecord>& page) override {
    auto done = put_page(page);
    batch_.clear();
    if (!done) batch_.rolled_back();
    return done;
  }

  Result<void> end() override { return database_->execute("DELETE FROM settings WHERE name = 'copy'"); }

 private:
  Result<void> put_page(const std::vector<store::CopyRecord>& page) {
    Transaction transaction(*database_);
    if (auto begun = transaction.begin(); !begun) return begun;
    for (const store::CopyRecord& record : page) {
      auto done =
          std::visit([&](const auto& content) { return put(record.name_space, content); }, record.content);
      if (!done) return done;
    }
    if (auto written = batch_.write(); !written) return written;
    if (auto committed = transaction.commit(); !committed) return committed;
    const auto copied = database_->checkpoint();
    return copied ? Result<void>() : copied.error();
  }

  Result<void> put(const std::string& name_space, const store::CopiedLimits& limits) {
    return rows_.write_limits(name_space, limits.level, *limits.record);
  }
  Result<void> put(const std::string& name_space, const store::CopiedPlan& plan) {
    return rows_.write_plan(name_space, plan.name, plan.record);
  }
  Result<void> put(const std::string& name_space, const Entity& entity) {
    return rows_.write_entity(name_space, entity);
  }
  Result<void> put(const std::string& name_space, const store::AuditEvent& event) {
    return rows_.write_event(name_space, event);
  }
  Result<void> put(const std::string& name_space, const store::CopiedBucket& bucket) {
    batch_.put(*record_of(name_space, bucket));
    store::CopyNeeds needs;
    needs.add({name_space, bucket});
    return needs.client > store::plain_client ? rows_.require_client(needs.client) : Result<void>();
  }
  Result<void> put(const std::string& /*name_space*/, const store::CopiedLease& lease) {
    batch_.put(lease.nonce, lease.marker);
    return {};
  }
  Result<void> put(const std::string& name_space, const store::CopiedUsage& usage) {
    for (const Usage& row : usage.rows) {
      if (row.window == UsageWindow::day) {
        if (auto done = put_day(name_space, row); !done) return done;
        continue;
      }
      usage::Segment segment{.hour = row.start, .id = copied_segment, .events = row.events};
      for (const UsedAmount& used : row.limits)
        segment.amounts.push_back({used.limit, used.amount.millitokens()});
      batch_.put(table::ClosedSegment{name_space, row.entity, row.resource, std::move(segment)});
    }
    return {};
  }
  Result<void> put_day(std::string_view name_space, const Usage& row) {
    std::string amounts = "{";
    for (const UsedAmount& used : row.limits) append_amount(amounts, used.limit, used.amount.millitokens());
    amounts += '}';
    put_day_.begin().bind(name_space).bind(std::string_view(row.entity));
    put_day_.bind(std::string_view(row.resource)).bind(row.start);
    return put_day_.bind(amounts).bind(row.events).run();
  }

  FileLock lock_;
  const std::unique_ptr<Database> database_;
  FileCopyReader reader_;
  CatalogRows rows_;
  Batch batch_;
  Statement set_setting_;
  Statement put_day_;
};

/// A connection to a file of the present version.
Result<std::unique_ptr<Database>> open_current(const std::string& path) {
  auto database = Database::open(path, Access::read);
  if (!database) return database;
  const auto current = check_version(**database);
  if (!current) return current.error();
  if (!*current)
    return base::error(ErrorCode::conflict, path,
                       ": an earlier version of weir wrote this file; run weir store migrate first");
  if (auto done = set_up(**database, Access::read); !done) return done.error();
  return database;
}

}  // namespace

Result<std::unique_ptr<store::CopyReader>> open_copy_reader(const std::string& path,
                                                            std::chrono::milliseconds patience) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    return base::error(ErrorCode::not_found, path, ": there is no such file; check the path");
  auto lock = FileLock::acquire(path, patience);
  if (!lock) return lock.error();
  auto records = open_current(path);
  if (!records) return records.error();
  auto names = open_current(path);
  if (!names) return names.error();
  return std::unique_ptr<store::CopyReader>(
      std::make_unique<FileSource>(*std::move(lock), *std::move(records), *std::move(names)));
}

Result<std::unique_ptr<store::CopyWriter>> open_copy_writer(const std::string& path,
                                                            std::chrono::milliseconds patience) {
  auto lock = FileLock::acquire(path, patience);
  if (!lock) return lock.error();
  auto write = Database::open(path, Access::write);
  if (!write) return write.error();
  // Check before any write: it may be another program's file.
  const auto current = check_version(**write);
  if (!current) return current.error();
  if (auto done = set_up(**write, Access::write); !done) return done.error();
  if (!*current) {
    if (auto done = migrate(**write); !done) return done.error();
  }
  auto records = open_current(path);
  if (!records) return records.error();
  auto names = open_current(path);
  if (!names) return names.error();
  return std::unique_ptr<store::CopyWriter>(std::make_unique<FileTarget>(
      *std::move(lock), *std::move(write), *std::move(records), *std::move(names)));
}

}  // namespace weir::sqlite
