// Changes to a lease (adjust, settle, rollback), each in one transaction with the marker that remembers it.
#pragma once

#include "decision/lease.h"
#include "store/conditional/machine.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

struct ChangePlan {
  decision::LeaseRecord lease;  ///< as acquire made it
  decision::LeaseVerb verb = decision::LeaseVerb::settle;
  std::string key;                   ///< of an adjust
  std::vector<LimitCharge> amounts;  ///< differences for adjust, true totals for settle
  std::vector<BucketPlan>
      buckets;  ///< the lease's chain, each with the generation that was charged; no charges
  std::uint64_t new_generation = 0;  ///< for buckets that it creates, in debt; must be new
  /// Whether a marker makes it happen once. Without, it happens at most once only if it is sent once, and
  /// the lease is taken to be as acquire made it.
  bool once = true;
};

struct ChangeOutcome {
  enum class Kind : unsigned char {
    changed,
    refused,     ///< the change cannot be; see error
    stale,       ///< a bucket is newer than its resolution: resolve again and restart()
    contention,  ///< nothing was changed
    unknown,     ///< it may have been changed, or may still be
  };
  Kind kind = Kind::contention;
  bool repeated = false;  ///< it happened before
  std::optional<Error> error;
  std::int64_t version = 0;     ///< stale: what the next resolution's resolved_after must be at least
  decision::LeaseRecord lease;  ///< changed: the lease from now on
};

class Change {
 public:
  /// `settings` and `rules` must outlive the machine.
  Change(ChangePlan plan, const Settings& settings, const Rules& rules);

  /// `images` are from before, by bucket, and may be missing or out of date.
  [[nodiscard]] Action start(std::span<const Image> images, Time now);
  [[nodiscard]] Action resume(const Event& event, Time now);
  /// After a stale outcome, with the chain resolved again.
  [[nodiscard]] Action restart(std::vector<BucketPlan> buckets, Time now);

  /// Requires that the last action was done.
  const ChangeOutcome& outcome() const { return outcome_; }
  const Sight& sight() const { return sight_; }
  /// Failed writes so far.
  int failures() const { return failures_; }
  /// Whether a copy of this change may still arrive.
  bool in_doubt() const { return in_doubt_; }
  const Seen<Marker>& marker() const { return marker_; }

 private:
  Action attempt(Time now);
  Result<decision::LeaseStep> step() const;
  /// Adds the write for one bucket, if there is anything to write, or puts what is in the way into the
  /// outcome. False where an image is missing.
  bool add_write(std::size_t bucket, Time now, Transaction& transaction);
  Action finish(ChangeOutcome::Kind kind);

  ChangePlan plan_;
  const Settings* settings_;
  const Rules* rules_;
  Sight sight_;
  Seen<Marker> marker_;
  Transaction sent_;
  ChangeOutcome outcome_;
  int failures_ = 0;
  bool in_doubt_ = false;
};

}  // namespace weir::conditional
