// The buckets of one operation, from the charged entity up the chain of its parents, and the balances of each
// at the moment of the decision.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bucket/claims.h"
#include "decision/repair.h"
#include "limits/names.h"
#include "limits/resolution.h"
#include "weir/amount.h"
#include "weir/result.h"

namespace weir::decision {

/// A stored bucket brought to the moment of the decision by the general arithmetic (bucket/claims.h).
struct Claimed {
  std::optional<bucket::State> state;  ///< nothing: the bucket is absent or expired
  bucket::Claims claims;
  bool repaired = false;  ///< the refill time lay too far ahead (repair.h)
  const bucket::State* stored() const { return state ? &*state : nullptr; }
};

/// One bucket of the chain. Trivial, so that constructing the array costs nothing.
struct Link {
  std::string_view entity;
  std::string_view key;  ///< the entity directly followed by the resource, where the store has them so
  const limits::Resolution* resolution;

  // Set together with the balances.
  const Claimed* claimed;    ///< null: the store has computed `held` in place (store/table/fast_path.h)
  std::uint64_t generation;  ///< of the stored bucket; 0: there is none
  Time expires_at;           ///< of the stored bucket; `never` where there is none
  Time at;                   ///< the moment of the decision, never before the last refill
  Time hold_until;  ///< the deadline of what an admission takes of concurrent limits; set by conclude()
  /// Balances and grants, by the order of the resolved limits.
  std::array<std::int64_t, limits::max_limits> held;

  // Set by match() and decide().
  std::uint32_t named;                                  ///< bit i: the i-th limit is named, and not left out
  std::uint32_t left_out;                               ///< bit i: in shadow mode, and would have refused
  bool fits;                                            ///< every named limit holds its amount
  std::array<std::int64_t, limits::max_limits> amount;  ///< requested; 0 where not named
  std::array<std::int64_t, limits::max_limits> asked;   ///< requested of limits that are left out

  std::size_t limit_count() const { return resolution->limits->size(); }
};

/// The links of one operation.
class Chain {
 public:
  Chain() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the storage
  ~Chain() {
    for (std::size_t i = 0; claimed_mask_ != 0; ++i, claimed_mask_ >>= 1U) {
      if ((claimed_mask_ & 1U) != 0) std::destroy_at(&claimed_[i]);
    }
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  Link& add(std::string_view entity, const limits::Resolution* resolution) {
    Link& link = links_[size_++];
    link.entity = entity;
    link.key = {};
    link.resolution = resolution;
    link.claimed = nullptr;
    link.generation = 0;
    link.expires_at = bucket::never;
    link.left_out = 0;
    return link;
  }
  std::size_t size() const { return size_; }
  bool full() const { return size_ == limits::max_chain; }
  Link& operator[](std::size_t index) { return links_[index]; }
  const Link& operator[](std::size_t index) const { return links_[index]; }
  Link* begin() { return links_; }
  Link* end() { return links_ + size_; }
  const Link* begin() const { return links_; }
  const Link* end() const { return links_ + size_; }

  /// Claims the refill of a link up to `now`. `state`: the stored bucket; nothing where it is absent or has
  /// expired. Requires that the resolution has limits. A refill time further ahead of the clock than `bound`
  /// is repaired.
  void claim(Link& link, std::optional<bucket::State> state, Time now, Time bound = clock_bound);

 private:
  std::size_t size_ = 0;
  unsigned claimed_mask_ = 0;  ///< bit i: there is a claimed_[i]
  union {
    Link links_[limits::max_chain];
  };
  union {
    Claimed claimed_[limits::max_chain];  ///< by link
  };
};

/// The charges of a request that a link has limits for.
struct Matched {
  std::uint64_t charges = 0;  ///< bit i: the i-th
  bool twice = false;         ///< one limit is named twice
};

/// The mask with all charges matched.
inline std::uint64_t all_of(std::span<const Charge> charges) {
  return charges.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << charges.size()) - 1;
}

/// Sets which limits of the link are named, and their amounts. A limit that is off is known, but not named.
inline Matched match(Link& link, std::span<const Charge> charges) {
  const limits::LimitSet& set = *link.resolution->limits;
  Matched matched;
  link.named = 0;
  link.left_out = 0;
  for (std::size_t i = 0; i < set.size(); ++i) link.amount[i] = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const int index = set.find(charges[i].limit);
    if (index < 0) continue;
    const std::uint32_t bit = 1U << static_cast<unsigned>(index);
    matched.twice = matched.twice || (link.named & bit) != 0;
    matched.charges |= std::uint64_t{1} << i;
    link.named |= bit;
    link.amount[static_cast<std::size_t>(index)] = charges[i].amount.millitokens();
  }
  if (const std::uint32_t off = set.off(); off != 0) [[unlikely]] {
    link.named &= ~off;
    for (std::size_t i = 0; i < set.size(); ++i) link.amount[i] = (off >> i & 1U) != 0 ? 0 : link.amount[i];
  }
  return matched;
}

