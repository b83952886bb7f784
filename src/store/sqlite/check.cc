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
#include "store/sqlite/private_file.h"
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

/// The lease key in the file lets its readers forge leases.
void check_permissions(const std::string& path, std::vector<Finding>& findings) {
  for (const char* const companion : {"", "-wal", "-shm"}) {
    const std::string file = path + companion;
    const unsigned mode = mode_of(file);
    if ((mode & 077U) == 0) continue;
    std::string digits;
    for (const unsigned shift : {6U, 3U, 0U}) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
    return findings.push_back({Severity::warning, "permissions",
                               base::join("other users can read ", file, " (mode ", digits,
                                          "), and the key of the leases in it; run: chmod 600 ", path, "*")});
  }
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

void count_rows(Database& database, Time now, const std::string& name_space, std::vector<Finding>& findings) {
  // A namespace has only letters, digits and hyphens.
  const std::string where =
      name_space.empty() ? " WHERE true" : base::join(" WHERE namespace = '", name_space, "'");
  const auto count = [&](const char* what, std::string_view table, std::string_view also = {}) {
    auto number = database.number(base::join("SELECT count(*) FROM ", table, where, also).c_str());
    findings.push_back(number ? Finding{Severity::ok, what, std::to_string(*number)}
                              : failed(what, number.error()));
  };
  count("limits", "limits", " AND limits IS NOT NULL AND entity NOT LIKE 'plan %'");
  count("limits in plans", "limits", " AND limits IS NOT NULL AND entity LIKE 'plan %'");
  count("entities", "entities");
  count("buckets", "buckets");
  count("expired buckets not cleaned yet", "buckets",
        base::join(" AND expires_at_ms <= ", std::to_string(now)));
  count("audit events", "audit");
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

std::vector<Finding> check(const std::string& path, Time now, const std::string& name_space) {
  std::error_code none;
  const bool whole = name_space.empty();
  if (!std::filesystem::is_regular_file(path, none))
    return {{Severity::failure, "file", path + ": there is no such file; make it with weir store init"}};
  std::vector<Finding> findings;
  if (whole) {
    findings.push_back(check_access(path));
    check_permissions(path, findings);
    findings.push_back(check_owner(path));
    findings.push_back(check_room(path));
  }
  auto database = Database::open(path, Access::read);
  if (!database) {
    findings.push_back(failed("open", database.error()));
    return findings;
  }
  findings.push_back(check_schema(**database));
  if (findings.back().severity != Severity::ok) return findings;
  findings.push_back(check_integrity(**database));
  if (findings.back().severity != Severity::ok) return findings;
  if (whole) check_clock(**database, now, findings);
  count_rows(**database, now, name_space, findings);
  if (!whole) return findings;
  FileReader reader(*std::move(database));
  if (auto read = reader.check_records(); !read) findings.push_back(failed("records", read.error()));
  reader.bad().add_to(findings);
  return findings;
}

}  // namespace weir::sqlite
