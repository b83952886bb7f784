// Replays a log that keeps all decisions under other limits, with the code that decides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "decision_log/reader.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::limiter {
class Core;
}

namespace weir::decision_log {

/// The leases that a log changes, as a set of bits (a Bloom filter with one hash): a large log has a million
/// leases. A false positive only keeps a lease in memory longer.
class ChangedLeases {
 public:
  void add(std::uint64_t lease) { bits_[place_of(lease)] = true; }
  /// False: the log does not change it.
  bool may_have(std::uint64_t lease) const { return bits_[place_of(lease)]; }

 private:
  static constexpr unsigned log_size = 24;
  static std::size_t place_of(std::uint64_t lease) { return lease * 0x9e3779b97f4a7c15 >> (64 - log_size); }
  std::vector<bool> bits_ = std::vector<bool>(std::size_t{1} << log_size);
};

/// What has to be known before the first decision is replayed.
struct ReplayPlan {
  Time from = 0;  ///< of the first row, and of the last
  Time to = 0;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  ChangedLeases changed_leases;                ///< those that must be kept until their change
  std::map<std::string, std::string> parents;  ///< of entities whose charges went to a parent
};

/// What became of one entity on one resource.
struct ReplayCount {
  std::uint64_t decisions = 0;
  std::uint64_t refused = 0;         ///< in the log
  std::uint64_t would_refuse = 0;    ///< in the replay
  std::uint64_t only_in_log = 0;     ///< refused in the log and admitted in the replay
  std::uint64_t only_in_replay = 0;  ///< the other way
};

struct ReplayResult {
  std::map<std::pair<std::string, std::string>, ReplayCount> counts;  ///< by entity and resource
  ReplayCount total;
  std::uint64_t changes = 0;           ///< of leases, which were made again
  std::uint64_t undecided = 0;         ///< not counted: the other limits have none for it
  std::string undecided_example = {};  ///< why, for the first
};

/// Looks at the whole log. Rows of other namespaces are left out.
Result<ReplayPlan> plan_replay(const DecisionReader& reader, std::string_view name_space);

/// Decides every acquire of the log again, in the order of the log and at its times, by `core`, whose store
/// is in memory, has the other limits, and uses the clock. A change of a lease is made if its acquire was
/// admitted. Buckets are full at first.
Result<ReplayResult> replay(const DecisionReader& reader, std::string_view name_space, const ReplayPlan& plan,
                            limiter::Core& core, FakeClock& clock);

}  // namespace weir::decision_log
