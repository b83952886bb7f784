// Converts the data of older programs in a store to the present format.
#pragma once

#include <functional>
#include <string_view>

#include "store/migration.h"
#include "weir/result.h"

namespace weir::app {

using store::MigrationOptions;
using store::MigrationReport;

/// Converts the legacy items of a dynamodb: table, or migrates a sqlite: file, as opening it does too; other
/// stores have nothing to convert. Blocks until everything is converted. A dry run writes nothing at all;
/// otherwise the store is opened first, which shuts out older programs.
Result<MigrationReport> migrate_store(std::string_view url, const MigrationOptions& options);

}  // namespace weir::app
