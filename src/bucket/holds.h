// What leases hold of a concurrent limit: amounts with the deadlines at which they are given back by
// themselves. Pure functions on a short sorted list.
//
// Leases share entries: deadlines are rounded, and a full list takes a new amount under the next deadline
// that it has. A lease knows its deadline only. Its amount is never stored under an earlier deadline, so a
// release that takes from the earliest entries, from that deadline on, never frees anything too early.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "weir/clock.h"

namespace weir::bucket {

struct Hold {
  Time deadline = 0;        ///< from here on the amount is free again
  std::int64_t amount = 0;  ///< millitokens, more than 0
  friend bool operator==(const Hold&, const Hold&) = default;
};

/// Sorted by deadline, each deadline once; at most maxima::holds.
using Holds = std::vector<Hold>;

std::int64_t total(std::span<const Hold> holds);
/// The entries whose deadline has not passed.
Holds live(std::span<const Hold> holds, Time at);
/// The first deadline by which `missing` more is free; nothing where that never happens.
std::optional<Time> moment_free(std::span<const Hold> holds, std::int64_t missing);

/// The deadline of a lease that begins now, rounded up to a multiple of an eighth of its length.
Time rounded_deadline(Time now, Time lease_for);
/// The deadline under which the list can take an amount that is held until `deadline`: that one, or the next
/// one in a full list.
Time place(std::span<const Hold> holds, Time deadline);
/// The first deadline, not before this one, that place() leaves as it is in every list.
Time common_deadline(std::span<const Holds* const> lists, Time deadline);
/// Adds an amount under place(). A full list that ends before the deadline makes room by joining the two
/// neighbours that are closest to each other, under the later deadline.
void take(Holds& holds, Time deadline, std::int64_t amount);
/// Subtracts an amount that was taken under `deadline`, unless that has passed at `now`: then the amount is
/// free already, and what the list still has is held by others.
void release(Holds& holds, Time deadline, std::int64_t amount, Time now);

/// The stored form: variable-length numbers, the deadlines as differences. Empty for an empty list.
std::string encode(std::span<const Hold> holds);
/// Whether a list that a store returned is one: sorted, in range, not too long.
bool can_be_used(std::span<const Hold> holds);
/// Nothing where the text is not one of encode().
std::optional<Holds> decode_holds(std::string_view text);

}  // namespace weir::bucket
