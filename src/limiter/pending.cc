#include "limiter/pending.h"

#include "decision/lease_change.h"

namespace weir::limiter {

void PendingAcquire::start(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options,
                           store::Completion<void> done, Mode mode) {
  done_ = done;
  mode_ = mode;
  store::Request request = core_.request_of(entity, resource, consume, options);
  if (!options.idempotency_key.empty()) {
    const auto nonce = core_.nonce_of(request, options.idempotency_key);
    if (!nonce) return finish(nonce.error());
    nonce_ = *nonce;
    request.once = &*nonce_;
  }
  const bool fast = mode == Mode::acquire && !nonce_ && !treated_as_exempt_;
  if (fast && core_.plain(request) && start_carried(request)) return;
  if (auto checked = core_.check(request, Mode::acquire); !checked) return finish(checked.error());
  decide(request);
}

void PendingAcquire::start_every(std::string_view entity, std::string_view resource, const CostOfEvery& costs,
                                 const AcquireOptions& options, store::Completion<void> done) {
  done_ = done;
  store::Request request = core_.request_of(entity, resource, costs.believed, options);
  request.every = &costs.amount;
  request.named = costs.named;
  const bool fast = core_.buckets_.carries_every() && !treated_as_exempt_;
  if (fast && core_.plain(request) && start_carried(request)) return;
  const Charge all[] = {{"every", costs.amount}};
  store::Request checked_as = request;
  checked_as.consume = all;
  if (auto checked = core_.check(checked_as, Core::Mode::acquire); !checked) return finish(checked.error());
  decide(request);
}

/// Names need no check on the fast path: a bucket with an invalid name does not exist.
bool PendingAcquire::start_carried(const store::Request& request) {
  return core_.buckets_.start_carried(request, decision_,
                                      {[](void* self, Result<store::Progress>&& progress) {
                                         static_cast<PendingAcquire*>(self)->finish(
                                             progress ? Result<void>() : Result<void>(progress.error()));
                                       },
                                       this});
}

void PendingAcquire::decide(const store::Request& request) {
  deciding_ = std::make_unique<AcquireOperation>(core_.buckets_, core_.store_.catalog(), core_.shared_);
  if (treated_as_exempt_) deciding_->treat_as_exempt();
  deciding_->start(request, mode_, decision_,
                   {[](void* self, Result<void>&& result) {
                      static_cast<PendingAcquire*>(self)->finish(std::move(result));
                    },
                    this});
}

void PendingAcquire::finish(Result<void> result) {
  if (result && decision_.admitted() && (mode_ == Mode::acquire || repeats())) {
    if (nonce_) {
      core_.open_once(decision_, *nonce_);
    } else {
      decision_.open_lease(core_);
    }
  }
  (*done_)(std::move(result));
}

void PendingCorrection::lower(std::string_view entity, std::string_view resource,
                              std::span<const Charge> at_most, store::Completion<void> done) {
  correcting_.start({core_.name_space_,
                     entity,
                     resource,
                     {.verb = decision::Correction::Verb::lower, .amounts = at_most},
                     {}},
                    done);
}

void PendingChange::start(std::string_view id, const decision::LeaseChange& change,
                          store::Completion<void> done) {
  auto lease = core_.open_by_id(id, change);
  if (!lease) return done(lease.error());
  lease_ = *std::move(lease);
  start_taken(change, done);
}

void PendingChange::take(Decision& decision, const RequestLimits* limits) {
  request_limits_ = limits::LimitSetRef(core_.set_of(limits));
  lease_ = decision.lease_data();
  if (core_.store_.every_change_is_marked()) core_.share(lease_);
}

void PendingChange::start_taken(const decision::LeaseChange& change, store::Completion<void> done) {
  if (auto open = core_.begin_change(lease_, change); !open) return done(open.error());
  changing_.emplace(core_.buckets_, core_.store_.catalog(), core_.shared_);
  changing_->start(core_.name_space_, lease_, change, done, request_limits_);
}

}  // namespace weir::limiter
