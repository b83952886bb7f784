// How workers share the shards of a stream: by leases, which are records with an expiry.
//
// A lease avoids duplicate work; it is not a lock. Two workers that read the same shard count nothing twice,
// since every write of usage is conditional on the bucket's cursor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/clock.h"

namespace weir::usage {

/// A part of a stream. A shard that was split or replaced is the parent of its successors.
struct Shard {
  std::string id;
  std::string parent = {};  ///< empty: none
};

/// The lease of a worker on a shard, and how far the shard was counted.
struct ShardLease {
  std::string shard;
  std::string owner = {};     ///< the name of a worker; empty: nobody
  Time until = 0;             ///< from here on anybody may take it
  std::string sequence = {};  ///< where to go on: every record before it was counted; empty: at the start
  bool finished = false;      ///< every record was counted, and there will be no more
  friend bool operator==(const ShardLease&, const ShardLease&) = default;
};

/// A lease to write, on condition that it is as it was read.
struct LeaseChange {
  std::optional<ShardLease> before;  ///< nothing: there is none
  ShardLease next;
};

/// What a worker does after it has looked at all shards and leases.
struct LeasePlan {
  std::vector<LeaseChange> take = {};
  /// Of shards that the stream does not have any more. Where one is not finished, records were lost.
  std::vector<ShardLease> erase = {};
};

/// The worker that plans.
struct Worker {
  const std::string& name;
  Time now = 0;
  Time lease_for = 0;  ///< how long it takes leases
};

/// Plans a worker's share of the shards. A shard can be read once its parent is finished or gone. Free and
/// expired leases are taken up to a fair share; a worker that has less than its share takes one lease of the
/// worker that has the most. `reads`: whether this worker reads a shard. A lease of its own on another one is
/// the trace of a write whose answer was lost, and counts as free.
LeasePlan plan_leases(const Worker& worker, const std::vector<Shard>& shards,
                      const std::vector<ShardLease>& leases,
                      const std::function<bool(const std::string& shard)>& reads);

}  // namespace weir::usage
