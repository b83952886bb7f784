// The concurrent limits of a request: held while the gateway forwards it, given back when it ends.
#pragma once

#include <memory>

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
  /// Takes the lease of an admitted decision.
  CallLease(Gateway& gateway, limiter::Core& core, Decision& decision, net::Loop& loop);

  /// Gives everything back. On the thread of the loop; deletes the object, now or later.
  void end();

 private:
  ~CallLease() override;
  void on_deadline() override;
  void start(detail::LeaseVerb verb);
  void changed();

  Gateway& gateway_;
  net::Loop& loop_;
  const std::chrono::milliseconds lease_for_;
  limiter::PendingChange pending_;
  base::Mutex mutex_;
  bool busy_ WEIR_GUARDED_BY(mutex_) = false;    ///< an operation of the store goes on
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;  ///< end() was called
  bool ended_ = false;                           ///< the last operation was started
};

struct EndCall {
  void operator()(CallLease* lease) const { lease->end(); }
};
using CallLeasePtr = std::unique_ptr<CallLease, EndCall>;

}  // namespace weir::gateway
