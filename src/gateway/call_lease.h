// The lease of a request that is changed while or after the gateway forwards it: it holds concurrent limits,
// which are given back at its end, or the estimate of a call, which is settled.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/lock.h"
#include "limiter/pending.h"
#include "net/loop.h"

namespace weir::gateway {

class Gateway;

/// Extends the lease while the request goes on (GatewayOptions::call_lease). It belongs to the request until
/// end(), and then to itself: the store may answer after the request, and after the thread of the request, is
/// gone. So its operations use no executor, and their completions may be called on a thread of the store.
class CallLease final : private net::Timer {
 public:
  /// Takes the lease of an admitted decision. `limits`: those of its route; null: none. `kept_as`: its number
  /// in the decision log, which gets the changes, too; 0: it is not kept.
  CallLease(Gateway& gateway, limiter::Core& core, Decision& decision, const RequestLimits* limits,
            net::Loop& loop, std::uint64_t kept_as);

  /// Charges more while the request goes on. A charge that fails is left to the end.
  void add(std::span<const Charge> charges, Debt debt);
  /// Whether such a charge was refused, since it would have left a debt.
  bool exhausted() const { return exhausted_.load(std::memory_order_acquire); }
  /// Sets the change that end() makes: these totals. Without it, what is charged stays.
  void settle_to(std::span<const Charge> totals);
  /// The same: everything is given back.
  void roll_back() { ending_verb_ = detail::LeaseVerb::rollback; }

  /// Sets what follows the end, once the store has it. May be called on a thread of the store.
  void after_end(std::function<void()> next) { after_end_ = std::move(next); }
  /// Ends the lease. On the thread of the loop; deletes the object, now or later.
  void end();

 private:
  struct OwnCharge {
    std::string limit;
    Amount amount;
  };
  ~CallLease() override;
  void on_deadline() override;
  void start(detail::LeaseVerb verb);
  void start_ending() { start(ending_verb_); }
  void changed(const Result<void>& result);
  /// Adds the change that was made to the decision log.
  void keep();

  std::function<void()> after_end_;
  Gateway& gateway_;
  net::Loop& loop_;
  const std::chrono::milliseconds lease_for_;
  const std::uint64_t kept_as_;
  limiter::PendingChange pending_;
  detail::LeaseVerb verb_ = detail::LeaseVerb::settle;  ///< of the operation that goes on
  detail::LeaseVerb ending_verb_ = detail::LeaseVerb::settle;
  std::atomic<bool> exhausted_{false};
  std::vector<OwnCharge> totals_;
  std::vector<OwnCharge> sent_;  ///< the charges of the operation that goes on
  std::vector<Charge> charges_;  ///< the same, as views
  base::Mutex mutex_;
  std::vector<OwnCharge> more_ WEIR_GUARDED_BY(mutex_);  ///< to be charged next
  Debt debt_ WEIR_GUARDED_BY(mutex_) = Debt::allowed;    ///< of these
  bool busy_ WEIR_GUARDED_BY(mutex_) = false;            ///< an operation of the store goes on
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;          ///< end() was called
  bool ended_ = false;                                   ///< the last operation was started
};

struct EndCall {
  void operator()(CallLease* lease) const { lease->end(); }
};
using CallLeasePtr = std::unique_ptr<CallLease, EndCall>;

}  // namespace weir::gateway
