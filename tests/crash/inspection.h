// A look at a file that a worker left behind, as the sqlite3 shell would have it.
#pragma once

#include <map>
#include <string>

#include "crash/ledger.h"

namespace weir::crash {

struct BucketRow {
  Sums tokens{};
  Sums consumed{};
};

struct Inspection {
  std::string integrity;                     ///< "ok", or what PRAGMA integrity_check says
  std::map<std::string, BucketRow> buckets;  ///< on the resource of the callers, by entity
  Sums consumed(const std::string& entity) const;
};

/// Copies a file that nobody has open, with its write-ahead log.
void copy_database(const std::string& from, const std::string& to);
Inspection inspect(const std::string& path);

}  // namespace weir::crash
