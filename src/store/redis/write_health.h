// Detects a server that answers but refuses writes: its memory or its disk is full, or it is a replica.
// Remembered until a write succeeds, so that health() needs no request.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "base/lock.h"
#include "net/redis_call.h"
#include "weir/result.h"

namespace weir::redis {

struct Context;

/// Safe to use from any thread.
class WriteHealth final : private net::RedisCall {
 public:
  /// The context must outlive this object, and all calls of its client must have ended before its
  /// destruction.
  explicit WriteHealth(Context& context) : context_(context) {}

  /// A write whose first key lies in the slot `at` was refused.
  void refused(const Error& error, int at, std::string_view key);
  /// A write succeeded. Costs nothing unless one was refused before.
  void accepted(int at) {
    if (refusing_.load(std::memory_order_relaxed)) [[unlikely]]
      clear(at);
  }
  /// The last refusal. Calls try again now and then, with a write that changes nothing.
  Result<void> check();

 private:
  void on_reply(const wire::resp::Reply& reply) override;
  void on_failure(const net::RedisFailure& failure) override;
  void clear(int at);

  Context& context_;
  std::atomic<bool> refusing_{false};
  base::Mutex mutex_;
  Error error_ WEIR_GUARDED_BY(mutex_){};
  int refused_slot_ WEIR_GUARDED_BY(mutex_) = -1;
  std::string key_ WEIR_GUARDED_BY(mutex_);
  bool trying_ WEIR_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point tried_at_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::redis
