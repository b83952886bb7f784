// A change to a lease: adjust, extend, settle, rollback. Each writes a marker, so that it happens once
// however often it is sent.
//
// In the plain case a change is one call of acquire.lua, which adds the differences to buckets that still
// exist, under the condition that the marker is the one that the differences were computed from. An extend,
// and any change of a lease that used grants, takes the slow path: the script knows neither.
#pragma once

#include "decision/lease_change.h"
#include "store/redis/operation.h"

namespace weir::redis {

class LeaseChange final : public Operation {
 public:
  LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done);
  void start();

 private:
  /// Sends the differences that the change makes to a lease with this marker, if it is a plain case. `text`:
  /// of the marker, as it is stored; empty: it is not.
  void send_differences(const decision::Marker& marker, const std::string& text);
  /// Puts the differences of next_ into chain_; false: some bucket does not have the limit.
  bool match_differences();
  void replied(const Reply& reply) override;
  /// `all`: the numbers of all buckets.
  void changed(const std::string& all);
  void failed(Error error) override;
  Result<decision::Next> decide(Time now, States& states, decision::Marker* marker) override;
  void restart() override;
  /// Whether the resource counts usage. All resolutions of a lease have the same resource.
  bool resource_counts() const { return plan_.resolutions.empty() || plan_.resolutions[0]->counts_usage; }
  /// As the acquire decided, unless the bucket is gone or the resource no longer counts.
  bool counts(const ReadBucket& before) const override {
    return resource_counts() && (!before.bucket || before.bucket->segment.has_value());
  }
  decision::Marker marker_of(decision::LeaseRecord record, Time deadline, Time first_deadline) const;

  const store::LeasePlan& plan_;
  store::LeaseOutcome& outcome_;
  limits::ResolutionRef with_request_;  ///< of the first bucket, under the limits of the request
  decision::Chain chain_;               ///< for the plain case: the differences
  decision::LeaseStep next_;
  std::string expected_;     ///< the marker that next_ was computed from
  bool concurrent_ = false;  ///< the chain has concurrent limits
  int doubts_ = 0;
  int overtaken_ = 0;
};

}  // namespace weir::redis
