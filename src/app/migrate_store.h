// Brings what an older program left in a store into the form that is written now.
#pragma once

#include <functional>
#include <string_view>

#include "store/dynamodb/migrate.h"
#include "weir/result.h"

namespace weir::app {

using dynamodb::MigrationOptions;
using dynamodb::MigrationReport;

/// Converts the legacy items of a dynamodb: table, or brings a sqlite: file up to date, which opening it does
/// too; the others have nothing to convert. Blocks until all is converted. A dry run writes nothing at all;
/// anything else opens the store first, which keeps older programs out.
Result<MigrationReport> migrate_store(std::string_view url, const MigrationOptions& options);

}  // namespace weir::app