/// The same for a request that names every limit in the order of the set; false for any other request. For
/// sets without limits that are off.
inline bool match_in_order(Link& link, std::span<const Charge> charges, std::size_t count) {
  const limits::LimitSet& set = *link.resolution->limits;
  if (charges.size() != count) return false;
  const auto* const entries = set.entries();
  for (std::size_t i = 0; i < count; ++i) {
    if (!set.is(entries[i], charges[i].limit)) return false;
    link.amount[i] = charges[i].amount.millitokens();
  }
  link.named = (1U << count) - 1;
  link.left_out = 0;
  return true;
}

/// Matches the charges with every link. Fails on a limit that no link has and on one that is named twice.
Result<void> match_all(Chain& chain, std::span<const Charge> charges);

/// Whether every named limit holds the amount requested of it.
inline bool fits(const Link& link, std::size_t count) {
  std::uint32_t lacking = 0;
  for (std::size_t i = 0; i < count; ++i) lacking |= std::uint32_t{link.amount[i] > link.held[i]} << i;
  return (lacking & link.named) == 0;
}

/// The limits of a link that are left out where they would refuse. `all`: the whole request is in shadow
/// mode.
inline std::uint32_t shadows_of(const Link& link, bool all) {
  return all ? ~std::uint32_t{0} : link.resolution->limits->shadows();
}
/// Takes limits out of the charge: bit i of `limits` is the i-th.
void leave_out(Link& link, std::uint32_t limits);
/// Undoes it.
void rejoin(Link& link);
/// Leaves out those of the `shadows` that do not hold their amount, and returns whether the others fit.
bool fits_without(Link& link, std::uint32_t shadows);
/// Sets `fits`. Limits in shadow mode that do not hold their amount are left out; with `all`, any limit.
inline void decide(Link& link, bool all) {
  link.fits = fits(link, link.limit_count());
  if (!link.fits) [[unlikely]] {
    if (const std::uint32_t shadows = shadows_of(link, all); shadows != 0)
      link.fits = fits_without(link, shadows);
  }
}

/// Whether the chain has a concurrent limit, named or not: fast paths do not know them.
inline bool has_concurrent(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const Link& link) {
    return link.resolution->limits && link.resolution->limits->concurrent() != 0;
  });
}
/// The concurrent limits that an admission takes something of: bit i is the i-th.
std::uint32_t concurrent_taken(const Link& link);
/// The claim of a limit of the resolved set. Requires that the link was claimed.
const bucket::LimitClaim& claim_of(const Link& link, std::size_t limit);
/// The deadline of a lease on a chain that was claimed and decided. Where it takes something of a concurrent
/// limit, the deadline is rounded so that every list of holds can take it, and counted from the latest moment
/// of a bucket: a clock that is behind would otherwise end what is held as soon as it is taken.
Time rounded_lease_deadline(const Chain& chain, Time now, Time lease_for);
inline Time lease_deadline(const Chain& chain, Time now, Time lease_for) {
  return has_concurrent(chain) ? rounded_lease_deadline(chain, now, lease_for)
                               : base::saturating_add(now, lease_for);
}

/// Fails if the record would have to keep too many limits at once.
Result<void> check_size(const Link& link);

}  // namespace weir::decision
