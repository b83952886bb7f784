// The record that makes a keyed acquire, and changes to a lease, happen once. A store writes it in the same
// step as the charge or change that it records.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "decision/lease.h"
#include "weir/clock.h"
#include "weir/decision.h"

namespace weir::decision {

/// Identifies a lease.
using Nonce = std::array<std::uint64_t, 2>;
using LeaseBucket = detail::LeaseData::Bucket;

struct Marker {
  LeaseRecord record;
  Time deadline = 0;                 ///< from here on the marker is void
  std::vector<LeaseBucket> buckets;  ///< the charged buckets, in the order of the chain; empty in format 1
  Time first_deadline = 0;           ///< before the lease was extended; 0: it never was
};

/// Whether a marker belongs to the lease that the holder knows by this deadline. After that deadline the key
/// can serve another lease, whose marker replaces this one and has a later deadline.
template <class AnyMarker>
bool marks(const AnyMarker& marker, Time known_deadline) {
  return known_deadline >= (marker.first_deadline != 0 ? marker.first_deadline : marker.deadline);
}
/// Sets the deadline of a lease that was changed.
template <class AnyMarker>
void set_deadline(AnyMarker& marker, Time deadline) {
  if (deadline != marker.deadline && marker.first_deadline == 0) marker.first_deadline = marker.deadline;
  marker.deadline = deadline;
}

/// The record and the marker of a lease as acquire made it.
inline LeaseRecord record_of(const detail::LeaseData& lease) {
  return {.ending = lease.ending, .amounts = lease.amounts, .keys = {}};
}
inline Marker marker_of(const detail::LeaseData& lease) {
  return {record_of(lease), lease.deadline, lease.buckets};
}

/// Whether a repeated acquire was admitted before.
inline bool repeats(const Marker* marker, Time now) { return marker != nullptr && marker->deadline > now; }

}  // namespace weir::decision
