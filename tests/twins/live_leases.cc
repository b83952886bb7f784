#include "twins/live_leases.h"

#include <map>

namespace weir::twins {

bool LiveLeases::holds(int index, const Lease& lease, std::size_t bucket, const LeaseAmount& amount) const {
  if (amount.amount == 0 || (amount.holds >> bucket & 1U) == 0 || lease.ending != Ending::open) return false;
  return lost_.empty() || lost_.count({index, bucket, amount.limit}) == 0;
}

void LiveLeases::follow(const Oracle& oracle, Time now) {
  for (; followed_ < oracle.lease_count(); ++followed_) live_.push_back(followed_);
  std::erase_if(live_, [&](int index) {
    const Lease& lease = oracle.lease(index);
    return lease.ending != Ending::open || lease.deadline <= now;
  });
  for (const int index : live_) {
    const Lease& lease = oracle.lease(index);
    for (const LeaseAmount& amount : lease.amounts) {
      for (std::size_t i = 0; amount.holds >> i != 0; ++i) {
        if (!holds(index, lease, i, amount)) continue;
        // A moment ago, so that a bucket that expired as it was written is seen too.
        const BucketState* const bucket = oracle.bucket(lease.buckets[i].entity, lease.resource, now - 1);
        for (const Held& held : bucket == nullptr ? std::vector<Held>() : bucket->limits) {
          if (held.limit != amount.limit || held.terms.concurrent()) continue;
          lost_.insert({index, i, amount.limit});
          // If it becomes concurrent again, this lease may give back what a later one holds.
          changed_kind_.insert({lease.buckets[i].entity, lease.resource, amount.limit});
        }
      }
    }
  }
}

void LiveLeases::forget(const Oracle& oracle, int entity) {
  for (const int index : live_) {
    const Lease& lease = oracle.lease(index);
    for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
      if (lease.buckets[i].entity != entity) continue;
      for (const LeaseAmount& amount : lease.amounts) lost_.insert({index, i, amount.limit});
    }
  }
}

std::string LiveLeases::check(const Oracle& oracle, int resource, const Answer& answer, Time now) {
  follow(oracle, now);
  std::map<std::pair<int, int>, std::int64_t> held;  // by entity and limit
  for (const int index : live_) {
    const Lease& lease = oracle.lease(index);
    if (lease.resource != resource) continue;
    for (const LeaseAmount& amount : lease.amounts) {
      for (std::size_t i = 0; amount.holds >> i != 0; ++i) {
        if (holds(index, lease, i, amount)) held[{lease.buckets[i].entity, amount.limit}] += amount.amount;
      }
    }
  }
  for (const Line& line : answer.lines) {
    if (!line.terms.concurrent() || changed_kind_.count({line.entity, resource, line.limit}) != 0) continue;
    const auto found = held.find({line.entity, line.limit});
    const std::int64_t free = line.terms.capacity - (found == held.end() ? 0 : found->second);
    if (line.remaining > free)
      return "limit " + std::to_string(line.limit) + " of entity " + std::to_string(line.entity) +
             ": live leases leave " + std::to_string(free) + ", not " + std::to_string(line.remaining);
  }
  return {};
}

}  // namespace weir::twins
