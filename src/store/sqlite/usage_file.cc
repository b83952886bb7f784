#include "store/sqlite/usage_file.h"

#include <algorithm>

#include "base/text.h"
#include "store/sqlite/codec.h"
#include "usage/page_rows.h"

namespace weir::sqlite {
namespace {

/// A row: entity, resource, start, window, amounts, events. Nothing: it cannot be used.
std::optional<Usage> usage_at(const Statement& row) {
  auto amounts = read_amounts(row.text(4));
  if (!amounts || row.integer(5) < 0) return std::nullopt;
  Usage usage{.entity = std::string(row.text(0)),
              .resource = std::string(row.text(1)),
              .window = row.text(3) == "day" ? UsageWindow::day : UsageWindow::hour,
              .start = row.integer(2),
              .events = row.integer(5)};
  if (usage.start != start_of(usage.window, usage.start)) return std::nullopt;
  for (const usage::Used& used : *amounts) usage.limits.push_back({used.limit, Amount::milli(used.amount)});
  std::sort(usage.limits.begin(), usage.limits.end(),
            [](const UsedAmount& a, const UsedAmount& b) { return a.limit < b.limit; });
  return usage;
}

std::string described(const Statement& row) {
  return base::join("the usage of ", base::quoted(row.text(0)), " on ", base::quoted(row.text(1)), " from ",
                    std::to_string(row.integer(2)), " ms on cannot be used, and is left out");
}

}  // namespace

// A segment whose bucket counts on is read from the bucket, which is never behind.
UsageRows::UsageRows(Database& database)
    : database_(database),
      closed_of_entity_(
          database,
          "SELECT entity, resource, start_ms, window, amounts, events FROM usage AS u WHERE namespace = ?1 "
          "AND entity = ?2 AND (?3 = '' OR resource = ?3) AND start_ms >= ?4 AND start_ms < ?5 "
          "AND (resource, start_ms) > (?6, ?7) AND NOT EXISTS (SELECT 1 FROM buckets AS b WHERE "
          "b.namespace = u.namespace AND b.entity = u.entity AND b.resource = u.resource AND "
          "b.usage_hour_ms = u.start_ms AND b.usage_segment = u.segment AND u.window = 'hour') "
          "ORDER BY resource, start_ms"),
      closed_of_resource_(
          database,
          "SELECT entity, resource, start_ms, window, amounts, events FROM usage AS u WHERE namespace = ?1 "
          "AND resource = ?3 AND ?2 = '' AND start_ms >= max(?4, ?7) AND start_ms < ?5 "
          "AND (start_ms, entity) > (?7, ?6) AND NOT EXISTS (SELECT 1 FROM buckets AS b WHERE "
          "b.namespace = u.namespace AND b.entity = u.entity AND b.resource = u.resource AND "
          "b.usage_hour_ms = u.start_ms AND b.usage_segment = u.segment AND u.window = 'hour') "
          "ORDER BY start_ms, entity"),
      open_of_entity_(
          database,
          "SELECT entity, resource, usage_hour_ms, 'hour', usage_amounts, usage_events FROM buckets "
          "WHERE namespace = ?1 AND entity = ?2 AND (?3 = '' OR resource = ?3) AND usage_events > 0 "
          "AND usage_hour_ms >= ?4 AND usage_hour_ms < ?5 AND (resource, usage_hour_ms) > (?6, ?7)"),
      open_of_resource_(
          database,
          "SELECT entity, resource, usage_hour_ms, 'hour', usage_amounts, usage_events FROM buckets "
          "WHERE namespace = ?1 AND resource = ?3 AND ?2 = '' AND usage_events > 0 "
          "AND usage_hour_ms >= ?4 AND usage_hour_ms < ?5 AND (usage_hour_ms, entity) > (?7, ?6)") {}

Result<store::Page<Usage>> UsageRows::read(const store::UsageQuery& query, const usage::Position& after,
                                           std::size_t limit,
                                           const std::function<void(const std::string&)>& bad) {
  const bool of_entity = !query.entity.empty();
  usage::PageRows rows(after, of_entity, limit);
  // Both statements must see the same commit.
  if (auto begun = database_.execute("BEGIN"); !begun) return begun.error();
  Result<void> done;
  for (Statement* const statement : {of_entity ? &open_of_entity_ : &open_of_resource_,
                                     of_entity ? &closed_of_entity_ : &closed_of_resource_}) {
    const bool ordered = statement == &closed_of_entity_ || statement == &closed_of_resource_;
    statement->begin().bind(query.name_space).bind(query.entity).bind(query.resource);
    statement->bind(query.from).bind(query.to).bind(std::string_view(after.name)).bind(after.start);
    for (;;) {
      auto row = statement->step();
      if (!row) done = row.error();
      if (!row || !*row) break;
      const auto usage = usage_at(*statement);
      if (!usage) {
        bad(described(*statement));
        continue;
      }
      if (ordered && rows.is_full_at(*usage)) break;
      rows.add(*usage);
    }
    // An open statement would keep the write-ahead log from being reused.
    statement->reset();
    if (!done) break;
  }
  if (auto ended = database_.execute("COMMIT"); !ended && done) done = ended;
  if (!done) return done.error();
  return rows.page();
}

UsageFolder::UsageFolder(Database& database)
    : old_hours_(database,
                 "SELECT namespace, entity, resource, start_ms FROM usage WHERE window = 'hour' AND "
                 "start_ms < ?1 ORDER BY start_ms LIMIT ?2"),
      rows_of_day_(database,
                   "SELECT entity, resource, start_ms, window, amounts, events FROM usage WHERE "
                   "namespace = ?1 AND entity = ?2 AND resource = ?3 AND start_ms >= ?4 AND start_ms < ?5"),
      delete_rows_(database,
                   "DELETE FROM usage WHERE namespace = ?1 AND entity = ?2 AND resource = ?3 AND "
                   "start_ms >= ?4 AND start_ms < ?5"),
      put_day_(database,
               "INSERT INTO usage (namespace, entity, resource, start_ms, window, segment, amounts, events) "
               "VALUES (?1, ?2, ?3, ?4, 'day', 0, ?5, ?6)"),
      delete_days_(database,
                   "DELETE FROM usage WHERE (namespace, entity, resource, start_ms, window, segment) IN "
                   "(SELECT namespace, entity, resource, start_ms, window, segment FROM usage "
                   "WHERE window = 'day' AND start_ms < ?1 ORDER BY start_ms LIMIT ?2) RETURNING 1") {}

Result<std::vector<UsageFolder::Day>> UsageFolder::old_days(Time before, std::size_t slice) {
  std::vector<Day> days;
  old_hours_.begin().bind(before).bind(static_cast<std::int64_t>(slice));
  for (;;) {
    auto row = old_hours_.step();
    if (!row) return row.error();
    if (!*row) return days;
    days.push_back({std::string(old_hours_.text(0)), std::string(old_hours_.text(1)),
                    std::string(old_hours_.text(2)), start_of(UsageWindow::day, old_hours_.integer(3))});
  }
}

/// Replaces the rows of a day, its hours and what was folded before, by one.
Result<void> UsageFolder::fold(const Day& day) {
  const Time end = day.start + usage::day;
  const auto bind = [&](Statement& statement) -> Statement& {
    return statement.begin()
        .bind(std::string_view(day.name_space))
        .bind(std::string_view(day.entity))
        .bind(std::string_view(day.resource))
        .bind(day.start);
  };
  Usage sum;
  bind(rows_of_day_).bind(end);
  for (;;) {
    auto row = rows_of_day_.step();
    if (!row) return row.error();
    if (!*row) break;
    if (const auto usage = usage_at(rows_of_day_)) usage::add(sum, *usage);
  }
  if (auto deleted = bind(delete_rows_).bind(end).run(); !deleted) return deleted;
  std::string amounts = "{";
  for (const UsedAmount& used : sum.limits) append_amount(amounts, used.limit, used.amount.millitokens());
  amounts += '}';
  return bind(put_day_).bind(amounts).bind(sum.events).run();
}

Result<bool> UsageFolder::fold(Time now, const store::UsageKept& kept, std::size_t slice) {
  const usage::Retention retention = usage::retention_at(now, kept);
  auto days = old_days(retention.first_hour, slice);
  if (!days) return days.error();
  const bool more_hours = days->size() == slice;
  std::sort(days->begin(), days->end(), [](const Day& a, const Day& b) { return a.key() < b.key(); });
  const auto last =
      std::unique(days->begin(), days->end(), [](const Day& a, const Day& b) { return a.key() == b.key(); });
  for (auto day = days->begin(); day != last; ++day) {
    if (auto folded = fold(*day); !folded) return folded.error();
  }
  delete_days_.begin().bind(retention.first_day).bind(static_cast<std::int64_t>(slice));
  for (std::size_t deleted = 0;; ++deleted) {
    auto row = delete_days_.step();
    if (!row) return row.error();
    if (!*row) return more_hours || deleted == slice;
  }
}

}  // namespace weir::sqlite
