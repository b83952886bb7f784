// Brings one bucket under new limits at once: claims refill under the old ones and takes the new ones over.
#pragma once

#include "store/conditional/machine.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

struct AlterOutcome {
  enum class Kind : unsigned char {
    altered,     ///< or there was nothing to alter
    stale,       ///< the bucket is newer than the resolution
    contention,  ///< nothing was written; the next decision on the bucket takes the limits over
  };
  Kind kind = Kind::contention;
  std::int64_t version = 0;
};

/// A store that changes an entity's limits adds the write of the limits record to this machine's transaction,
/// so that no writer can act under the old limits once the new ones are stored. A write of unknown outcome is
/// sent again: the version in its condition lets one copy through.
class Alter {
 public:
  /// `settings` and `rules` must outlive the machine.
  Alter(BucketPlan plan, const Settings& settings, const Rules& rules);

  [[nodiscard]] Action start(std::span<const Image> images, Time now);
  [[nodiscard]] Action resume(const Event& event, Time now);

  /// Requires that the last action was done.
  const AlterOutcome& outcome() const { return outcome_; }
  const Sight& sight() const { return sight_; }
  /// Failed writes so far.
  int failures() const { return failures_; }

 private:
  Action attempt(Time now);
  Action finish(AlterOutcome::Kind kind);

  BucketPlan plan_;
  const Settings* settings_;
  const Rules* rules_;
  Sight sight_{1};
  Transaction sent_;
  AlterOutcome outcome_;
  int failures_ = 0;
};

}  // namespace weir::conditional
