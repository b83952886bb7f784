// Time is passed in: every component that needs the time asks the Clock that it was constructed with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir {

/// A moment: milliseconds since the Unix epoch.
using Time = std::int64_t;

/// Tells the time. Implementations must be safe to call from any thread. If the time goes backward (an
/// administrator sets the clock), buckets do not refill until it has caught up; beyond a minute they are
/// repaired, which can grant one burst per bucket too much (docs/guarantees.md).
class Clock {
 public:
  virtual ~Clock() = default;
  /// The present time.
  virtual Time now() const = 0;
};

/// The machine's wall clock.
class SystemClock final : public Clock {
 public:
  Time now() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
};

/// A clock that moves only by set() and advance(), for tests of programs that use weir. Safe to use from any
/// thread.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(Time now = 1'700'000'000'000) : now_(now) {}
  Time now() const override { return now_.load(std::memory_order_relaxed); }
  void set(Time now) { now_.store(now, std::memory_order_relaxed); }
  void advance(std::chrono::milliseconds by) { now_.fetch_add(by.count(), std::memory_order_relaxed); }

 private:
  std::atomic<Time> now_;
};

}  // namespace weir
