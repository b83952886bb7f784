#include "gateway/call_lease.h"

#include <algorithm>
#include <utility>

#include "gateway/gateway.h"
#include "store/executor.h"

namespace weir::gateway {
using detail::LeaseVerb;

CallLease::CallLease(Gateway& gateway, limiter::Core& core, Decision& decision, const RequestLimits* limits,
                     net::Loop& loop, std::uint64_t kept_as)
    : gateway_(gateway),
      loop_(loop),
      lease_for_(gateway.options().call_lease),
      kept_as_(kept_as),
      pending_(core) {
  gateway_.call_leases().add();
  pending_.take(decision, limits);
  loop_.set_timer(*this, lease_for_ / 3);
}

CallLease::~CallLease() { gateway_.call_leases().remove(); }

void CallLease::add(std::span<const Charge> charges, Debt debt) {
  {
    const base::Guard guard(mutex_);
    debt_ = debt;
    for (const Charge& charge : charges) {
      const auto same = [&](const OwnCharge& own) { return own.limit == charge.limit; };
      const auto known = std::find_if(more_.begin(), more_.end(), same);
      if (known == more_.end()) {
        more_.push_back({std::string(charge.limit), charge.amount});
      } else {
        known->amount = Amount::milli(known->amount.millitokens() + charge.amount.millitokens());
      }
    }
    // The completion of the operation that goes on starts the next one.
    if (std::exchange(busy_, true)) return;
  }
  start(LeaseVerb::adjust);
}

void CallLease::settle_to(std::span<const Charge> totals) {
  totals_.clear();
  for (const Charge& total : totals) totals_.push_back({std::string(total.limit), total.amount});
}

void CallLease::end() {
  net::TimerWheel::cancel(*this);
  {
    const base::Guard guard(mutex_);
    ending_ = true;
    // The completion of the operation that goes on starts the last one.
    if (std::exchange(busy_, true)) return;
  }
  start_ending();
}

void CallLease::on_deadline() {
  loop_.set_timer(*this, lease_for_ / 3);
  {
    const base::Guard guard(mutex_);
    if (std::exchange(busy_, true)) return;
  }
  start(LeaseVerb::extend);
}

void CallLease::start(LeaseVerb verb) {
  verb_ = verb;
  ended_ = verb == LeaseVerb::settle || verb == LeaseVerb::rollback;
  sent_.clear();
  if (verb == LeaseVerb::settle) sent_.swap(totals_);
  // The end may leave a debt: it states what was used.
  Debt debt = Debt::allowed;
  if (verb == LeaseVerb::adjust) {
    const base::Guard guard(mutex_);
    sent_.swap(more_);
    debt = debt_;
  }
  charges_.clear();
  for (const OwnCharge& own : sent_) charges_.push_back({own.limit, own.amount});
  store::Executor* const executor = std::exchange(store::Executor::here(), nullptr);
  pending_.start_taken(
      {.verb = verb, .key = {}, .charges = charges_, .lease_for = lease_for_.count(), .debt = debt},
      {[](void* self, Result<void>&& result) { static_cast<CallLease*>(self)->changed(result); }, this});
  store::Executor::here() = executor;
}

/// A failed extension is tried again by the timer. Where the last change fails, the deadline gives back what
/// is held of concurrent limits, and the rest stays charged.
void CallLease::changed(const Result<void>& result) {
  if (result && kept_as_ != 0) keep();
  if (!result && result.error().code == ErrorCode::exhausted)
    exhausted_.store(true, std::memory_order_release);
  if (ended_) {
    if (after_end_) after_end_();
    delete this;
    return;
  }
  bool more = false;
  {
    const base::Guard guard(mutex_);
    more = !more_.empty();
    if (!ending_ && !more) {
      busy_ = false;
      return;
    }
    // The totals of the end have it all.
    if (ending_) more = false;
  }
  if (more) return start(LeaseVerb::adjust);
  start_ending();
}

}  // namespace weir::gateway
