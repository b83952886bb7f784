#include "limiter/lease_operation.h"

#include "base/text.h"

namespace weir::limiter {

using store::Progress;

void LeaseOperation::start(std::string_view name_space, detail::LeaseData& lease,
                           const decision::LeaseChange& change, store::Completion<void> done,
                           limits::LimitSetRef request_limits) {
  name_space_ = name_space;
  lease_ = &lease;
  change_ = change;
  request_limits_ = std::move(request_limits);
  done_ = done;
  // An exempt entity without limits: nothing was charged, so that no change has an effect.
  if (lease.buckets.empty()) return finish({});
  attempt();
}

void LeaseOperation::attempt() {
  resolutions_.clear();
  resolve_next();
}

/// The resolution of an ancestor, if the walk up from the previous bucket passed it; empty if it did not,
/// because the chain has changed since the acquire.
limits::ResolutionRef LeaseOperation::resolved_above(std::string_view entity) const {
  const limits::Resolution* at = resolutions_.empty() ? nullptr : resolutions_.back().get();
  for (; at != nullptr && at->parent_resolution; at = at->parent_resolution.get()) {
    if (at->parent == entity) return at->parent_resolution;
  }
  return {};
}

/// Resolves the buckets of the lease one after the other, then makes the change.
void LeaseOperation::resolve_next() {
  if (resolutions_.size() < lease_->buckets.size()) {
    const std::string& entity = lease_->buckets[resolutions_.size()].entity;
    if (const limits::ResolutionRef above = resolved_above(entity)) return resolved(above);
    return walk_.start({name_space_, entity, lease_->resource, {}},
                       {[](void* self, Result<limits::ResolutionRef>&& resolution) {
                          static_cast<LeaseOperation*>(self)->resolved(std::move(resolution));
                        },
                        this});
  }
  // The acquire of an exempt entity has left out limits that did not hold the amount, and names that do not
  // exist. A later change leaves them out, too: they would go into debt, or fail.
  const limits::AccessVerdict* const access = resolutions_.front()->access.get();
  change_.only_held = access != nullptr && access->rule.access == Access::exempt;
  plan_.emplace(store::LeasePlan{name_space_, *lease_, change_, resolutions_, request_limits_});
  buckets_.change(*plan_, outcome_,
                  {[](void* self, Result<Progress>&& progress) {
                     static_cast<LeaseOperation*>(self)->progressed(std::move(progress));
                   },
                   this});
}

void LeaseOperation::resolved(Result<limits::ResolutionRef>&& resolution) {
  if (!resolution) return finish(resolution.error());
  resolutions_.push_back(*std::move(resolution));
  resolve_next();
}

void LeaseOperation::progressed(Result<Progress>&& progress) {
  if (!progress) return finish(progress.error());
  if (*progress == Progress::decided) {
    lease_->ending = outcome_.record.ending;
    lease_->amounts = std::move(outcome_.record.amounts);
    lease_->deadline = outcome_.deadline;
    return finish({});
  }
  if (++attempts_ >= patient_attempts) held_.hold();
  if (attempts_ == most_attempts) {
    return finish(
        base::error(ErrorCode::contention, "limits changed too often while changing the lease; try again"));
  }
  attempt();
}

void LeaseOperation::finish(Result<void> result) {
  held_.release();
  (*done_)(std::move(result));
}

}  // namespace weir::limiter
