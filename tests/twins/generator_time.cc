// The steps of the clock that a generator draws.
#include <algorithm>

#include "twins/generator.h"

namespace weir::twins {

Op Generator::clock(Time by) {
  Op one = op(Kind::advance);
  one.by = by;
  return one;
}

/// Up to the time in which some limit of the world refills its capacity.
Time Generator::refill_step(const World& world) {
  const auto stored = world.oracle().stored_levels(world.now());
  const Set* set = request_set_ ? request_set_.get() : nullptr;
  if (!stored.empty() && (set == nullptr || chance(50))) set = stored[below(stored.size())].limits.get();
  if (set == nullptr || set->empty()) return between(1, 1000);
  const Terms& terms = (*set)[below(set->size())].terms;
  if (terms.concurrent()) return deadline_step(world);
  return between(1, std::max<Time>(time_to_grant(terms, std::max<std::int64_t>(terms.capacity, 1)), 1));
}

/// To a deadline of what is held in a bucket, or one millisecond before or after it.
Time Generator::deadline_step(const World& world) {
  const int entity = pick_index(static_cast<std::size_t>(config_.oracle.entities));
  const BucketState* const bucket = world.oracle().bucket(entity, 0, world.now());
  std::vector<Time> ends;
  for (const Held& held : bucket == nullptr ? std::vector<Held>() : bucket->limits) {
    for (const auto& [end, amount] : held.slots) ends.push_back(end);
  }
  if (ends.empty()) return between(1, 1000);
  return std::max<Time>(ends[below(ends.size())] - world.now() + between(-1, 1), 1);
}

/// To the expiry of a bucket: just before, at it, just after, or well beyond.
Time Generator::beyond_expiry(const World& world) {
  const BucketState* const own = world.oracle().bucket(0, 0, world.now());
  Time at = own != nullptr && chance(70) ? own->expires_at : world.oracle().next_expiry(world.now());
  if (at == never) at = world.now() + refill_step(world);
  const Time away = at - world.now();
  switch (below(5)) {
    case 0:
      return std::max<Time>(away - 1, 1);
    case 1:
      return away;
    case 2:
      return away + 1;
    default:
      return away + between(1, std::max<Time>(away, 1));
  }
}

/// Ahead by more than the bound, but not so far that a bucket expires, a rule ends or the key of a grant is
/// forgotten; something is written there; then back. 0 where that cannot be.
Time Generator::ahead_by(const World& world) {
  const Time bound = traits_.clock_bound;
  const Oracle& oracle = world.oracle();
  const Time expiry = std::min(
      {oracle.next_expiry(world.now()), oracle.next_rule_end(world.now()), oracle.next_key_end(world.now())});
  const Time most = std::min<Time>(expiry == never ? 100 * day : expiry - world.now() - 1, 100 * day);
  if (most <= bound + 2) return 0;
  const Time by = chance(30) ? bound + between(0, 2) : between(bound + 1, most);
  const Request request{0, 0, {}, request_set_, {}, false};
  later([this, request](const World& then) -> std::optional<Op> { return touch(then, request); });
  if (chance(50)) later([this](const World& then) -> std::optional<Op> { return acquire(then); });
  const Time back = chance(60) ? by : between(1, by);
  later([this, back](const World&) -> std::optional<Op> { return clock(-back); });
  later([this](const World& then) -> std::optional<Op> { return chance(80) ? acquire(then) : look(then); });
  return by;
}

Op Generator::advance(const World& world) {
  if (!concurrent_.empty() && chance(25)) return clock(deadline_step(world));
  const bool refill = !chance(70) || (shape_[Factor::clock] >= clock_back && !traits_.clock_goes_back);
  const int how = refill ? static_cast<int>(clock_refill) : shape_[Factor::clock];
  switch (how) {
    case clock_small:
      return clock(between(1, 50));
    case clock_expiry:
      return clock(beyond_expiry(world));
    case clock_back:
      return clock(chance(50) ? refill_step(world) : -between(1, chance(50) ? 20 : 50'000));
    case clock_ahead:
      if (chance(35)) {
        if (const Time by = ahead_by(world); by > 0) return clock(by);
      }
      return clock(refill_step(world));
    default:
      return clock(chance(90) ? refill_step(world) : between(1, 5));
  }
}

}  // namespace weir::twins
