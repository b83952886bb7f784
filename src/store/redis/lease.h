// A change to a lease: adjust, settle, rollback. Each leaves a marker, so that it happens once however often
// it is sent.
#pragma once

#include "store/redis/operation.h"

namespace weir::redis {

class LeaseChange final : public Operation {
 public:
  LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done);
  void start();

 private:
  void replied(const Reply& reply) override;
  void failed(Error error) override;
  Result<store::Progress> decide(Workbench& bench) override;
  void restart() override;
  std::string marker_key() const override { return marker_; }
  Time marker_deadline() const override { return plan_.lease.deadline; }

  const store::LeasePlan& plan_;
  store::LeaseOutcome& outcome_;
  std::string marker_;
  int doubts_ = 0;
};

}  // namespace weir::redis
