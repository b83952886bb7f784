// Reads the settings that all processes on a store share: the key that signs lease ids, and how long the
// audit is kept. A store is open once they were read; so a store can be constructed while its server is
// unavailable, and opens when the server answers.
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
  /// Starts reading, unless that is under way. `patience`: how long it is retried; 0: as long as a call.
  void read(std::chrono::milliseconds patience = {});
  /// The same, and waits for it. Not on the client's own thread.
  Result<void> read_and_wait(std::chrono::milliseconds patience = {});
  /// An error while the store is not open. Calls start another attempt now and then.
  Result<void> check();

  /// A random key until the store is open. The reference stays valid as long as this object.
  const store::LeaseKey& lease_key() const { return *lease_key_.load(std::memory_order_acquire); }
  Time keep_audit_for() const { return keep_audit_for_.load(std::memory_order_relaxed); }
  void keep_audit_for(Time duration) { keep_audit_for_.store(duration, std::memory_order_relaxed); }

 protected:
  /// `between`: the least time between two attempts. `not_yet`: the error before the first answer.
  StartUp(base::Entropy& entropy, std::chrono::milliseconds between, Error not_yet);
  ~StartUp() = default;

  /// Reads from the store; end() follows.
  virtual void request(std::chrono::milliseconds patience) = 0;
  void end(Result<void> result);
  /// Whether no read is under way and the last one is this long ago.
  bool is_due(std::chrono::milliseconds after);
  /// False: the bytes are no lease key.
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
  std::deque<store::LeaseKey> keys_ WEIR_GUARDED_BY(mutex_);  ///< all keys that lease_key() has returned
};

}  // namespace weir::remote
