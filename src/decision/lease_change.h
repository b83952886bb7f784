// A change to a lease: adjust, extend, settle or rollback, from the stored buckets and the lease's record to
// the states to write.
#pragma once

#include "decision/chain.h"
#include "decision/lease.h"
#include "decision/marker.h"
#include "decision/next_state.h"
#include "weir/report.h"

namespace weir::decision {

struct LeaseQuestion {
  /// The marker's record; the lease's own only where the store has shown that there is no marker.
  const LeaseRecord& record;
  LeaseChange change;
  std::span<const LeaseBucket> buckets;  ///< the buckets that the lease charged, by link
  std::string_view resource;
  Time now = 0;
  Time deadline = 0;  ///< of the lease: the marker's, where there is one
};

struct LeaseAnswer {
  LeaseRecord record;                                                  ///< the lease after the change
  Time deadline = 0;                                                   ///< of the lease after the change
  std::array<std::optional<bucket::State>, limits::max_chain> states;  ///< by link; nothing: unchanged
  std::vector<limits::ResolutionRef> made;                             ///< keeps alive what links point to
};

/// Fails from the lease's deadline on.
Result<void> check_open(Time deadline, Time now);
/// The present deadline of a lease: that of its marker if the lease was extended after its holder learned
/// `known_deadline`. 0 if the marker belongs to a later lease. `marker` may be null.
template <class AnyMarker>
Time deadline_of(const AnyMarker* marker, Time known_deadline) {
  if (marker == nullptr) return known_deadline;
  return marks(*marker, known_deadline) ? std::max(marker->deadline, known_deadline) : 0;
}
/// The deadline after a change. `lists`: the holds of the lease's concurrent limits without its own amounts.
/// `from`: now, or the latest moment of a bucket with such a limit.
Time next_deadline(const LeaseChange& change, Time deadline, Time from,
                   std::span<const bucket::Holds* const> lists);

/// `states`: the stored buckets by link; nothing where a bucket is absent or has expired. A link whose
/// resolution is open keeps the limits that came with the last request. A charge creates a missing
/// bucket. Fails from the lease's deadline on. Tokens given back to a bucket other than the charged one are
/// dropped, because the charged one was full when it expired.
Result<LeaseAnswer> change(Chain& chain, std::span<std::optional<bucket::State>> states,
                           const LeaseQuestion& question, const NewGeneration& new_generation,
                           LimitReport& report);

/// The resolution with the limits that came with the last request, which hold until the next one: those in
/// force that no level names, or has named since the bucket was written. Where no level has limits, all
/// limits in force. Nothing where there are none. For changes that bring no limits of their own: of leases,
/// of balances and of the limits of levels.
limits::ResolutionRef resolve_as_stored(const limits::Resolution& resolution, const bucket::State& state,
                                        Time now);

}  // namespace weir::decision
