// Acquire: charges the buckets of a chain, all of them or none.
#pragma once

#include "decision/wait.h"
#include "store/conditional/machine.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

/// Makes an acquire happen once however often it is sent: a marker with this content is written in the same
/// transaction, and a write whose outcome is unknown is sent again.
struct Once {
  decision::LeaseRecord lease;
  std::vector<std::string> entities;  ///< of the buckets, in the order of the chain
};

struct AcquirePlan {
  std::vector<BucketPlan> buckets;   ///< the chain, the charged entity first
  std::uint64_t new_generation = 0;  ///< for the buckets that it creates; must be new
  std::optional<Once> once = {};
  /// Entities of the chain without limits, and so without a bucket, with the parent of each. No bucket pins
  /// their parent, so every charge checks it.
  std::vector<LinkCheck> bare = {};
  /// Other processes write these buckets too, so that remembered images are rarely up to date: read first,
  /// unless Retry will do.
  bool read_first = false;
  bool shadow = false;  ///< no limit refuses; those that would are left out
  Time lease_for = 0;   ///< how long the lease can be changed
};

struct AcquireOutcome {
  enum class Kind : unsigned char {
    admitted,
    refused,
    stale,       ///< a bucket is newer than its resolution, or the chain is another: resolve and start again
    contention,  ///< nothing was charged
    unknown,     ///< it may have been charged, or may still be
  };
  Kind kind = Kind::contention;
  bool repeated = false;     ///< admitted before, by an earlier copy
  decision::Wait wait = {};  ///< refused: how long until the whole plan would be admitted
  std::int64_t version = 0;  ///< stale: what the next resolution's resolved_after must be at least
  bool chain = false;        ///< stale: the catalog has another parent, or is about to
  std::vector<std::uint64_t> generations = {};  ///< admitted: of the buckets that were charged
  std::vector<std::uint32_t> left_out = {};     ///< admitted: the limits of each bucket that were left out
  /// Admitted: what was taken of grants.
  struct Granted {
    std::size_t bucket = 0;
    std::string limit;
    bucket::Grants pieces;
  };
  std::vector<Granted> granted = {};
  Time deadline = 0;  ///< admitted: of the lease
};

class Acquire {
 public:
  /// `settings` must outlive the machine.
  Acquire(AcquirePlan plan, const Settings& settings);

  /// `images` are remembered ones, by bucket, and may be missing or out of date.
  [[nodiscard]] Action start(std::span<const Image> images, Time now);
  [[nodiscard]] Action resume(const Event& event, Time now);

  /// Requires that the last action was done.
  const AcquireOutcome& outcome() const { return outcome_; }
  const Snapshot& snapshot() const { return snapshot_; }
  /// Failed writes so far.
  int failures() const { return failures_; }
  /// Whether the last write charges. Other writes repair a bucket, or create one that refuses.
  bool charges() const { return sent_kind_ == Sent::charge; }
  /// Whether a copy of this acquire may still arrive.
  bool in_doubt() const { return in_doubt_; }
  const Seen<Marker>& marker() const { return marker_; }

 private:
  enum class Sent : unsigned char { charge, refusal, repair };

  Action attempt(Time now);
  std::vector<Evaluation> evaluations(decision::Chain& chain, Time now) const;
  Action charge(const decision::Chain& chain, const std::vector<Evaluation>& evaluations);
  decision::LeaseRecord lease_of(const std::vector<Evaluation>& evaluations) const;
  Action refuse(decision::Chain& chain, const std::vector<Evaluation>& evaluations);
  Action finish(AcquireOutcome::Kind kind);
  Action stale(std::int64_t version, bool chain);
  Action repeat();
  Action send(Sent kind, Transaction transaction);
  Write write_for(const Evaluation& evaluation) const;
  bool retry_will_do(const Evaluation& evaluation) const;
  void add_uncharged(const Evaluation& evaluation, Transaction& transaction) const;
  bool admitted_before() const { return marker_.item && !marker_.item->fence; }
  WriteBuilder builder(bool admitting) const { return {*settings_, admitting, plan_.new_generation}; }

  AcquirePlan plan_;
  const Settings* settings_;
  Snapshot snapshot_;
  Seen<Marker> marker_;
  Transaction sent_;
  Sent sent_kind_ = Sent::charge;
  AcquireOutcome outcome_;
  int failures_ = 0;
  bool in_doubt_ = false;
};

}  // namespace weir::conditional
