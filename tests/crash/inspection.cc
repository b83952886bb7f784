#include "crash/inspection.h"

#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <memory>

namespace weir::crash {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Handle = std::unique_ptr<sqlite3, Close>;
using Rows = std::unique_ptr<sqlite3_stmt, Close>;

Rows rows_of(sqlite3* database, const char* sql) {
  sqlite3_stmt* rows = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &rows, nullptr);
  return Rows(rows);
}

std::string text(const Rows& rows, int column) {
  const auto* const value = reinterpret_cast<const char*>(sqlite3_column_text(rows.get(), column));
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Sums Inspection::consumed(const std::string& entity) const {
  const auto found = buckets.find(entity);
  return found == buckets.end() ? Sums{} : found->second.consumed;
}

void copy_database(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  for (const char* const part : {"", "-wal", "-shm", "-journal"}) {
    fs::remove(to + part);
    if (std::strcmp(part, "-shm") != 0 && fs::exists(from + part)) fs::copy_file(from + part, to + part);
  }
}

Inspection inspect(const std::string& path) {
  Inspection found;
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const Handle database(opened);
  if (code != SQLITE_OK) {
    found.integrity = sqlite3_errmsg(opened);
    return found;
  }
  const Rows check = rows_of(opened, "PRAGMA integrity_check");
  found.integrity =
      check && sqlite3_step(check.get()) == SQLITE_ROW ? text(check, 0) : sqlite3_errmsg(opened);
  const Rows rows =
      rows_of(opened,
              "SELECT b.entity, each.key, json_extract(each.value, '$[0]'), "
              "json_extract(each.value, '$[1]') FROM buckets AS b, json_each(b.balances) AS each "
              "WHERE b.resource = 'model'");
  // A file from before the first commit has no tables.
  while (rows && sqlite3_step(rows.get()) == SQLITE_ROW) {
    BucketRow& bucket = found.buckets[text(rows, 0)];
    for (std::size_t i = 0; i < std::size(limit_names); ++i) {
      if (text(rows, 1) != limit_names[i]) continue;
      bucket.tokens[i] = sqlite3_column_int64(rows.get(), 2) / 1000;
      bucket.consumed[i] = sqlite3_column_int64(rows.get(), 3) / 1000;
    }
  }
  return found;
}

}  // namespace weir::crash
