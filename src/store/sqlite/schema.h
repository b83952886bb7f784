// What the file looks like, and how files of earlier versions become files of this one. The tables are
// described for people in docs/format/sqlite.md.
#pragma once

#include "store/sqlite/database.h"

namespace weir::sqlite {

inline constexpr int schema_version = 2;
/// "weir" in bytes: tells our files from other programs'.
inline constexpr int application_id = 0x77656972;

/// What a file may ask of those who open it, in settings.least_client: a feature that an earlier weir would
/// misread raises it when it is first used.
inline constexpr int client_version = 2;

/// Whether this is a file of ours that this version can read: fails on another program's file, on one of a
/// newer version, and on a damaged one. True: it has the present version; false: new or older.
Result<bool> check_version(Database& database);

/// Makes the tables, or brings them to the present version, all or nothing.
Result<void> migrate(Database& database);

/// How a connection is set up: the write-ahead log, and syncs that survive a loss of power.
Result<void> set_up(Database& database, Access access);

}  // namespace weir::sqlite
