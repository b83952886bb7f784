// A change to a lease: adjust, settle, rollback. Each leaves a marker, so that it happens once however often
// it is sent.
//
// Mostly it is a difference to buckets that stand as they were: one script. What is not as plain as that is
// read, decided here and written under a condition.
#pragma once

#include "store/redis/operation.h"

namespace weir::redis {

class LeaseChange final : public Operation {
 public:
  LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done);
  void start();

 private:
  /// Sends the differences that the change makes to a lease with this record, if it is a plain case.
  void send_differences(const decision::LeaseRecord& record, std::string marker);
  std::string packed() const;
  std::string differences_of(std::size_t place) const;
  void replied(const Reply& reply) override;
  void changed(Time now, Reply::Children states);
  bool show(std::size_t place, const Reply& state, const Reply& parameters, Time now);
  void failed(Error error) override;
  Result<store::Progress> decide(Workbench& bench) override;
  void restart() override;
  std::string marker_key() const override { return marker_; }

  const store::LeasePlan& plan_;
  store::LeaseOutcome& outcome_;
  std::string marker_;
  decision::LeaseStep next_;
  std::vector<limits::ResolutionRef> made_;
  int doubts_ = 0;
  int overtaken_ = 0;
};

}  // namespace weir::redis
