#include "store/sqlite/file_writer.h"

#include "base/text.h"
#include "decision/repair.h"

namespace weir::sqlite {

namespace {

// Not with every commit, which would write one more page; the bound that matters is a minute
// (decision/repair.h).
constexpr Time marks_apart = 10'000;

}  // namespace

FileWriter::FileWriter(std::unique_ptr<Database> database, Checkpointer& checkpointer, const Clock& clock,
                       Time written_at)
    : database_(std::move(database)),
      clock_(clock),
      written_at_(written_at),
      batch_(*database_),
      cleaner_(*database_),
      rows_(*database_),
      close_usage_(*database_, close_open_usage),
      delete_buckets_(*database_, "DELETE FROM buckets WHERE namespace = ?1 AND entity = ?2"),
      set_setting_(*database_, "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)") {
  database_->on_commit([](void* context, int pages) { static_cast<Checkpointer*>(context)->log_has(pages); },
                       &checkpointer);
}

Result<Time> FileWriter::mark_time(table::ClockWatch& watch) {
  const Time now = clock_.now();
  if (now >= written_at_ && now - written_at_ < marks_apart) return written_at_;
  if (decision::is_ahead(written_at_, now)) watch.saw_ahead(written_at_ - now);
  auto set = set_setting_.begin().bind(std::string_view("written_at_ms")).bind(now).run();
  return set ? Result<Time>(now) : set.error();
}

Result<void> FileWriter::commit(table::Table& table, const std::function<Result<void>()>& more) {
  const auto started = std::chrono::steady_clock::now();
  Transaction transaction(*database_);
  auto done = transaction.begin();
  if (done) done = batch_.write();
  if (done && more) done = more();
  const auto marked = done ? mark_time(table.clock_watch()) : done.error();
  if (!marked) done = marked.error();
  const bool written = done.ok();
  if (written) done = transaction.commit();
  if (!done) {
    batch_.rolled_back();
    return written ? Error{ErrorCode::outcome_unknown, done.error().message} : done.error();
  }
  written_at_ = *marked;
  if (observer_) observer_(std::chrono::steady_clock::now() - started);
  ++counts_.commits;
  counts_.bucket_rows += batch_.buckets();
  counts_.new_buckets += batch_.new_buckets();
  cleaner_.expect({.buckets = batch_.new_buckets(), .leases = batch_.leases()});
  batch_.clear();
  return {};
}

Result<void> FileWriter::flush(table::Table& table) {
  const base::Guard guard(mutex_);
  return flush_locked(table);
}

Result<void> FileWriter::flush_locked(table::Table& table) {
  table.capture(batch_);
  if (batch_.empty()) return {};
  return commit(table, {});
}

Result<void> FileWriter::flush_and_let_go(table::Table& table) {
  const base::Guard guard(mutex_);
  auto flushed = flush_locked(table);
  if (flushed) table.let_go();
  return flushed;
}

Result<void> FileWriter::keep(table::Table& table, std::string_view name_space, const table::Draft& draft,
                              const std::vector<store::AuditEvent>& events,
                              const std::function<void()>& kept) {
  const base::Guard guard(mutex_);
  // Buckets that have adopted new limits must be in the same commit.
  table.capture(batch_);
  const auto rest = [&]() WEIR_NOT_ANALYSED { return write(draft, name_space, events); };
  if (auto done = commit(table, rest); !done) {
    const bool unknown = done.error().code == ErrorCode::outcome_unknown;
    return base::error(done.error().code, "the change is not in force",
                       unknown ? ", but may be after a crash; look before you repeat it: " : ": ",
                       done.error().message);
  }
  cleaner_.expect({.events = events.size()});
  kept();
  return {};
}

Result<void> FileWriter::erase_namespace(table::Table& table, std::string_view name_space,
                                         const std::function<void()>& erased) {
  const base::Guard guard(mutex_);
  // Changes that wait must not be written after the rows were deleted.
  table.capture(batch_);
  const auto erase = [&]() -> Result<void> {
    for (const char* const rows :
         {"DELETE FROM buckets WHERE namespace = ?1", "DELETE FROM usage WHERE namespace = ?1",
          "DELETE FROM entities WHERE namespace = ?1", "DELETE FROM limits WHERE namespace = ?1",
          "DELETE FROM audit WHERE namespace = ?1"}) {
      Statement statement(*database_, rows);
      if (auto done = statement.begin().bind(name_space).run(); !done) return done;
    }
    return {};
  };
  if (auto done = commit(table, erase); !done) return done;
  erased();
  return {};
}

Result<void> FileWriter::write(const table::Draft& draft, std::string_view name_space,
                               const std::vector<store::AuditEvent>& events) {
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (auto done = rows_.write_limits(name_space, level, *record); !done) return done;
  }
  for (const auto& [name, plan] : draft.plans()) {
    if (auto done = rows_.write_plan(name_space, name, plan); !done) return done;
  }
  for (const auto& [id, entity] : draft.entities()) {
    auto done = entity ? rows_.write_entity(name_space, *entity) : rows_.delete_entity(name_space, id);
    if (!done) return done;
  }
  for (const std::string& id : draft.erased()) {
    for (Statement* const statement : {&close_usage_, &delete_buckets_}) {
      if (auto done = statement->begin().bind(name_space).bind(std::string_view(id)).run(); !done)
        return done;
    }
  }
  for (const store::AuditEvent& event : events) {
    if (auto done = rows_.write_event(name_space, event); !done) return done;
  }
  return {};
}

Result<bool> FileWriter::clean(const Cleaner::Moment& moment) {
  const base::Guard guard(mutex_);
  return cleaner_.clean(moment);
}

bool FileWriter::cleaning_is_behind() {
  const base::Guard guard(mutex_);
  return cleaner_.behind();
}

Result<Database::Checkpoint> FileWriter::checkpoint() {
  const base::Guard guard(mutex_);
  return database_->checkpoint();
}

Result<void> FileWriter::set_setting(std::string_view name, std::int64_t value) {
  const base::Guard guard(mutex_);
  return set_setting_.begin().bind(name).bind(value).run();
}

void FileWriter::observe_commits(std::function<void(std::chrono::nanoseconds)> observer) {
  const base::Guard guard(mutex_);
  observer_ = std::move(observer);
}

FileWriter::Counts FileWriter::counts() {
  const base::Guard guard(mutex_);
  return counts_;
}

}  // namespace weir::sqlite
