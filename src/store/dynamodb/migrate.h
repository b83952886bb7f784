// Converts the legacy items of a table to composite ones, under live traffic.
#pragma once

#include <string>
#include <string_view>

#include "aws/dynamo_client.h"
#include "base/entropy.h"
#include "store/migration.h"
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

using store::MigrationOptions;
using store::MigrationProgress;
using store::MigrationReport;

/// Blocks. Converted buckets stay converted however the run ends, and the next run resumes there. Except for
/// a dry run the version record must exist: open the store first.
Result<MigrationReport> migrate(aws::DynamoClient& client, const std::string& table, const Clock& clock,
                                base::Entropy& entropy, const MigrationOptions& options);

}  // namespace weir::dynamodb
