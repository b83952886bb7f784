// Copies the content of a store into an empty one.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/copy.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::app {

struct CopyProgress {
  bool checking = false;      ///< everything is copied, and both stores are read to compare them
  std::uint64_t records = 0;  ///< that were read so far, by the step under way
};

struct CopyOptions {
  std::string name_space = {};  ///< empty: every one
  /// Called after every page.
  std::function<void(const CopyProgress&)> progress = {};
  /// Called after every page that was copied; true: stop here, for a later run to resume.
  std::function<bool()> stop = {};
  std::chrono::milliseconds wait_for_file{2000};
};

using CountsByKind = std::array<std::uint64_t, store::copied_kinds.size()>;

struct CopyReport {
  CountsByKind copied{};    ///< records of each kind (store::copied_kinds), those of an earlier run too
  CountsByKind left_out{};  ///< records that the target cannot keep
  bool resumed = false;     ///< an earlier run had begun
  bool stopped = false;     ///< by CopyOptions::stop; not compared
  /// In which records source and target differ; empty: they have the same content.
  std::vector<std::string> differences;
};

/// Copies every record that has not expired, and the key that signs lease ids; then reads both stores and
/// compares them. Neither store may be in use meanwhile. The target must be empty, or have what an earlier
/// run of the same copy has left. Blocks.
Result<CopyReport> copy_store(std::string_view from, std::string_view to, const CopyOptions& options);

/// The same between open stores. `copy` names the copy, so that only the same one is resumed.
Result<CopyReport> copy_content(store::CopyReader& source, store::CopyWriter& target, const std::string& copy,
                                const CopyOptions& options, const Clock& clock);

}  // namespace weir::app
