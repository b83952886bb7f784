// The schema of the file, and the migration of files of earlier versions. docs/format/sqlite.md describes the
// tables.
#pragma once

#include "store/sqlite/database.h"

namespace weir::sqlite {

inline constexpr int schema_version = 3;
/// "weir" in ASCII: identifies our files.
inline constexpr int application_id = 0x77656972;

/// Checks that this version can read the file: fails on another program's file, on one of a newer version,
/// and on a damaged one. True: it has the present version; false: it is new or older.
Result<bool> check_version(Database& database);

/// Creates the tables, or migrates them to the present version, all or nothing.
Result<void> migrate(Database& database);

/// Configures a connection: write-ahead log, and syncs that survive a loss of power.
Result<void> set_up(Database& database, Access access);

}  // namespace weir::sqlite
