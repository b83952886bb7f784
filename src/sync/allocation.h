// How one limit is divided among regions. Pure functions of published numbers: every region that has read the
// same snapshots computes the same shares.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/clock.h"
#include "weir/limit.h"

namespace weir::sync {

using Millitokens = std::int64_t;

/// The floor of quiet regions: all of them together keep this part of the whole.
inline constexpr Millitokens quiet_parts = 20;

/// Divides `whole` into equal parts. The first ones get one millitoken more where it does not divide evenly.
std::vector<Millitokens> fair_shares(Millitokens whole, std::size_t regions);

/// Divides `whole` by demand. Each region keeps at least its part of 1 / quiet_parts of the whole, and at
/// least `least` where that is no more than the equal part. Without any demand the parts are equal. The sum
/// is exactly `whole`.
std::vector<Millitokens> shares_by_demand(Millitokens whole, std::span<const Millitokens> demand,
                                          Millitokens least);

/// How much of its own base the region `from` lets each other region use, so that bases become targets. Both
/// have the same sum. Regions that give are matched with those that get in the order of the regions.
std::vector<Millitokens> grants_from(std::size_t from, std::span<const Millitokens> bases,
                                     std::span<const Millitokens> targets);

/// The limit of a region that has `share` of a limit whose capacity is that of `of`: burst and refill in the
/// same proportion, rounded down. `share` may be larger than the capacity.
Result<Limit> limit_of_share(const Limit& of, Millitokens share);

/// What a share of a limit refills in a time.
Millitokens refill_in(const Limit& limit, Millitokens share, Time time);

/// The demand of a region from what it used in each of its last windows, the latest first: the recent ones
/// weigh more, and what is older than three windows counts nothing.
Millitokens demand_of(std::span<const Millitokens> windows);
inline constexpr std::size_t windows_remembered = 3;

}  // namespace weir::sync
