// What a conversion of older data in a store is given, and what it reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::store {

struct MigrationProgress {
  std::uint64_t pages = 0;     ///< of the table, in this pass
  std::uint64_t found = 0;     ///< legacy items
  std::uint64_t buckets = 0;   ///< that they belong to; converted, unless it is a dry run
  std::uint64_t absorbed = 0;  ///< of those, into a composite item that was there
  std::uint64_t expired = 0;   ///< legacy items that had expired, and were deleted
};

struct MigrationOptions {
  bool dry_run = true;
  /// The most buckets, and the most pages of the table, per second; 0: no bound.
  unsigned most_per_second = 100;
  /// Called after every page.
  std::function<void(const MigrationProgress&)> progress = {};
  /// Sleeps; tests replace it.
  std::function<void(std::chrono::milliseconds)> pause = {};
  /// Called after every page; true: stop here, for a later run to resume.
  std::function<bool()> stop = {};
  unsigned page = 200;  ///< items per read
};

struct MigrationReport {
  MigrationProgress counts;
  std::string state;                  ///< the state in the version record afterwards
  bool resumed = false;               ///< resumed where another run had stopped
  std::vector<std::string> problems;  ///< items that cannot be converted, and why
};

}  // namespace weir::store
