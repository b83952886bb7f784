// A disk that fails on request. It stands between SQLite and the real files, as the default VFS of the
// program, and can refuse writes, fail syncs, and lose power: then what was not synced is gone, or half of
// it, or some of it.
#pragma once

#include <cstdint>
#include <string>

namespace weir::crash {

/// What the disk has been asked to do so far.
struct DiskCounts {
  std::uint64_t writes = 0;  ///< including changes of the size of a file
  std::uint64_t syncs = 0;
};

/// The one disk of the program. Its functions are safe to call from any thread.
class Disk {
 public:
  /// From now on SQLite uses it. Files that are open already do not.
  static void install();
  static DiskCounts counts();

  /// Writes fail with this code of SQLite from the n-th from now on (1: the next), `times` times or until
  /// heal().
  static void fail_writes(int code, std::uint64_t from, std::uint64_t times = forever);
  static void fail_syncs(int code, std::uint64_t from, std::uint64_t times = forever);
  /// Whether a write or a sync has failed since heal().
  static bool has_failed();
  static void heal();

  /// At the n-th write or sync from now the power goes: of what was written and not synced, nothing,
  /// everything, or what the seed decides, sector by sector, reaches the files; the process ends with
  /// SIGKILL.
  static void lose_power(std::uint64_t at, std::uint64_t seed);

  static constexpr std::uint64_t forever = UINT64_MAX;
};

}  // namespace weir::crash
