// Turns the legacy items of a table into composite ones, beside live traffic.
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

/// What the version record says of legacy items.
namespace migration {
inline constexpr std::string_view none = "none";        ///< the table never had any
inline constexpr std::string_view pending = "pending";  ///< it may have some: it was there before us
inline constexpr std::string_view running = "running";  ///< somebody has begun to convert them
inline constexpr std::string_view done = "done";        ///< all were converted, and a last look found none
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
  /// Buckets a second at the most, and pages of the table; 0: as many as it takes.
  unsigned most_per_second = 100;
  /// Told after every page.
  std::function<void(const MigrationProgress&)> progress = {};
  /// Waits. Tests have another.
  std::function<void(std::chrono::milliseconds)> pause = {};
  /// Asked after every page; true: stop here, and go on another time.
  std::function<bool()> stop = {};
  unsigned page = 200;  ///< items that are read at once
};

struct MigrationReport {
  MigrationProgress counts;
  std::string state;                  ///< what the version record says afterwards
  bool resumed = false;               ///< went on where another run had stopped
  std::vector<std::string> problems;  ///< items that cannot be converted, and why
};

/// Blocks. What it has converted stays converted however it ends, and the next run goes on there. For
/// anything but a dry run the version record must be there: open the store first.
Result<MigrationReport> migrate(aws::DynamoClient& client, const std::string& table, const Clock& clock,
                                base::Entropy& entropy, const MigrationOptions& options);

}  // namespace weir::dynamodb
