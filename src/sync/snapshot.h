// The snapshot that a region publishes for the others: what it used, what it holds and until when, and what
// it lets others use. One JSON object with a version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sync/allocation.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::sync {

inline constexpr std::int64_t snapshot_version = 1;
/// A larger one is refused before it is parsed.
inline constexpr std::size_t largest_snapshot = std::size_t{64} << 20U;
inline constexpr std::size_t most_entries = 200'000;
inline constexpr std::size_t most_regions = 64;
inline constexpr Time longest_window = 3'600'000;
/// A share is written for this many windows.
inline constexpr Time windows_of_a_share = 3;

/// A part of its own base that a region lets another one use until a moment. Of several grants to the same
/// region the largest counts, not the sum: a newer one replaces an older one, which ends by itself.
struct Grant {
  std::string to;
  Millitokens amount = 0;
  Time until = 0;
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// What the grants that have not ended let other regions use: the largest to each region, summed. `to`: only
/// those to this region.
Millitokens lent(const std::vector<Grant>& grants, Time now, std::string_view to = {});

/// One shared limit of an entity on a resource.
struct SharedLimit {
  std::string name;
  Millitokens consumed = 0;               ///< by the bucket, in all
  Millitokens tokens = 0;                 ///< that the bucket holds now
  Millitokens capacity = 0;               ///< of the level below the share
  Millitokens share = 0;                  ///< in force; 0: none
  std::vector<Millitokens> windows = {};  ///< used in each of the last windows, the latest first
  bool waits = false;                     ///< the region needs more than it may have
  std::vector<Grant> grants = {};         ///< all that have not ended
  friend bool operator==(const SharedLimit&, const SharedLimit&) = default;
};

/// The limits of one entity on one resource.
struct Entry {
  std::string entity;
  std::string resource;
  Time until = 0;               ///< when the share in force expires; 0: there is none
  bool operator_owned = false;  ///< an operator's limits hold, and are not shared
  std::vector<SharedLimit> limits = {};

  const SharedLimit* find(std::string_view name) const;
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Snapshot {
  std::string region;
  std::int64_t sequence = 0;
  Time window = 0;
  Time published_at = 0;
  std::vector<Entry> entries = {};  ///< by entity and resource

  const Entry* find(std::string_view entity, std::string_view resource) const;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

std::string to_json(const Snapshot& snapshot);
/// Reads one from outside. The error of another version says so.
Result<Snapshot> read_snapshot(std::string_view json);
/// Refuses moments that no region can have published by now. They would hide every later snapshot, or let
/// others use a part of the whole forever. A share may last for any time: other programs write shares, too.
Result<void> check_moments(const Snapshot& snapshot, Time now, Time clock_spread);

}  // namespace weir::sync
