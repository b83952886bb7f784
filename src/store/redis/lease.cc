#include "store/redis/lease.h"

namespace weir::redis {

using store::Progress;

LeaseChange::LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                         store::Completion<Progress> done)
    : Operation(buckets, plan.name_space, plan.lease.resource, done), plan_(plan), outcome_(outcome) {}

void LeaseChange::start() {
  const auto& buckets = plan_.lease.buckets;
  const std::string_view end = end_of_chain(buckets.back().entity, *plan_.resolutions.back());
  for (std::size_t i = 0; i < buckets.size(); ++i)
    add_place(buckets[i].entity, plan_.resolutions[i].get(), end);
  if (plan_.lease.shared) {
    marker_ = site().names.lease(plan_.name_space, site().family(buckets[0].entity, end), plan_.lease.nonce);
  }
  load(marker_);
}

void LeaseChange::replied(const Reply& reply) { take(reply); }

/// What is in doubt is looked up: the marker tells whether it happened.
void LeaseChange::failed(Error error) {
  constexpr int most_doubts = 3;
  const bool in_doubt = error.code == ErrorCode::outcome_unknown && plan_.lease.shared;
  if (in_doubt && ++doubts_ < most_doubts) return load(marker_);
  if (doubts_ > 0) error.code = ErrorCode::outcome_unknown;
  Operation::failed(std::move(error));
}

Result<Progress> LeaseChange::decide(Workbench& bench) { return bench.change(plan_, outcome_); }

void LeaseChange::restart() {
  if (again_allowed()) load(marker_);
}

}  // namespace weir::redis
