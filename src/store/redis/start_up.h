// Reads the settings that all processes on a Redis store share, whenever a connection is made.
#pragma once

#include <atomic>
#include <string>

#include "store/redis/call.h"
#include "store/remote/start_up.h"
#include "store/usage.h"

namespace weir::redis {

/// Safe to use from any thread.
class StartUp final : public remote::StartUp, private ScriptCall {
 public:
  /// The context must outlive this object, and all calls of its client must have ended before its
  /// destruction.
  explicit StartUp(Context& context);

  /// Not on the client's own thread.
  Result<void> read_and_wait();
  store::UsageKept usage_kept() const {
    return {.hours = keep_hours_.load(std::memory_order_relaxed),
            .days = keep_days_.load(std::memory_order_relaxed)};
  }
  void keep_usage(const store::UsageKept& kept) {
    keep_hours_.store(kept.hours, std::memory_order_relaxed);
    keep_days_.store(kept.days, std::memory_order_relaxed);
  }
  /// Reads how long usage is kept, which another process may have changed. Blocks.
  Result<void> read_usage_kept();
  /// Why the store is not open; empty: it is open. Calls start another attempt now and then.
  std::string trouble();

 private:
  void request(std::chrono::milliseconds patience) override;
  void send() override { context().client.send(*this); }
  void replied(const Reply& reply) override;
  void failed(Error error) override;
  void on_failure(const net::RedisFailure& failure) override { end(in_trouble(failure.why)); }
  Result<void> take(const Reply& reply);
  void take_usage_kept(Reply::Children& at);

  std::atomic<Time> keep_hours_{store::UsageKept().hours};
  std::atomic<Time> keep_days_{store::UsageKept().days};

  static Error in_trouble(const std::string& why) { return {ErrorCode::unavailable, why}; }
};

}  // namespace weir::redis
