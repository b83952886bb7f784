// What all processes on a store agree on: the key that lease ids are signed with, and for how long the audit
// is kept. A store is open once it was read; so it can be made before its server can be reached, and opens
// by itself when it can.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <string_view>

#include "base/entropy.h"
#include "base/lock.h"
#include "store/store.h"

namespace weir::remote {

/// Safe to use from any thread.
class StartUp {
 public:
  bool opened() const { return opened_.load(std::memory_order_acquire); }
  /// Starts reading, unless that is under way. `patience`: for how long it is tried; 0: as long as a call.
  void read(std::chrono::milliseconds patience = {});
  /// The same, and waits for it. Not on the client's own thread.
  Result<void> read_and_wait(std::chrono::milliseconds patience = {});
  /// Why the store is not open. Asking has it tried again, now and then.
  Result<void> check();

  /// A random one, until the store is open. Stays valid as long as this.
  const store::LeaseKey& lease_key() const { return *lease_key_.load(std::memory_order_acquire); }
  Time keep_audit_for() const { return keep_audit_for_.load(std::memory_order_relaxed); }
  void keep_audit_for(Time duration) { keep_audit_for_.store(duration, std::memory_order_relaxed); }

 protected:
  /// `between`: while the store cannot be used, it is asked so often at the most. `not_yet`: why it is not
  /// open before the first answer.
  StartUp(base::Entropy& entropy, std::chrono::milliseconds between, Error not_yet);
  ~StartUp() = default;

  /// Asks the store; end() follows.
  virtual void request(std::chrono::milliseconds patience) = 0;
  void end(Result<void> result);
  /// Whether nothing is being read and the last time was so long ago.
  bool is_due(std::chrono::milliseconds after);
  /// False: these are no lease key.
  bool set_lease_key(std::string_view bytes);
  /// The key as the store keeps it.
  std::string_view lease_key_bytes() const;

 private:
  const std::chrono::milliseconds between_;
  std::atomic<bool> opened_{false};
  std::atomic<const store::LeaseKey*> lease_key_;
  std::atomic<Time> keep_audit_for_;
  base::Mutex mutex_;
  base::Condition ended_;
  bool reading_ WEIR_GUARDED_BY(mutex_) = false;
  Result<void> result_ WEIR_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point tried_at_ WEIR_GUARDED_BY(mutex_);
  std::deque<store::LeaseKey> keys_ WEIR_GUARDED_BY(mutex_);  ///< all that were ever given out
};

}  // namespace weir::remote
