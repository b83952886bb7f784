// Replays a log that keeps all decisions under other limits, with the code that decides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decision_log/reader.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::limiter {
class Core;
}

namespace weir::decision_log {

/// What has to be known before the first decision is replayed.
struct ReplayPlan {
  Time from = 0;  ///< of the first row, and of the last
  Time to = 0;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::unordered_set<std::uint64_t> changed_leases;  ///< those that must be kept until their change
  std::map<std::string, std::string> parents;        ///< of entities whose charges went to a parent
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
