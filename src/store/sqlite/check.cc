#include "store/sqlite/check.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "decision/repair.h"
#include "store/sqlite/database.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/file_reader.h"
#include "store/sqlite/schema.h"
#include "store/table/clock_watch.h"

namespace weir::sqlite {
namespace {

using store::Finding;
using store::Severity;

constexpr std::uintmax_t little_room = 100U << 20U;

std::string megabytes(std::uintmax_t bytes) {
  return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MB";
}

Finding failed(std::string what, const Error& error) {
  return {Severity::failure, std::move(what), error.message};
}

Finding check_access(const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) == 0) return {Severity::ok, "file", path};
  const std::string reason = std::strerror(errno);
  return {Severity::failure, "file", base::join(path, ": ", reason, "; check its permissions")};
}

Finding check_owner(const std::string& path) {
  const auto holder = holder_of(path);
  return {Severity::ok, "in use", holder ? "by " + *holder : "by nobody"};
}

Finding check_room(const std::string& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return {Severity::warning, "disk", std::strerror(errno)};
  const std::uintmax_t room = std::uintmax_t{disk.f_bavail} * disk.f_frsize;
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  const std::string words =
      base::join("the file has ", megabytes(none ? 0 : size), ", ", megabytes(room), " are free");
  if (room >= little_room) return {Severity::ok, "disk", words};
  return {Severity::warning, "disk", words + "; make room: without it nothing can be admitted"};
}

Finding check_schema(Database& database) {
  auto current = check_version(database);
  if (!current) return failed("schema", current.error());
  if (*current) return {Severity::ok, "schema", "version " + std::to_string(schema_version)};
  return {Severity::warning, "schema",
          "an empty file or an earlier version; it is brought up to date when it is next opened"};
}

/// Checks every page and index, and the column types of all rows.
Finding check_integrity(Database& database) {
  Statement statement(database, "PRAGMA integrity_check(5)");
  statement.begin();
  std::string problems;
  for (;;) {
    auto row = statement.step();
    if (!row) return failed("integrity", row.error());
    if (!*row) break;
    if (statement.text(0) == "ok") return {Severity::ok, "integrity", "every page and index is sound"};
    problems += base::join(problems.empty() ? "" : "; ", statement.text(0));
  }
  return {Severity::failure, "integrity",
          problems +
              ". Put a backup in its place, or save what can be read with "
              "the sqlite3 shell's .recover"};
}

void count_rows(Database& database, Time now, std::vector<Finding>& findings) {
  const auto count = [&](const char* what, const char* sql) {
    auto number = database.number(sql);
    findings.push_back(number ? Finding{Severity::ok, what, std::to_string(*number)}
                              : failed(what, number.error()));
  };
  count("limits", "SELECT count(*) FROM limits WHERE limits IS NOT NULL");
  count("entities", "SELECT count(*) FROM entities");
  count("buckets", "SELECT count(*) FROM buckets");
  const std::string expired =
      base::join("SELECT count(*) FROM buckets WHERE expires_at_ms <= ", std::to_string(now));
  count("expired buckets not cleaned yet", expired.c_str());
  count("audit events", "SELECT count(*) FROM audit");
}

/// Stored times that only a clock that was ahead can have written.
void check_clock(Database& database, Time now, std::vector<Finding>& findings) {
  const std::string bound = std::to_string(now + decision::clock_bound);
  const auto number = [&](const char* what, const char* where) {
    return database.number(base::join("SELECT ", what, where, bound).c_str());
  };
  constexpr const char* buckets = " FROM buckets WHERE refilled_at_ms > ";
  const auto count = number("count(*)", buckets);
  const auto newest = number("max(refilled_at_ms)", buckets);
  const auto stamp = number("max(stamp)", " FROM limits WHERE stamp > ");
  for (const auto* result : {&count, &newest, &stamp}) {
    if (!*result) return findings.push_back(failed("clock", result->error()));
  }
  if (*count == 0) {
    findings.push_back({Severity::ok, "clock", "no bucket was written ahead of this machine's clock"});
  } else {
    findings.push_back({Severity::warning, "clock",
                        base::join(std::to_string(*count), *count == 1 ? " bucket was" : " buckets were",
                                   " written up to ", table::rough_duration(*newest - now),
                                   " ahead of this machine's clock: each refills again from its next refusal "
                                   "on. Check that the clock is right")});
  }
  if (*stamp == 0) return;
  findings.push_back({Severity::warning, "clock of limits",
                      base::join("limits were changed ", table::rough_duration(*stamp - now),
                                 " ahead of this machine's clock: until then a lowered rate counts from each "
                                 "bucket's next decision on")});
}

}  // namespace

std::vector<Finding> check(const std::string& path, Time now) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none))
    return {{Severity::failure, "file", path + ": there is no such file; make it with weir store init"}};
  std::vector<Finding> findings{check_access(path)};
  findings.push_back(check_owner(path));
  findings.push_back(check_room(path));
  auto database = Database::open(path, Access::read);
  if (!database) {
    findings.push_back(failed("open", database.error()));
    return findings;
  }
  findings.push_back(check_schema(**database));
  if (findings.back().severity != Severity::ok) return findings;
  findings.push_back(check_integrity(**database));
  if (findings.back().severity != Severity::ok) return findings;
  check_clock(**database, now, findings);
  count_rows(**database, now, findings);
  FileReader reader(*std::move(database));
  if (auto read = reader.check_records(); !read) findings.push_back(failed("records", read.error()));
  reader.bad().add_to(findings);
  return findings;
}

}  // namespace weir::sqlite
