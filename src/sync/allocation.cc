#include "sync/allocation.h"

#include <algorithm>
#include <numeric>

#include "base/wide.h"

namespace weir::sync {
namespace {

/// a * b / c, rounded down. All are at least 0, and c is not 0.
Millitokens scaled(Millitokens a, Millitokens b, Millitokens c) {
  return static_cast<Millitokens>(static_cast<base::Int128>(a) * b / c);
}

}  // namespace

std::vector<Millitokens> fair_shares(Millitokens whole, std::size_t regions) {
  const auto count = static_cast<Millitokens>(regions);
  std::vector<Millitokens> shares(regions, count > 0 ? whole / count : 0);
  for (std::size_t i = 0; i < regions && static_cast<Millitokens>(i) < whole % count; ++i) ++shares[i];
  return shares;
}

std::vector<Millitokens> shares_by_demand(Millitokens whole, std::span<const Millitokens> demand,
                                          Millitokens least) {
  const std::size_t count = demand.size();
  std::vector<Millitokens> shares = fair_shares(whole, count);
  base::Int128 total = 0;
  for (const Millitokens one : demand) total += one;
  if (total == 0) return shares;
  const auto regions = static_cast<Millitokens>(count);
  const Millitokens floor = std::min(whole / regions, std::max(whole / quiet_parts / regions, least));
  const Millitokens divided = whole - floor * regions;
  Millitokens left = divided;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = static_cast<Millitokens>(static_cast<base::Int128>(divided) * demand[i] / total);
    shares[i] = floor + part;
    left -= part;
  }
  // Rounding leaves less than one millitoken for each region.
  for (std::size_t i = 0; left > 0; i = (i + 1) % count) {
    if (demand[i] == 0) continue;
    ++shares[i];
    --left;
  }
  return shares;
}

std::vector<Millitokens> grants_from(std::size_t from, std::span<const Millitokens> bases,
                                     std::span<const Millitokens> targets) {
  std::vector<Millitokens> grants(bases.size(), 0);
  // What the regions before this one give is taken by the first receivers.
  Millitokens given_before = 0;
  for (std::size_t i = 0; i < from; ++i) given_before += std::max<Millitokens>(bases[i] - targets[i], 0);
  Millitokens given = std::max<Millitokens>(bases[from] - targets[from], 0);
  for (std::size_t to = 0; to < bases.size() && given > 0; ++to) {
    Millitokens wanted = std::max<Millitokens>(targets[to] - bases[to], 0);
    const Millitokens by_others = std::min(wanted, given_before);
    given_before -= by_others;
    wanted -= by_others;
    grants[to] = std::min(wanted, given);
    given -= grants[to];
  }
  return grants;
}

Result<Limit> limit_of_share(const Limit& of, Millitokens share) {
  const Millitokens capacity = of.capacity().millitokens();
  const Millitokens refill =
      std::max<Millitokens>(scaled(of.refill_amount().millitokens(), share, capacity), 1);
  const Millitokens burst = std::max(scaled(of.burst().millitokens(), share, capacity), share);
  LimitSpec spec{.capacity = Amount::milli(share),
                 .burst = Amount::milli(burst),
                 .refill_amount = Amount::milli(refill),
                 .refill_period = of.refill_period(),
                 .mode = of.mode()};
  auto limit = Limit::make(spec);
  // A refill over a long period is exact in every store only if amount and period have a common divisor.
  for (Millitokens divisor = 10; !limit && divisor <= refill; divisor *= 10) {
    spec.refill_amount = Amount::milli(refill - refill % divisor);
    limit = Limit::make(spec);
  }
  return limit;
}

Millitokens refill_in(const Limit& limit, Millitokens share, Time time) {
  const base::Int128 refill =
      base::Int128{limit.refill_amount().millitokens()} * share / limit.capacity().millitokens();
  return base::saturate(refill * time / limit.refill_period().count());
}

Millitokens demand_of(std::span<const Millitokens> windows) {
  constexpr Millitokens weights[windows_remembered] = {3, 2, 1};
  base::Int128 sum = 0;
  Millitokens weight = 0;
  for (std::size_t i = 0; i < std::min(windows.size(), windows_remembered); ++i) {
    sum += static_cast<base::Int128>(weights[i]) * std::max<Millitokens>(windows[i], 0);
    weight += weights[i];
  }
  return weight == 0 ? 0 : static_cast<Millitokens>(sum / weight);
}

}  // namespace weir::sync
