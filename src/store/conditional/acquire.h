// Acquire: charges the buckets of a chain, all of them or none.
#pragma once

#include "store/conditional/machine.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

struct AcquirePlan {
  std::vector<BucketPlan> buckets;   ///< the chain, the charged entity first
  std::uint64_t new_generation = 0;  ///< for the buckets that it creates; must be new
  /// With it the charge happens once however often it is sent: a marker with this record is written in the
  /// same transaction, and a write of unknown outcome is sent again.
  std::optional<decision::LeaseRecord> once;
};

/// One limit at the decision.
struct LimitStanding {
  std::string limit;
  std::int64_t requested = 0;
  std::int64_t held = 0;  ///< before the charge
  bool exceeded = false;
  bool never_fits = false;
  Time wait = 0;  ///< of this limit alone; where it is exceeded and can fit
};

struct BucketStanding {
  std::uint64_t generation = 0;  ///< of the bucket that was charged
  std::vector<LimitStanding> limits;
};

struct AcquireOutcome {
  enum class Kind : unsigned char {
    admitted,
    refused,
    stale,       ///< a bucket is newer than its resolution: resolve again and restart()
    contention,  ///< nothing was charged
    unknown,     ///< it may have been charged, or may still be
  };
  Kind kind = Kind::contention;
  bool repeated = false;  ///< admitted before, by an earlier copy; the standings have no limits
  bool never_fits = false;
  Time wait = 0;             ///< refused and it can fit: how long until the whole plan would be admitted
  std::int64_t version = 0;  ///< stale: what the next resolution's resolved_after must be at least
  std::vector<BucketStanding> buckets = {};
};

class Acquire {
 public:
  /// `settings` and `rules` must outlive the machine.
  Acquire(AcquirePlan plan, const Settings& settings, const Rules& rules);

  /// `images` are from before, by bucket, and may be missing or out of date.
  [[nodiscard]] Action start(std::span<const Image> images, Time now);
  [[nodiscard]] Action resume(const Event& event, Time now);
  /// After a stale outcome, with the chain resolved again.
  [[nodiscard]] Action restart(std::vector<BucketPlan> buckets, Time now);

  /// Requires that the last action was done.
  const AcquireOutcome& outcome() const { return outcome_; }
  const Sight& sight() const { return sight_; }
  /// Failed writes so far.
  int failures() const { return failures_; }
  /// Whether a copy of this acquire may still arrive.
  bool in_doubt() const { return in_doubt_; }
  const Seen<Marker>& marker() const { return marker_; }

 private:
  Action attempt(Time now);
  Action charge(const std::vector<Stand>& stands);
  Action refuse(const std::vector<Stand>& stands);
  Action finish(AcquireOutcome::Kind kind);
  Action repeat();
  Action send(Transaction transaction);
  Write write_for(const Stand& stand) const;
  bool admitted_before() const { return marker_.item && !marker_.item->fence; }

  AcquirePlan plan_;
  const Settings* settings_;
  const Rules* rules_;
  Sight sight_;
  Seen<Marker> marker_;
  Transaction sent_;
  AcquireOutcome outcome_;
  int failures_ = 0;
  bool in_doubt_ = false;
  bool fencing_ = false;
};

}  // namespace weir::conditional
