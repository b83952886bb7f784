// A correction of the balances of one bucket: load - decide - put.
#pragma once

#include "store/redis/operation.h"

namespace weir::redis {

class Correction final : public Operation {
 public:
  Correction(RedisBuckets& buckets, const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
             store::Completion<store::Progress> done);
  void start();

 private:
  void replied(const Reply& reply) override;
  bool counts(const ReadBucket& before) const override;
  Result<decision::Next> decide(Time now, States& states, decision::Marker* marker) override;
  void restart() override;
  void failed(Error error) override;

  const store::CorrectionPlan& plan_;
  store::CorrectionOutcome& outcome_;
  int doubts_ = 0;
};

}  // namespace weir::redis
