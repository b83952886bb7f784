#include "store/redis/correction.h"

#include "base/text.h"
#include "decision/correction.h"

namespace weir::redis {

using store::Progress;

Correction::Correction(RedisBuckets& buckets, const store::CorrectionPlan& plan,
                       store::CorrectionOutcome& outcome, store::Completion<Progress> done)
    : Operation(buckets, plan.name_space, plan.resource, done), plan_(plan), outcome_(outcome) {}

void Correction::start() {
  add_bucket(plan_.entity, plan_.resolution.get(), end_of_chain(plan_.entity, *plan_.resolution));
  rest_on(*plan_.resolution);
  if (plan_.once != nullptr) marker_ = lease_key(end_of_chain(plan_.entity, *plan_.resolution), *plan_.once);
  load();
}

void Correction::replied(const Reply& reply) {
  forget_exhausted();
  if (!take(reply)) fail(unreadable());
}

/// As the last acquire decided: a correction is no consumption.
bool Correction::counts(const ReadBucket& before) const {
  return plan_.resolution->counts_usage && (!before.bucket || before.bucket->segment.has_value());
}

Result<decision::Next> Correction::decide(Time now, States& states, decision::Marker* marker) {
  decision::Chain chain;
  add_links(chain);
  auto answer = decision::correct(chain, chain[0], std::move(states[0]),
                                  {plan_.correction, resource_, now, plan_.once != nullptr, marker},
                                  new_generation(), outcome_.report);
  if (!answer) return answer.error();
  outcome_.repeated = answer->repeated && !maybe_written();
  decision::Next next;
  next.states[0] = std::move(answer->state);
  next.marker = std::move(answer->marker);
  return next;
}

/// Where the outcome is unknown, the marker shows whether it happened.
void Correction::failed(Error error) {
  constexpr int most_doubts = 3;
  const bool in_doubt = error.code == ErrorCode::outcome_unknown && writes_ && plan_.once != nullptr;
  if (in_doubt && ++doubts_ < most_doubts) return load();
  Operation::failed(std::move(error));
}

void Correction::restart() {
  if (again_allowed()) load();
}

}  // namespace weir::redis
