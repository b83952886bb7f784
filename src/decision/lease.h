// A lease: an admitted charge that can still be adjusted, extended, settled or rolled back. Pure functions:
// from the record of a lease and a change to the charges and the next record. A store writes both in one
// step, so that a change happens once however often it is sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "bucket/grants.h"
#include "limits/limit_set.h"
#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/detail/lease_data.h"
#include "weir/result.h"

namespace weir::decision {

/// The most keys of adjusts that one lease remembers.
inline constexpr std::size_t max_adjusts = maxima::adjusts;

using detail::Ending;
using detail::LeaseAmount;

struct LeaseRecord {
  Ending ending = Ending::open;
  std::vector<LeaseAmount> amounts;
  std::vector<std::string> keys;  ///< of the adjusts seen
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

/// Whether a record that a store returned is within the range of the arithmetic.
bool can_be_used(const LeaseRecord& record);

using detail::LeaseVerb;

/// A requested change. `charges`: differences for adjust, true totals for settle.
struct LeaseChange {
  LeaseVerb verb = LeaseVerb::settle;
  std::string_view key;  ///< adjust only; empty: cannot be repeated
  std::span<const Charge> charges;
  Time lease_for = 0;         ///< extend only: the lease can be changed for this long from now on
  Debt debt = Debt::allowed;  ///< adjust only
  bool only_held = false;     ///< leaves out limits that the lease does not have
};

/// Whether the record of a lease shows that this change has happened. A repeated adjust without a key looks
/// like a new one, so it must not be sent again.
inline bool is_idempotent(LeaseVerb verb, std::string_view key) {
  return verb != LeaseVerb::adjust || !key.empty();
}

struct LeaseStep {
  bool repeated = false;  ///< it was applied before: charge nothing, write nothing
  LeaseRecord next;
  /// Positive: charge more; negative: give back; never 0. A limit that is concurrent in some buckets and a
  /// rate limit in others has one entry for each kind; `holds` is then all of its buckets, or none.
  std::vector<LeaseAmount> charges;
};

/// `sets` are the limits in force in each bucket of the chain, for limits that the lease has not charged yet.
/// Refuses a limit that no bucket has, an adjust below a net of 0, a negative total, and any change after a
/// different ending. An ending gives back everything that is held of concurrent limits.
Result<LeaseStep> step(const LeaseRecord& record, const LeaseChange& change,
                       std::span<const limits::LimitSetRef> sets);

/// The one of this limit, which must exist.
LeaseAmount& amount_in(std::vector<LeaseAmount>& amounts, std::string_view limit);
/// Notes what a charge took of the grants of one bucket.
void note_granted(LeaseAmount& amount, std::size_t bucket, std::span<const bucket::Grant> pieces);
/// Takes up to `back` from these notes, those that end last first; returns the pieces.
bucket::Grants take_granted(LeaseAmount& amount, std::size_t bucket, std::int64_t back);

/// Copies the masks of the buckets that were actually charged into the next record. Fails where a charge
/// reached no bucket.
Result<void> settle_masks(LeaseStep& step);
/// Checks the balance of a limit after a charge. Fails below the range in which every store is exact. Where a
/// debt is refused, it fails below 0, too, if the limit is in force: a dormant limit and one in shadow mode
/// refuse nothing.
Result<void> check_debt(const limits::LimitSet& set, std::string_view limit, std::int64_t tokens, Debt debt);

}  // namespace weir::decision
