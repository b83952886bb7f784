// Whether concurrent limits count every lease that still holds something, however they keep it.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "twins/oracle.h"

namespace weir::twins {

/// The leases that are open and before the deadline that their holder was told. The free part of a concurrent
/// limit is never more than its capacity less the amounts that they hold.
class LiveLeases {
 public:
  /// After every answer. Empty: nothing is wrong.
  std::string check(const Oracle& oracle, int resource, const Answer& answer, Time now);
  /// After every operation: follows the leases, and the limits that became rates and forgot what was held.
  void follow(const Oracle& oracle, Time now);
  /// The entity was deleted, and its buckets with it.
  void forget(const Oracle& oracle, int entity);

 private:
  using Lost = std::tuple<int, std::size_t, int>;  // lease, bucket of the lease, limit
  bool holds(int index, const Lease& lease, std::size_t bucket, const LeaseAmount& amount) const;

  int followed_ = 0;       ///< how many leases of the oracle were seen
  std::vector<int> live_;  ///< leases of the oracle
  std::set<Lost> lost_;
  /// Entity, resource and limit of buckets in which a limit was a rate while leases held it: what is free
  /// after that is an exception of docs/guarantees.md.
  std::set<std::tuple<int, int, int>> changed_kind_;
};

}  // namespace weir::twins
