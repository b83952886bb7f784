#include "store/sqlite/file_writer.h"

#include "base/json.h"
#include "base/text.h"
#include "decision/repair.h"
#include "store/client_version.h"
#include "store/sqlite/codec.h"
#include "store/sqlite/level_row.h"

namespace weir::sqlite {

namespace {

// Not with every commit, which would write one more page; the bound that matters is a minute
// (decision/repair.h).
constexpr Time marks_apart = 10'000;

/// What a record changes in the column `later`, as a JSON merge patch: null removes a field.
std::string changes_of_later(const limits::LimitsRecord& record) {
  auto json = base::JsonWriter::object();
  record.inherits() ? json.flag("inherit", true) : json.raw("inherit", "null");
  record.usage ? json.text("usage", base::on_or_off(*record.usage)) : json.raw("usage", "null");
  return json.str();
}

}  // namespace

FileWriter::FileWriter(std::unique_ptr<Database> database, Checkpointer& checkpointer, const Clock& clock,
                       Time written_at)
    : database_(std::move(database)),
      clock_(clock),
      written_at_(written_at),
      batch_(*database_),
      cleaner_(*database_),
      upsert_limits_(
          *database_,
          "INSERT INTO limits (namespace, entity, resource, limits, owner, expires_at_ms, "
          "bucket_ttl_refill_multiplier, on_unavailable, from_file, stamp, earlier, later) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, nullif(json_patch('{}', ?12), '{}')) "
          "ON CONFLICT DO UPDATE SET limits = excluded.limits, owner = excluded.owner, "
          "expires_at_ms = excluded.expires_at_ms, "
          "bucket_ttl_refill_multiplier = excluded.bucket_ttl_refill_multiplier, "
          "on_unavailable = excluded.on_unavailable, from_file = excluded.from_file, stamp = excluded.stamp, "
          "earlier = excluded.earlier, "
          // Fields of later versions stay.
          "later = nullif(json_patch(iif(json_valid(later), later, '{}'), ?12), '{}')"),
      require_client_(*database_,
                      "UPDATE settings SET value = ?1 WHERE name = 'least_client' AND value < ?1"),
      upsert_entity_(*database_,
                     "INSERT INTO entities (namespace, id, parent, cascade, name, metadata, "
                     "created_at_ms, from_file, later) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
                     "iif(?10 = 0, NULL, json_object('plan', ?9, 'plan_stamp', ?10))) "
                     "ON CONFLICT DO UPDATE SET parent = excluded.parent, cascade = excluded.cascade, "
                     "name = excluded.name, metadata = excluded.metadata, "
                     "created_at_ms = excluded.created_at_ms, from_file = excluded.from_file, "
                     // Fields of later versions stay.
                     "later = nullif(iif(?10 = 0, json_remove(later, '$.plan', '$.plan_stamp'), "
                     "json_set(coalesce(later, '{}'), '$.plan', ?9, '$.plan_stamp', ?10)), '{}')"),
      delete_entity_(*database_, "DELETE FROM entities WHERE namespace = ?1 AND id = ?2"),
      delete_sets_(*database_,
                   "DELETE FROM limits WHERE namespace = ?1 AND entity = ?2 AND resource NOT IN "
                   "(SELECT value FROM json_each(?3))"),
      close_usage_(*database_, close_open_usage),
      delete_buckets_(*database_, "DELETE FROM buckets WHERE namespace = ?1 AND entity = ?2"),
      add_event_(
          *database_,
          "INSERT INTO audit (namespace, id, at_ms, principal, action, subject, resource, before, after) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
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

Result<void> FileWriter::write(const table::Draft& draft, std::string_view name_space,
                               const std::vector<store::AuditEvent>& events) {
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (auto done = write_limits({name_space, level.entity(), resource_of_row(level)}, *record); !done)
      return done;
  }
  for (const auto& [name, plan] : draft.plans()) {
    if (auto done = write_plan(name_space, name, plan); !done) return done;
  }
  for (const auto& [id, entity] : draft.entities()) {
    auto done = entity ? write_entity(name_space, *entity)
                       : delete_entity_.begin().bind(name_space).bind(std::string_view(id)).run();
    if (!done) return done;
  }
  for (const std::string& id : draft.erased()) {
    for (Statement* const statement : {&close_usage_, &delete_buckets_}) {
      if (auto done = statement->begin().bind(name_space).bind(std::string_view(id)).run(); !done)
        return done;
    }
  }
  for (const store::AuditEvent& event : events) {
    if (auto done = write_event(name_space, event); !done) return done;
  }
  return {};
}

Result<void> FileWriter::write_plan(std::string_view name_space, const std::string& name,
                                    const limits::PlanRecordRef& plan) {
  const std::string entity = entity_of_plan(name);
  std::vector<std::string> kept;
  if (plan && plan->limits) kept.emplace_back(default_resource);
  if (plan) {
    for (const auto& [resource, set] : plan->resources) kept.push_back(resource);
  }
  const std::string kept_json = to_json(kept);
  auto deleted = delete_sets_.begin().bind(name_space).bind(std::string_view(entity)).bind(kept_json).run();
  if (!deleted || !plan) return deleted;
  std::vector<std::pair<std::string_view, limits::LimitsRecordRef>> sets = {{default_resource, plan->limits}};
  sets.insert(sets.end(), plan->resources.begin(), plan->resources.end());
  for (const auto& [resource, set] : sets) {
    if (!set) continue;
    if (auto done = write_limits({name_space, entity, resource, plan->from_file}, *set); !done) return done;
  }
  return require_client_.begin().bind(std::int64_t{store::plan_client}).run();
}

Result<void> FileWriter::write_limits(const LimitsRow& at, const limits::LimitsRecord& record) {
  const std::string limits = record.current.limits ? to_json(*record.current.limits) : std::string();
  const std::string earlier = to_json(record.earlier);
  Statement& row = upsert_limits_.begin();
  row.bind(at.name_space).bind(at.entity).bind(at.resource);
  row.bind_or_null(limits).bind(std::string_view(weir::name_of(record.owner)));
  record.expires_at == limits::never ? row.bind_null() : row.bind(record.expires_at);
  const auto& multiplier = record.bucket_ttl_refill_multiplier;
  multiplier ? row.bind(std::int64_t{*multiplier}) : row.bind_null();
  const auto& policy = record.on_unavailable;
  policy ? row.bind(std::string_view(weir::name_of(*policy))) : row.bind_null();
  row.bind(std::int64_t{record.from_file || at.from_file}).bind(record.current.stamp).bind(earlier);
  const std::string later = changes_of_later(record);
  if (auto done = row.bind(std::string_view(later)).run(); !done) return done;
  const int needed = store::client_of(record);
  if (needed == store::plain_client) return {};
  return require_client_.begin().bind(std::int64_t{needed}).run();
}

Result<void> FileWriter::write_entity(std::string_view name_space, const Entity& entity) {
  const std::string metadata = to_json(entity.metadata);
  Statement& row = upsert_entity_.begin();
  row.bind(name_space).bind(std::string_view(entity.id)).bind_or_null(entity.parent);
  row.bind(std::int64_t{entity.cascade}).bind(std::string_view(entity.name)).bind(metadata);
  row.bind(entity.created_at).bind(std::int64_t{entity.from_file});
  return row.bind(std::string_view(entity.plan)).bind(entity.plan_stamp).run();
}

Result<void> FileWriter::write_event(std::string_view name_space, const store::AuditEvent& event) {
  Statement& row = add_event_.begin();
  row.bind(name_space).bind(std::string_view(event.id)).bind(event.at);
  row.bind(std::string_view(event.principal)).bind(std::string_view(event.action));
  row.bind(std::string_view(event.subject)).bind_or_null(event.resource);
  return row.bind_or_null(event.before).bind_or_null(event.after).run();
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
