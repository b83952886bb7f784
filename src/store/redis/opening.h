// What all processes on a store agree on, read whenever a connection is made: the key that lease ids are
// signed with, and for how long the audit is kept. A store is open once it was read; so it can be made
// before the server can be reached, and opens by itself when it can.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "store/redis/call.h"
#include "store/store.h"

namespace weir::redis {

/// Safe to use from any thread.
class Opening final : private ScriptCall {
 public:
  /// The site must outlive it, and its client must have ended all calls first.
  explicit Opening(Site& site);

  /// Starts reading, unless that is under way.
  void read();
  /// The same, and waits for it. Not on the client's own thread.
  Result<void> read_and_wait();
  /// Why the store is not open; empty: it is. Asking has it tried again, now and then.
  std::string trouble();
  bool opened() const { return opened_.load(std::memory_order_acquire); }

  /// One that nobody knows, until the store is open. Stays valid as long as this.
  const store::LeaseKey& lease_key() const { return *lease_key_.load(std::memory_order_acquire); }
  Time keep_audit_for() const { return keep_audit_for_.load(std::memory_order_relaxed); }
  void keep_audit_for(Time duration) { keep_audit_for_.store(duration, std::memory_order_relaxed); }

 private:
  void send() override { site().client.send(*this); }
  void replied(const Reply& reply) override;
  void failed(Error error) override;
  void on_failure(const net::RedisFailure& failure) override { end(failure.why); }
  Result<void> take(const Reply& reply);
  void set_lease_key(std::string_view bytes);
  void end(std::string trouble);
  std::string address() const;

  std::atomic<bool> opened_{false};
  std::atomic<const store::LeaseKey*> lease_key_;
  std::atomic<Time> keep_audit_for_;
  std::mutex mutex_;
  std::condition_variable ended_;
  // Of the mutex.
  bool reading_ = false;
  std::string trouble_;
  std::chrono::steady_clock::time_point tried_at_;
  std::deque<store::LeaseKey> keys_;  ///< all that were ever given out
};

}  // namespace weir::redis
