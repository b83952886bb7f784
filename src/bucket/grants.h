// What an operator has granted beside the balance of a rate limit: amounts with an end. They do not refill
// and are not cut at the burst. Pure functions on a short sorted list, in the stored form of holds.
//
// A charge takes grants first, those that end first before the others, and the rest from the balance. A lease
// notes what it took of them, so that what it gives back returns to them first.
#pragma once

#include <cstdint>
#include <span>

#include "bucket/holds.h"

namespace weir::bucket {

/// Of a grant, the deadline is its end: from there on it is gone.
using Grant = Hold;
/// Sorted by end, each end once; at most maxima::grants.
using Grants = Holds;

/// The end of a grant that lasts until it is used.
inline constexpr Time no_end = Time{1} << 53;

/// Takes up to `amount`; returns what each grant gave.
Grants spend(Grants& grants, std::int64_t amount);
/// Adds an amount to the grant with this end, or a new one. False: the list is full.
bool add_grant(Grants& grants, Time end, std::int64_t amount);
/// Gives pieces back to their grants. Those that have ended at `now` are lost. Where other grants have taken
/// all places of the list since, a piece goes to the last one that ends before its own end, or to the first.
void give_back(Grants& grants, std::span<const Grant> pieces, Time now);

}  // namespace weir::bucket
