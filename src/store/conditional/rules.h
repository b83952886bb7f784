// The rules that keep a bucket exact under concurrent conditional writes, each as a switch.
#pragma once

#include "bucket/claims.h"

namespace weir::conditional {

/// What the machines insist on. Programs use the defaults; only the model checker (tests/model) turns a
/// rule off, one at a time, to show with a trace what breaks without it.
///
/// Conditions without a switch: a credit's and a Retry's "not expired", which only keep the counters of a
/// record honest that nobody reads any more; and `exists` and `absent` of single limits in Normal, which
/// follow from the version within a generation.
struct Rules {
  // Create.
  bool create_only_absent = true;  ///< or a slow creator replaces a bucket that was charged meanwhile

  // Normal: the write that claims refill.
  bool normal_same_refill = true;   ///< or the same stretch of time is granted twice
  bool normal_unsaturated = true;   ///< or a charge eats refill that did not fit into the bucket
  bool normal_saturated = true;     ///< or setting the balance to the brim erases a charge made meanwhile
  bool normal_floor = true;         ///< or an acquire makes the balance negative
  bool normal_alive = true;         ///< or an expired bucket, which is none, is charged
  bool normal_expiry_floor = true;  ///< or an expiry stands that did not count a debt made meanwhile
  bool zero_checked = true;         ///< or an acquire that names a limit with 0 passes a bucket in debt

  // Retry: the blind write that leaves the refill time alone.
  bool retry_ceiling = true;  ///< or it charges refill that does not fit into the bucket any more
  bool retry_recent = true;   ///< or the same, after a long stretch without a claim
  bool retry_floor = true;    ///< or an acquire makes the balance negative
  bool retry_expiry = true;   ///< or the bucket vanishes before it is full again

  // Normal and Retry.
  bool same_version = true;     ///< or a writer under old limits admits what the new ones forbid
  bool same_generation = true;  ///< or a lease names a bucket that it did not charge
  bool stale_resolves = true;   ///< or old limits are written over new ones

  // Credit: what is given back.
  bool credit_generation = true;  ///< or a successor of the charged bucket is given what it never lost
  bool credit_exists = true;      ///< or a missing bucket comes back in part

  // Parameters and expiry.
  bool keep_dormant = true;    ///< or removing a limit and adding it again fills it
  bool expiry_of_debt = true;  ///< or a bucket in debt vanishes and comes back full
  bool expiry_written = true;  ///< or a charge is forgotten at the expiry of an earlier one

  // Outcomes.
  bool refuse_when_current = true;  ///< or an old image refuses what the bucket holds
  bool resend_needs_marker = true;  ///< or a write that did arrive is applied twice
  bool fence_refusals = true;       ///< or a late copy charges what was reported as refused
  bool marker_sequence = true;      ///< or settle and rollback of the same lease both give back

  /// The arithmetic; replaced by the checker to show what its parts are for.
  bucket::Claims (*claims_of)(const bucket::State*, const limits::Resolution&, Time) = &bucket::claims_of;
};

}  // namespace weir::conditional
