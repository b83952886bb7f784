#include "store/sqlite/sqlite_store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "decision/repair.h"
#include "store/audit.h"
#include "store/sqlite/schema.h"

namespace weir::sqlite {
namespace {

using store::Progress;

/// For operations of the table, which complete inline.
template <class Start>
Result<Progress> result_of(Start&& start) {
  std::optional<Result<Progress>> result;
  start(store::Completion<Progress>(
      [](void* context, Result<Progress>&& progress) {
        static_cast<std::optional<Result<Progress>>*>(context)->emplace(std::move(progress));
      },
      &result));
  return *std::move(result);
}

// The usual lease deadline: if the file is ahead by less, present leases end after the deleted ones.
constexpr Time leases_ahead = 600'000;

/// How far a stored time is ahead of the clock; 0 where that is within bounds.
Time ahead_of(const Clock& clock, Time stored) {
  const Time now = clock.now();
  return decision::is_ahead(stored, now) ? stored - now : 0;
}

}  // namespace

bool DurableBuckets::start_carried(const store::Request& request, Decision& decision,
                                   store::Completion<Progress> done) {
  if (const Error* const failure = writer_.failure()) {
    done(*failure);
    return true;
  }
  if (!table_.acquire_carried(request, decision)) return false;
  // A refusal changes nothing, so there is nothing to wait for.
  if (decision.admitted()) {
    writer_.commit(done);
  } else {
    done(Progress::decided);
  }
  return true;
}

void DurableBuckets::acquire(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  if (const Error* const failure = writer_.failure()) return done(*failure);
  auto progress = result_of([&](auto inner) { table_.acquire(plan, decision, inner); });
  const bool charged = progress && *progress == Progress::decided && decision.admitted();
  if (!charged) return done(std::move(progress));
  writer_.commit(done);
}

void DurableBuckets::correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                             store::Completion<Progress> done) {
  if (const Error* const failure = writer_.failure()) return done(*failure);
  auto progress = result_of([&](auto inner) { table_.correct(plan, outcome, inner); });
  if (!progress || *progress != Progress::decided) return done(std::move(progress));
  writer_.commit(done);
}

void DurableBuckets::change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                            store::Completion<Progress> done) {
  if (const Error* const failure = writer_.failure()) return done(*failure);
  auto progress = result_of([&](auto inner) { table_.change(plan, outcome, inner); });
  if (!progress || *progress != Progress::decided) return done(std::move(progress));
  // A repeated change waits too: its first execution may not be on the disk yet.
  writer_.commit(done);
}

Result<SqliteStore::Settings> SqliteStore::read_settings(Database& database, base::Entropy& entropy,
                                                         Time now) {
  Settings settings;
  settings.keep_audit_for = store::keep_audit_for_by_default;
  bool has_key = false;
  Statement rows(database, "SELECT name, value FROM settings");
  rows.begin();
  for (;;) {
    auto row = rows.step();
    if (!row) return row.error();
    if (!*row) break;
    const std::string_view name = rows.text(0);
    // A number that weir does not write counts as none.
    const std::int64_t number = bucket::is_stored_time(rows.integer(1)) ? rows.integer(1) : 0;
    if (name == "keep_audit_for_ms" && number > 0) settings.keep_audit_for = number;
    if (name == "keep_usage_hours_for_ms" && number > 0) settings.usage_kept.hours = number;
    if (name == "keep_usage_days_for_ms" && number > 0) settings.usage_kept.days = number;
    if (name == "leases_forgotten_to_ms") settings.leases_forgotten_to = number;
    if (name == "written_at_ms") settings.written_at = number;
    if (name != "lease_key" || rows.text(1).size() != settings.lease_key.size()) continue;
    std::memcpy(settings.lease_key.data(), rows.text(1).data(), settings.lease_key.size());
    has_key = true;
  }
  // Leases were deleted by a clock that was ahead, and present leases would count as deleted too until the
  // clock has caught up. A new key separates them from the earlier ones, which must not change again.
  settings.new_key = has_key && settings.leases_forgotten_to - now > leases_ahead;
  if (has_key && !settings.new_key) return settings;
  entropy.fill(settings.lease_key);
  Statement put(database, "INSERT OR REPLACE INTO settings (name, value) VALUES ('lease_key', ?1)");
  if (auto kept = put.begin().bind_blob(settings.lease_key).run(); !kept) return kept.error();
  if (!settings.new_key) return settings;
  settings.leases_forgotten_to = 0;
  Statement reset(database, "DELETE FROM settings WHERE name = 'leases_forgotten_to_ms'");
  if (auto done = reset.begin().run(); !done) return done.error();
  return settings;
}

