#include "limiter/pending.h"

namespace weir::limiter {

void PendingAcquire::start(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options,
                           store::Completion<void> done) {
  done_ = done;
  store::Request request = core_.request_of(entity, resource, consume, options);
  if (!options.idempotency_key.empty()) {
    const auto nonce = core_.nonce_of(request, options.idempotency_key);
    if (!nonce) return finish(nonce.error());
    nonce_ = *nonce;
    request.once = &*nonce_;
  }
  // Names need no check on the fast way: a bucket with a bad name does not exist.
  const bool started =
      !nonce_ && Core::plain(consume) &&
      core_.buckets_.start_carried(request, decision_,
                                   {[](void* self, Result<store::Progress>&& progress) {
                                      static_cast<PendingAcquire*>(self)->finish(
                                          progress ? Result<void>() : Result<void>(progress.error()));
                                    },
                                    this});
  if (started) return;
  if (auto checked = Core::check(request, Core::Mode::acquire); !checked) return finish(checked.error());
  deciding_ = std::make_unique<Deciding>(core_.buckets_, core_.store_.catalog(), core_.shared_);
  deciding_->start(request, Core::Mode::acquire, decision_,
                   {[](void* self, Result<void>&& result) {
                      static_cast<PendingAcquire*>(self)->finish(std::move(result));
                    },
                    this});
}

void PendingAcquire::finish(Result<void> result) {
  if (result && decision_.admitted()) {
    if (nonce_) {
      core_.open_once(decision_, *nonce_);
    } else {
      decision_.open_lease(core_);
    }
  }
  (*done_)(std::move(result));
}

void PendingChange::start(std::string_view id, const bucket::LeaseChange& change,
                          store::Completion<void> done) {
  auto lease = core_.open_by_id(id, change);
  if (!lease) return done(lease.error());
  lease_ = *std::move(lease);
  changing_.emplace(core_.buckets_, core_.store_.catalog(), core_.shared_);
  changing_->start(core_.name_space_, lease_, change, done);
}

}  // namespace weir::limiter
