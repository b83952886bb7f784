#include "gateway/call_lease.h"

#include <utility>

#include "gateway/gateway.h"
#include "store/executor.h"

namespace weir::gateway {
CallLease::CallLease(Gateway& gateway, limiter::Core& core, Decision& decision, net::Loop& loop)
    : gateway_(gateway), loop_(loop), lease_for_(gateway.options().call_lease), pending_(core) {
  gateway_.call_leases().add();
  pending_.take(decision);
  loop_.set_timer(*this, lease_for_ / 3);
}

CallLease::~CallLease() { gateway_.call_leases().remove(); }

void CallLease::end() {
  net::TimerWheel::cancel(*this);
  {
    const base::Guard guard(mutex_);
    ending_ = true;
    // The completion of the operation that goes on starts the last one.
    if (std::exchange(busy_, true)) return;
  }
  start(detail::LeaseVerb::settle);
}

void CallLease::on_deadline() {
  loop_.set_timer(*this, lease_for_ / 3);
  {
    const base::Guard guard(mutex_);
    if (std::exchange(busy_, true)) return;
  }
  start(detail::LeaseVerb::extend);
}

void CallLease::start(detail::LeaseVerb verb) {
  ended_ = verb == detail::LeaseVerb::settle;
  store::Executor* const executor = std::exchange(store::Executor::here(), nullptr);
  pending_.start_taken(
      {.verb = verb, .key = {}, .charges = {}, .lease_for = lease_for_.count()},
      {[](void* self, Result<void>&& /*result*/) { static_cast<CallLease*>(self)->changed(); }, this});
  store::Executor::here() = executor;
}

/// A failed extension is tried again by the timer. Where the last change fails, the deadline gives back.
void CallLease::changed() {
  if (ended_) {
    delete this;
    return;
  }
  {
    const base::Guard guard(mutex_);
    if (!ending_) {
      busy_ = false;
      return;
    }
  }
  start(detail::LeaseVerb::settle);
}

}  // namespace weir::gateway
