// The ideal of concurrent limits: what leases hold, computed from the leases alone.
#include <algorithm>

#include "ideal.h"

namespace weir::model {

bool IdealBuckets::is_concurrent(const State& state, std::size_t item, int limit, int version) const {
  const Tiny* const tiny = governing(state, item, limit, version);
  return tiny != nullptr && tiny->concurrent();
}

int IdealBuckets::latest_clock(const State& state, std::size_t item) const {
  const int ahead = *std::max_element(scenario_.skew.begin(), scenario_.skew.end());
  const int refilled_at = state.items[item] == 0 ? 0 : world_.info(state.items[item]).refilled_at;
  return std::max(state.now + std::max(ahead, 0), refilled_at);
}

int IdealBuckets::held_after(const State& state, std::size_t item, int limit, int moment) const {
  if (state.items[item] == 0) return 0;
  const int generation = world_.info(state.items[item]).generation;
  int sum = 0;
  for (const LeaseState& lease : state.leases) {
    const bool here = (lease.holds >> limit & 1) != 0 && lease.generations[item] == generation;
    if (here && lease.ended == 0 && lease.deadline > moment)
      sum += wide(lease.net[static_cast<std::size_t>(limit)]);
  }
  for (const Held& lost : scenario_.held) {
    const bool here = limit == 0 && generation == 1 && !lost.shared;
    if (here && start_time + lost.deadline > moment) sum += lost.amount;
  }
  return sum;
}

int IdealBuckets::balance(const State& state, std::size_t item, int limit, int version) const {
  const Tiny* const tiny = governing(state, item, limit, version);
  if (tiny == nullptr || !tiny->concurrent())
    return wide(
        state.ideal[item][static_cast<std::size_t>(limit)].balance[static_cast<std::size_t>(version)]);
  const bool there = alive(state.items[item], state.now);
  return tiny->capacity - (there ? held_after(state, item, limit, latest_clock(state, item)) : 0);
}

int IdealBuckets::moment_free(const State& state, std::size_t item, int limit, int capacity,
                              int amount) const {
  const bucket::Holds& stored = world_.info(state.items[item]).holds[static_cast<std::size_t>(limit)];
  for (int at = state.now;; ++at) {
    const auto held = scenario_.joins ? bucket::total(bucket::live(stored, at))
                                      : std::int64_t{held_after(state, item, limit, at)};
    if (capacity - held >= amount) return at;
  }
}

/// At every moment from now on, as much must be stored as leases will hold then; and no more, except that a
/// full list may hold something longer, but not after the last deadline of all.
void IdealBuckets::check_holds(const State& state, std::size_t item, int limit) {
  const ItemInfo& info = world_.info(state.items[item]);
  const bucket::Holds& stored = info.holds[static_cast<std::size_t>(limit)];
  const int now = latest_clock(state, item);
  int last = now;
  for (const LeaseState& lease : state.leases) {
    if ((lease.holds >> limit & 1) != 0) last = std::max(last, wide(lease.deadline));
  }
  for (const Held& held : scenario_.held) last = std::max(last, static_cast<int>(start_time) + held.deadline);
  for (int at = now; at <= last; ++at) {
    const std::int64_t kept = bucket::total(bucket::live(stored, at));
    const int should = held_after(state, item, limit, at);
    if (kept < should) return alarm_.raise("slots are free that a lease holds");
    if (kept > should && (!scenario_.joins || at == last))
      return alarm_.raise("slots are held that no lease holds");
  }
}

}  // namespace weir::model
