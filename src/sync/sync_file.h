// The file of `weir sync`: this region, the others, where they exchange snapshots, and what they share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sync/region.h"
#include "sync/runner.h"

namespace weir::sync {

struct SyncFile {
  Settings settings;
  std::optional<std::string> store = {};
  std::optional<std::string> name_space = {};
  std::string exchange;  ///< a folder, or s3://BUCKET/PREFIX
  std::vector<Scope> scopes;
};

/// Reads the file. The error lists every mistake with line and column.
Result<SyncFile> read_sync_file(std::string_view text, std::string_view file);

/// The shortest window for clocks that differ by this much: a share that uses what another region lends must
/// last until the next cycle.
Time shortest_window(Time clock_spread);

}  // namespace weir::sync
