#include "limiter/acquire_operation.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limiter {
namespace {

using store::Progress;

bool has_limits(const limits::Resolution* resolution) {
  for (; resolution != nullptr; resolution = resolution->parent_resolution.get()) {
    if (resolution->limits) return true;
  }
  return false;
}

Result<void> check_chain(const limits::Resolution* resolution) {
  for (; resolution != nullptr; resolution = resolution->parent_resolution.get()) {
    if (auto fits = limits::check_inherited(*resolution); !fits) return fits;
  }
  return {};
}

/// Of a limit that is not concurrent, in a request for every limit.
Amount amount_of(const store::Request& request, std::string_view limit) {
  for (const Charge& charge : request.named) {
    if (charge.limit == limit) return charge.amount;
  }
  return *request.every;
}

}  // namespace

void AcquireOperation::start(const store::Request& request, Mode mode, Decision& decision,
                             store::Completion<void> done) {
  plan_.request = request;
  shadow_ = request.shadow;
  consume_ = request.consume;
  mode_ = mode;
  decision_ = &decision;
  done_ = done;
  resolve();
}

void AcquireOperation::resolve() {
  const store::Request& request = plan_.request;
  walk_.start(
      {request.name_space, request.entity, request.resource, limits::LimitSetRef(request.request_limits)},
      {[](void* self, Result<limits::ResolutionRef>&& resolution) {
         static_cast<AcquireOperation*>(self)->resolved(std::move(resolution));
       },
       this});
}

void AcquireOperation::resolved(Result<limits::ResolutionRef>&& resolution) {
  if (!resolution) return finish(resolution.error());
  store::Request& request = plan_.request;
  const limits::AccessVerdict* const access = (*resolution)->access.get();
  if (access != nullptr && access->rule.access == Access::blocked) {
    plan_.resolution = *std::move(resolution);
    return blocked();
  }
  exempt_ = access != nullptr || treated_as_exempt_;
  request.shadow = shadow_ || exempt_;
  request.consume = consume_;
  request.asked = {};
  denied_.reset();
  if (exempt_ && !has_limits(resolution->get())) return admit_uncharged((*resolution)->resolved_at);
  if (!has_limits(resolution->get())) {
    plan_.resolution = *std::move(resolution);
    return deny(base::error(ErrorCode::no_limits, "no limits are set for entity ",
                            base::quoted(request.entity), " on resource ", base::quoted(request.resource),
                            "; set some for the entity, the resource or the system"));
  }
  if (auto fits = check_chain(resolution->get()); !fits) return finish(fits.error());
  plan_.resolution = *std::move(resolution);
  if (request.every != nullptr) {
    name_every();
  } else if (exempt_) {
    name_known();
    if (every_.empty() && !consume_.empty()) return look_for_repeated();
  }
  const store::Completion<Progress> done(
      [](void* self, Result<Progress>&& progress) {
        static_cast<AcquireOperation*>(self)->progressed(std::move(progress));
      },
      this);
  if (mode_ == Mode::acquire) {
    buckets_.acquire(plan_, *decision_, done);
  } else {
    buckets_.peek(plan_, *decision_, done);
  }
}

/// A block wins over every limit, and over names that do not exist. A keyed acquire that was admitted before
/// the block keeps its answer, so that its caller can settle the lease: only such a request asks the store.
void AcquireOperation::blocked() {
  store::Request& request = plan_.request;
  const limits::Resolution* const resolution = plan_.resolution.get();
  exempt_ = false;
  if (!has_limits(resolution) || !check_chain(resolution)) return refuse_blocked();
  request.shadow = shadow_;
  name_known();
  look_for_repeated();
}

/// An error of the limits that are in force now. A keyed acquire that was admitted under others keeps its
/// answer, so that its caller can settle the lease.
void AcquireOperation::deny(Error error) {
  if (plan_.request.once == nullptr) return finish(std::move(error));
  denied_ = std::move(error);
  name_known();
  look_for_repeated();
}

