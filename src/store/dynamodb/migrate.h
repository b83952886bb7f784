// Converts the legacy items of a table to composite ones, under live traffic.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/dynamo_client.h"
#include "base/entropy.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::dynamodb {

/// The state of legacy items in the version record.
namespace migration {
inline constexpr std::string_view none = "none";        ///< the table never had any
inline constexpr std::string_view pending = "pending";  ///< it may have some: it is older than the record
inline constexpr std::string_view running = "running";  ///< a process has begun to convert them
inline constexpr std::string_view done = "done";        ///< all were converted, and a last pass found none
}  // namespace migration

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

/// Blocks. Converted buckets stay converted however the run ends, and the next run resumes there. Except for
/// a dry run the version record must exist: open the store first.
Result<MigrationReport> migrate(aws::DynamoClient& client, const std::string& table, const Clock& clock,
                                base::Entropy& entropy, const MigrationOptions& options);

}  // namespace weir::dynamodb
