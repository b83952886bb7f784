// The event loop of one thread: sockets, timers, and work posted by other threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/lock.h"
#include "net/readiness.h"
#include "net/timer_wheel.h"
#include "net/wake_up.h"
#include "wire/buffer.h"

namespace weir::net {

/// All members are for the thread that runs it, except where said.
class Loop {
 public:
  using Work = std::function<void()>;

  /// `tick`: the resolution of timers.
  explicit Loop(std::chrono::milliseconds tick);
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Turns until stop() is called.
  void run();
  void stop() { stopped_ = true; }
  enum class Wait : std::uint8_t { until_something_happens, not_at_all };
  /// One turn: waits for events unless `wait` forbids it, then handles them.
  void turn(Wait wait = Wait::until_something_happens);
  /// Whether the calling thread is in run(), or has an OnThisThread of this loop.
  bool is_here() const;
  /// While it exists, the calling thread counts as the loop's thread. A test thus uses the objects of a loop
  /// that does not run.
  class OnThisThread {
   public:
    explicit OnThisThread(const Loop& loop);
    ~OnThisThread();
    OnThisThread(const OnThisThread&) = delete;
    OnThisThread& operator=(const OnThisThread&) = delete;

   private:
    const Loop* const before_;
  };

  /// Runs `work` on the loop's thread. From any thread.
  virtual void post(Work work);
  /// Runs `work` at the end of this turn, after all events taken from epoll.
  void defer(Work work) { deferred_.push_back(std::move(work)); }
  /// Destroys the object at the end of this turn, since its members may be on the stack and events of its
  /// socket already taken.
  void retire(std::shared_ptr<void> gone) { retired_.push_back(std::move(gone)); }
  /// Has the timer fire after this time, at most two ticks late; replaces its earlier deadline.
  void set_timer(Timer& timer, std::chrono::milliseconds in) {
    // One tick more, since the present one has partly passed.
    set_ticks(timer, static_cast<std::uint64_t>((in + tick_ - std::chrono::milliseconds(1)) / tick_) + 1);
  }
  void set_ticks(Timer& timer, std::uint64_t ticks_from_now) { wheel_.set(timer, now_ + ticks_from_now); }

  /// The epoll of this loop.
  Readiness& readiness() { return readiness_; }
  /// A buffer that fits most messages, from the pool that all connections of the thread share.
  wire::Buffer take_buffer();
  void give_back(wire::Buffer&& buffer);
  std::size_t spare_buffers() const { return spare_buffers_.size(); }

 protected:
  /// Called before and after events are handled.
  virtual void set_busy(bool /*busy*/) {}

 private:
  using Clock = std::chrono::steady_clock;
  int timeout() const;
  std::uint64_t ticks_at(Clock::time_point time) const {
    return static_cast<std::uint64_t>((time - started_) / tick_);
  }
  void take_posted();
  void run_deferred();

  const std::chrono::milliseconds tick_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point woke_ = started_;
  std::uint64_t now_ = 0;  ///< in ticks
  Readiness readiness_;
  WakeUp wake_up_;
  TimerWheel wheel_;
  bool stopped_ = false;
  base::Mutex mutex_;
  std::vector<Work> posted_ WEIR_GUARDED_BY(mutex_);
  std::vector<Work> deferred_;
  std::vector<wire::Buffer> spare_buffers_;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace weir::net