Result<SqliteStore::Parts> SqliteStore::open_parts(const std::string& path, const OpenOptions& options,
                                                   base::Entropy& entropy) {
  std::error_code unknown;
  if (!options.create && !std::filesystem::exists(path, unknown)) {
    return base::error(ErrorCode::not_found, path,
                       ": there is no such file; check the path, or make it with weir store init");
  }
  Parts parts;
  auto lock = FileLock::acquire(path, options.wait_for_file);
  if (!lock) return lock.error();
  parts.lock = *std::move(lock);
  for (const auto& [database, access] :
       {std::pair(&parts.write, Access::write), std::pair(&parts.copy, Access::write),
        std::pair(&parts.read, Access::read)}) {
    auto opened = Database::open(path, access);
    if (!opened) return opened.error();
    *database = *std::move(opened);
    // Check before any write: it may be another program's file.
    auto current = check_version(**database);
    if (!current) return current.error();
    if (auto done = set_up(**database, access); !done) return done.error();
    if (*current) continue;
    if (auto done = migrate(**database); !done) return done.error();
  }
  auto settings = read_settings(*parts.write, entropy, options.clock->now());
  if (!settings) return settings.error();
  parts.settings = *settings;
  return parts;
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::open(const std::string& path, const OpenOptions& options,
                                                       base::Entropy& entropy) {
  auto parts = open_parts(path, options, entropy);
  if (!parts) return parts.error();
  std::shared_ptr<SqliteStore> store(new SqliteStore(*std::move(parts), options, entropy));
  auto past = store->file_reader_.past();
  if (!past) return past.error();
  store->catalog_.resume(*std::move(past));
  return store;
}

SqliteStore::SqliteStore(Parts parts, const OpenOptions& options, base::Entropy& entropy)
    : lock_(std::move(parts.lock)),
      clock_(options.clock),
      lease_key_(parts.settings.lease_key),
      leases_forgotten_(parts.settings.new_key),
      found_ahead_(ahead_of(*clock_, parts.settings.written_at)),
      keep_audit_for_(parts.settings.keep_audit_for),
      keep_hours_(parts.settings.usage_kept.hours),
      keep_days_(parts.settings.usage_kept.days),
      checkpointer_(std::move(parts.copy), options.checkpoints),
      // Reported here already, so the next commit must not report it again.
      file_writer_(std::move(parts.write), checkpointer_, *clock_,
                   found_ahead_ != 0 ? 0 : parts.settings.written_at),
      file_reader_(std::move(parts.read)),
      // Odd seeds keep every bit in the products of the hash.
      // Generations of 53 bits: Redis keeps no larger ones, and a copy of the file must keep them.
      table_(*clock_, {entropy.next() | 1U, entropy.next() | 1U}, entropy.next() >> 11U, catalog_generation_,
             this),
      catalog_(*clock_, catalog_generation_, table_, this),
      writer_(file_writer_, table_, checkpointer_, [this] { return moment(); }),
      buckets_(table_, writer_, file_writer_, file_reader_, *clock_) {
  table_.start_purged(parts.settings.leases_forgotten_to);
  catalog_.keep_audit_for(keep_audit_for_);
}

SqliteStore::~SqliteStore() = default;

std::vector<std::string> SqliteStore::warnings() const {
  std::vector<std::string> warnings;
  if (found_ahead_ != 0) {
    warnings.push_back(base::join(
        "the file was last written ", table::rough_duration(found_ahead_),
        " ahead of this machine's clock. Buckets that were charged then refill again from their next refusal "
        "on; check that the clock is right, and see weir store check"));
  }
  if (leases_forgotten_) {
    warnings.push_back(
        "leases and idempotency keys from before the clock was set back are not known any more: what those "
        "leases charged stands, and an acquire that is repeated is a new one");
  }
  for (std::string& warning : table_.clock_watch().warnings()) warnings.push_back(std::move(warning));
  for (std::string& warning : file_reader_.bad().warnings()) warnings.push_back(std::move(warning));
  // In the order in which they were first seen, since callers count them.
  const base::Guard guard(warnings_mutex_);
  for (std::string& warning : warnings) {
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
      warnings_.push_back(std::move(warning));
  }
  return warnings_;
}

Result<void> SqliteStore::keep_audit_for(Time duration) {
  if (auto kept = file_writer_.set_setting("keep_audit_for_ms", duration); !kept) return kept;
  keep_audit_for_ = duration;
  catalog_.keep_audit_for(duration);
  return {};
}

Result<void> SqliteStore::keep_usage(const store::UsageKept& kept) {
  if (auto done = file_writer_.set_setting("keep_usage_hours_for_ms", kept.hours); !done) return done;
  if (auto done = file_writer_.set_setting("keep_usage_days_for_ms", kept.days); !done) return done;
  keep_hours_ = kept.hours;
  keep_days_ = kept.days;
  return {};
}

void SqliteStore::read(const store::UsageQuery& query, const store::Paging& paging,
                       store::Completion<store::Page<Usage>> done) {
  const auto after = usage::read_cursor(paging.cursor);
  if (!after) return done(after.error());
  // Everything is read from the file, so it must have everything.
  if (auto flushed = file_writer_.flush(table_); !flushed) return done(flushed.error());
  done(file_reader_.usage(query, *after, paging.limit));
}

}  // namespace weir::sqlite
