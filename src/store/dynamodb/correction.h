// A correction of the balances of one bucket.
#pragma once

#include "store/conditional/correction.h"
#include "store/dynamodb/operation.h"

namespace weir::dynamodb {

class Correction final : public Operation {
 public:
  Correction(Context& context, const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
             store::Completion<store::Progress> done);
  void start();

 private:
  void on_event(const conditional::Event& event) override;
  bool maybe_written() const override;
  Purpose purpose(bool /*decided*/) const override { return Purpose::adjust; }
  void act(const conditional::Action& action);
  void conclude();
  void report();

  const store::CorrectionPlan& plan_;
  store::CorrectionOutcome& outcome_;
  std::optional<conditional::CorrectionMachine> machine_;
  Time now_ = 0;
};

}  // namespace weir::dynamodb
