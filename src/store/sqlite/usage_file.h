// The usage in the file: closed segments in the table `usage`, open ones in the rows of their buckets.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "store/sqlite/database.h"
#include "store/usage.h"
#include "usage/position.h"

namespace weir::sqlite {

/// Copies the open segments of buckets that are about to be deleted or replaced. ?1 namespace, ?2 entity;
/// where they are not NULL: ?3 resource, ?4 only if expired by then, ?5 only if of another generation.
inline constexpr const char* close_open_usage =
    "INSERT INTO usage (namespace, entity, resource, start_ms, window, segment, amounts, events) "
    "SELECT namespace, entity, resource, usage_hour_ms, 'hour', usage_segment, usage_amounts, usage_events "
    "FROM buckets WHERE namespace = ?1 AND entity = ?2 AND usage_hour_ms >= 0 AND usage_events > 0 "
    "AND (?3 IS NULL OR resource = ?3) AND (?4 IS NULL OR expires_at_ms <= ?4) "
    "AND (?5 IS NULL OR generation <> ?5) "
    "ON CONFLICT DO UPDATE SET amounts = excluded.amounts, events = excluded.events "
    "WHERE excluded.events > events";

/// Reads pages of usage. Bound to a connection; not safe for concurrent use.
class UsageRows {
 public:
  explicit UsageRows(Database& database);
  /// `bad`: is called for each row that cannot be used, which is left out.
  Result<store::Page<Usage>> read(const store::UsageQuery& query, const usage::Position& after,
                                  std::size_t limit, const std::function<void(const std::string&)>& bad);

 private:
  Database& database_;
  Statement closed_of_entity_;
  Statement closed_of_resource_;
  Statement open_of_entity_;
  Statement open_of_resource_;
};

/// Folds old hours into days, and deletes old days. Bound to a connection; not safe for concurrent use.
class UsageFolder {
 public:
  explicit UsageFolder(Database& database);
  /// At most `slice` hours and days, within the caller's transaction. True: there may be more.
  Result<bool> fold(Time now, const store::UsageKept& kept, std::size_t slice);

 private:
  struct Day {
    std::string name_space;
    std::string entity;
    std::string resource;
    Time start = 0;
    auto key() const { return std::tie(name_space, entity, resource, start); }
  };
  Result<std::vector<Day>> old_days(Time before, std::size_t slice);
  Result<void> fold(const Day& day);

  Statement old_hours_;
  Statement rows_of_day_;
  Statement delete_rows_;
  Statement put_day_;
  Statement delete_days_;
};

}  // namespace weir::sqlite
