// Changes to a lease (adjust, extend, settle, rollback), each in one transaction with the marker that
// remembers it.
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
  /// The buckets of the lease's chain, each with the generation that was charged, and without charges.
  std::vector<BucketPlan> buckets;
  std::vector<std::string> entities;  ///< of the buckets
  std::uint64_t new_generation = 0;   ///< for buckets that it creates, in debt; must be new
  /// Whether a marker makes it happen once. Without one the change must not be retried, and the lease is
  /// assumed to be as acquire made it.
  bool once = true;
  Time deadline = 0;   ///< of the lease as acquire made it
  Time lease_for = 0;  ///< of an extend
  Debt debt = Debt::allowed;
  bool only_held = false;  ///< as decision::LeaseChange has it
};

struct ChangeOutcome {
  enum class Kind : unsigned char {
    changed,
    refused,     ///< the change is not allowed; see error
    stale,       ///< a bucket is newer than its resolution, or has another parent: resolve and start again
    contention,  ///< nothing was changed
    unknown,     ///< it may have been changed, or may still be
  };
  Kind kind = Kind::contention;
  bool repeated = false;  ///< it happened before
  std::optional<Error> error;
  std::int64_t version = 0;     ///< stale: what the next resolution's resolved_after must be at least
  bool chain = false;           ///< stale: the catalog has another parent, or is about to
  decision::LeaseRecord lease;  ///< changed: the lease after the change
  Time deadline = 0;            ///< changed: of the lease after the change
  std::vector<decision::LeaseAmount> charges;  ///< changed: the differences; none if repeated
};

class Change {
 public:
  /// `settings` must outlive the machine.
  Change(ChangePlan plan, const Settings& settings);

  /// `images` are remembered ones, by bucket, and may be missing or out of date. So may be `marker`, from an
  /// earlier change of the lease: the first write requires its sequence, instead of no marker.
  [[nodiscard]] Action start(std::span<const Image> images, Time now, std::optional<Marker> marker = {});
  [[nodiscard]] Action resume(const Event& event, Time now);

  /// Requires that the last action was done.
  const ChangeOutcome& outcome() const { return outcome_; }
  const Snapshot& snapshot() const { return snapshot_; }
  /// Failed writes so far.
  int failures() const { return failures_; }
  /// Whether a copy of this change may still arrive.
  bool in_doubt() const { return in_doubt_; }
  const Seen<Marker>& marker() const { return marker_; }

 private:
  /// The state of one attempt.
  enum class Step : unsigned char { ready, look, stale };

  Action attempt(Time now);
  Result<decision::LeaseStep> step() const;
  /// Whether the marker is not that of the lease: once it was over, its key was used for another lease, or
  /// for an acquire that was given up.
  bool is_replaced() const;
  /// Leaves out buckets that do not have a limit, and records that in the lease. False: the buckets have to
  /// be read first.
  Result<bool> leave_out_missing(decision::LeaseStep& step, Time now) const;
  /// The deadline of the lease, before this change.
  Time deadline() const;
  /// Computes the next deadline, and adds what is moved to it to the plans of the buckets. Fails where a
  /// bucket was written by a clock that is past the deadline. False: the buckets have to be read first.
  Result<bool> extend(Time now);
  /// Adds the write for one bucket, if there is anything to write.
  Result<Step> add_write(std::size_t bucket, Time now, decision::LeaseStep& step, Transaction& transaction);
  bool return_granted(decision::LeaseStep& step, Time now);
  /// Refuses because of the state of the buckets, if the images of them and of the marker are current.
  Action refuse(Error error);
  /// The same, with images that are current.
  Action refuse_for_good(Error error);
  Action look() { return {Action::Kind::read, {}}; }
  Action finish(ChangeOutcome::Kind kind);

  ChangePlan plan_;
  const Settings* settings_;
  Snapshot snapshot_;
  Seen<Marker> marker_;
  Transaction sent_;
  ChangeOutcome outcome_;
  int failures_ = 0;
  bool in_doubt_ = false;
};

}  // namespace weir::conditional