/// Answers with the lease of an earlier copy of the request, if there was one. Without it, a blocked request
/// is refused, and an exempt one that names no limit is admitted.
void AcquireOperation::look_for_repeated() {
  if (plan_.request.once == nullptr)
    return exempt_ ? admit_uncharged(plan_.resolution->resolved_at) : refuse_blocked();
  buckets_.peek(plan_, *decision_,
                {[](void* self, Result<Progress>&& progress) {
                   static_cast<AcquireOperation*>(self)->looked_for_repeated(std::move(progress));
                 },
                 this});
}

/// An error refuses a blocked request, too: where the store is unavailable, a policy that lets requests
/// through would undo the block.
void AcquireOperation::looked_for_repeated(Result<Progress>&& progress) {
  if (progress && *progress == Progress::resolve_again) return progressed(std::move(progress));
  if (progress && decision_->admitted() && decision_->made_lease_data() != nullptr) return finish({});
  if (denied_) return finish(progress ? *denied_ : progress.error());
  if (!exempt_) return refuse_blocked();
  if (!progress) return finish(progress.error());
  admit_uncharged(plan_.resolution->resolved_at);
}

void AcquireOperation::refuse_blocked() {
  decision_->report().clear();
  const limits::AccessVerdict& verdict = *plan_.resolution->access;
  const AccessRule& rule = verdict.rule;
  decision_->set_blocked({verdict.entity, rule.until, rule.reason, rule.resource},
                         plan_.resolution->resolved_at);
  finish({});
}

/// Admits an exempt entity that no limit holds for.
void AcquireOperation::admit_uncharged(Time now) {
  decision_->report().clear();
  decision_->set_lease_data({.resource = std::string(plan_.request.resource),
                             .deadline = base::saturating_add(now, plan_.request.lease_for)});
  decision_->set_admitted();
  decision_->set_deadline(base::saturating_add(now, plan_.request.lease_for));
  finish({});
}

/// Keeps the charges that the chain has limits for.
void AcquireOperation::name_known() {
  every_.clear();
  for (const Charge& charge : consume_) {
    for (const limits::Resolution* at = plan_.resolution.get(); at != nullptr;
         at = at->parent_resolution.get()) {
      if (!at->limits || at->limits->find(charge.limit) < 0) continue;
      every_.push_back(charge);
      break;
    }
  }
  plan_.request.consume = every_;
  plan_.request.asked = consume_;
}

/// Names the limits of the whole chain, each once.
void AcquireOperation::name_every() {
  every_.clear();
  for (const limits::Resolution* at = plan_.resolution.get(); at != nullptr;
       at = at->parent_resolution.get()) {
    for (std::size_t i = 0; at->limits && i < at->limits->size(); ++i) {
      const std::string_view name = at->limits->name(i);
      const auto same = [&](const Charge& charge) { return charge.limit == name; };
      if (std::any_of(every_.begin(), every_.end(), same)) continue;
      // A request is one call, whatever it costs.
      const bool concurrent = (*at->limits)[i].kind() == Kind::concurrent;
      every_.push_back({name, concurrent ? Amount(1) : amount_of(plan_.request, name)});
    }
  }
  plan_.request.consume = every_;
}

void AcquireOperation::finish(Result<void> result) {
  // Release first: the completion may change limits.
  held_.release();
  (*done_)(std::move(result));
}

void AcquireOperation::progressed(Result<Progress>&& progress) {
  if (!progress && progress.error().code == ErrorCode::unknown_limit && !exempt_ && !denied_)
    return deny(progress.error());
  if (!progress) return finish(progress.error());
  if (*progress == Progress::decided) return finish({});
  if (++attempts_ >= patient_attempts) held_.hold();
  if (attempts_ == most_attempts) {
    return finish(base::error(ErrorCode::contention, "limits changed too often while deciding; try again"));
  }
  resolve();
}

}  // namespace weir::limiter
