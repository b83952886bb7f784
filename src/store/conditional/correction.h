// A correction of the balances of one bucket (decision/correction.h), as one conditional write.
#pragma once

#include "decision/correction.h"
#include "store/conditional/machine.h"

namespace weir::conditional {

struct CorrectionOutcome {
  enum class Kind : unsigned char {
    corrected,   ///< or nothing had to be corrected
    refused,     ///< see error
    stale,       ///< the bucket is newer than its resolution, or has another parent: resolve and start again
    contention,  ///< nothing was changed
    unknown,     ///< it may have been corrected, or may still be
  };
  Kind kind = Kind::contention;
  std::optional<Error> error = {};
  std::int64_t version = 0;  ///< stale: what the next resolution's resolved_after must be at least
  bool chain = false;        ///< stale: the catalog has another parent, or is about to
  bool repeated = false;     ///< corrected before, by an earlier copy
};

/// A write of unknown outcome is sent again only with a marker. Without one the copy could arrive after
/// others have charged the bucket, and would fill it a second time.
class CorrectionMachine {
 public:
  /// `settings` and the amounts of the correction must outlive the machine. `new_generation` must be new.
  /// `once`: the entity, for a correction that happens once; the marker is then read with the bucket.
  CorrectionMachine(BucketPlan plan, const decision::Correction& correction, const Settings& settings,
                    std::uint64_t new_generation, std::optional<std::string> once = {});

  [[nodiscard]] Action start() { return {Action::Kind::read, {}}; }
  [[nodiscard]] Action resume(const Event& event, Time now);

  /// Requires that the last action was done.
  const CorrectionOutcome& outcome() const { return outcome_; }
  const Snapshot& snapshot() const { return snapshot_; }
  /// Whether a copy of the write may still arrive.
  bool in_doubt() const { return in_doubt_; }

 private:
  void keep_sent_limits(const Record* alive, Time now);
  Action attempt(Time now);
  bool repeats(Time now) const;
  MarkerWrite marker_write(std::uint64_t generation, Time now) const;
  Action finish(CorrectionOutcome::Kind kind);

  BucketPlan plan_;
  limits::ResolutionRef of_levels_;  ///< the plan's, without the limits of the last request
  decision::Correction correction_;
  const Settings* settings_;
  std::uint64_t new_generation_;
  std::optional<std::string> once_;
  Seen<Marker> marker_;
  bool in_doubt_ = false;
  Snapshot snapshot_{1};
  Transaction sent_;
  CorrectionOutcome outcome_;
  int failures_ = 0;
  bool repairs_ = false;  ///< the write that was sent repairs the refill time, and the correction follows
};

}  // namespace weir::conditional
