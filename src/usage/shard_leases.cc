#include "usage/shard_leases.h"

#include <algorithm>
#include <map>
#include <set>

namespace weir::usage {
namespace {

class Planner {
 public:
  Planner(const Worker& worker, const std::vector<Shard>& shards, const std::vector<ShardLease>& leases,
          const std::function<bool(const std::string& shard)>& reads)
      : worker_(worker), reads_(reads) {
    for (const ShardLease& lease : leases) leases_[lease.shard] = &lease;
    for (const Shard& shard : shards) shards_.insert(shard.id);
    counts_[worker.name];
    for (const Shard& shard : shards) {
      if (can_be_read(shard)) sort(shard);
    }
  }

  LeasePlan plan() {
    const std::size_t active = free_.size() + held_.size();
    const std::size_t share = (active + counts_.size() - 1) / counts_.size();
    std::size_t mine = counts_[worker_.name];
    for (const std::string& shard : free_) {
      if (mine >= share) break;
      take(shard);
      ++mine;
    }
    if (mine < share && plan_.take.empty()) steal(mine);
    drop_old_leases();
    return std::move(plan_);
  }

 private:
  const ShardLease* lease_of(const std::string& shard) const {
    const auto found = leases_.find(shard);
    return found == leases_.end() ? nullptr : found->second;
  }
  bool can_be_read(const Shard& shard) const {
    const ShardLease* const own = lease_of(shard.id);
    if (own != nullptr && own->finished) return false;
    if (shard.parent.empty()) return true;
    const ShardLease* const of_parent = lease_of(shard.parent);
    if (of_parent != nullptr && of_parent->finished) return true;
    // A parent that is gone cannot be waited for, unless a worker still has records of it.
    return !shards_.contains(shard.parent) && (of_parent == nullptr || of_parent->until <= worker_.now);
  }
  void sort(const Shard& shard) {
    const ShardLease* const lease = lease_of(shard.id);
    const bool is_free = lease == nullptr || lease->owner.empty() || lease->until <= worker_.now ||
                         (lease->owner == worker_.name && !reads_(shard.id));
    if (is_free && !reads_(shard.id)) {
      free_.push_back(shard.id);
    } else if (!is_free) {
      held_.push_back(lease);
      ++counts_[lease->owner];
    }
  }
  void take(const std::string& shard) {
    const ShardLease* const lease = lease_of(shard);
    LeaseChange& change = plan_.take.emplace_back();
    if (lease != nullptr) change.before = *lease;
    change.next = lease != nullptr ? *lease : ShardLease{shard};
    change.next.owner = worker_.name;
    change.next.until = worker_.now + worker_.lease_for;
  }
  void steal(std::size_t mine) {
    const auto most = std::max_element(counts_.begin(), counts_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second <= mine + 1) return;
    const auto theirs = std::find_if(held_.begin(), held_.end(),
                                     [&](const ShardLease* lease) { return lease->owner == most->first; });
    take((*theirs)->shard);
  }
  void drop_old_leases() {
    for (const auto& [shard, lease] : leases_) {
      if (shards_.contains(shard)) continue;
      // A worker may be reading its last records.
      if (!lease->finished && lease->until > worker_.now) continue;
      plan_.erase.push_back(*lease);
    }
  }

  const Worker& worker_;
  const std::function<bool(const std::string& shard)>& reads_;
  std::map<std::string, const ShardLease*> leases_;
  std::set<std::string> shards_;
  std::vector<std::string> free_;
  std::vector<const ShardLease*> held_;
  std::map<std::string, std::size_t> counts_;  ///< shards of each worker that is alive
  LeasePlan plan_;
};

}  // namespace

LeasePlan plan_leases(const Worker& worker, const std::vector<Shard>& shards,
                      const std::vector<ShardLease>& leases,
                      const std::function<bool(const std::string& shard)>& reads) {
  return Planner(worker, shards, leases, reads).plan();
}

}  // namespace weir::usage
