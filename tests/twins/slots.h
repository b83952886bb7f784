// What leases hold of a concurrent limit, by the rules that docs and headers state: amounts by deadline.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "weir/clock.h"

namespace weir::twins {

/// The amounts that are held, by the deadline at which they are free again.
using Slots = std::map<Time, std::int64_t>;

/// How many deadlines one limit of a bucket tells apart.
inline constexpr std::size_t most_slots = 16;

std::int64_t total(const Slots& slots);
/// Those whose deadline has not passed.
Slots live_at(const Slots& slots, Time at);
/// The first deadline by which this much more is free.
Time free_at(const Slots& slots, std::int64_t missing);

/// The end of a lease that holds something, rounded up to a multiple of an eighth of its length.
Time rounded_end(Time now, Time length);
/// The first deadline, not before this one, that each of the lists has or has room for. A full list without a
/// later deadline makes room.
Time common_end(const std::vector<const Slots*>& lists, Time end);

/// Adds an amount. A full list takes it under its next deadline; where there is none, the two deadlines that
/// are closest to each other become the later of them.
void take(Slots& slots, Time end, std::int64_t amount);
/// Gives back from the earliest amounts that are held at least as long as the lease.
void give_back(Slots& slots, Time end, std::int64_t amount);

/// The amounts granted beside a balance, by their end; `never`: until it is used.
using Granted = std::map<Time, std::int64_t>;
inline constexpr std::size_t most_grants = 4;
/// Takes up to this much of the grants that end first; returns the part of each.
Granted spend(Granted& grants, std::int64_t amount);
/// The reverse: takes up to this much of the grants that end last.
Granted spend_last(Granted& grants, std::int64_t amount);
/// Gives back what was taken, unless its end has passed. Where the list is full of others, it goes to the
/// last one that ends before, or to the first.
void give_back(Granted& grants, const Granted& pieces, Time at);

}  // namespace weir::twins
