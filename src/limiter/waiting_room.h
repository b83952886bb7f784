// The queues of a process, with their clock and the thread that wakes those who wait.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/lock.h"
#include "limiter/waiting_queues.h"
#include "weir/clock.h"

namespace weir::limiter {

/// Safe to use from any thread.
class WaitingRoom {
 public:
  using Event = WaitingQueues::Event;
  using Joined = WaitingQueues::Joined;

  /// A request that waits. Must leave before it is destroyed.
  class Waiter : public WaitingQueues::Place {
   public:
    /// Once after each rest(), never inside of it: from the room's thread, or from advance().
    virtual void on_woken() = 0;

   protected:
    ~Waiter() = default;
  };

  enum class Driven : bool {
    by_thread,  ///< starts a thread when the first request has to wait
    by_caller,  ///< the owner calls advance(), such as a test that moves the clock
  };

  explicit WaitingRoom(std::shared_ptr<const Clock> clock, Driven driven = Driven::by_thread,
                       const WaitingBounds& bounds = {});
  /// No request may wait in it.
  ~WaitingRoom();

  /// The time that has passed since the room was made, in milliseconds. A clock that is set back stops it
  /// for a moment, so that nobody waits for the clock to catch up.
  Time now() WEIR_EXCLUDES(mutex_);
  Joined join(Waiter& waiter, const std::string& bucket, Time deadline) WEIR_EXCLUDES(mutex_);
  /// See WaitingQueues.
  void rest(Waiter& waiter, std::optional<Time> retry_at) WEIR_EXCLUDES(mutex_);
  void leave(Waiter& waiter) WEIR_EXCLUDES(mutex_);
  void hurry(Waiter& waiter) WEIR_EXCLUDES(mutex_);
  void close() WEIR_EXCLUDES(mutex_);
  void nudge(std::string_view name_space, std::string_view resource = {}) WEIR_EXCLUDES(mutex_);
  std::optional<Time> first_tries_at(const std::string& bucket) WEIR_EXCLUDES(mutex_);
  bool is_behind_others(const Waiter& waiter, const std::string& bucket) WEIR_EXCLUDES(mutex_);
  bool hurries(const Waiter& waiter) WEIR_EXCLUDES(mutex_);
  /// How many requests are in the queues.
  std::size_t size() WEIR_EXCLUDES(mutex_);
  /// How many of them rest, and are not being decided.
  std::size_t resting() WEIR_EXCLUDES(mutex_);

  /// Wakes all that are due by the clock, and those that they give their turn to.
  void advance() WEIR_EXCLUDES(mutex_);
  /// When advance() has something to do next, as now() counts; nothing: not before another call.
  std::optional<Time> next() WEIR_EXCLUDES(mutex_);

 private:
  void run() WEIR_EXCLUDES(mutex_);
  Time pass() WEIR_REQUIRES(mutex_);
  void changed() WEIR_REQUIRES(mutex_);

  const std::shared_ptr<const Clock> clock_;
  const Driven driven_;
  base::Mutex mutex_;
  base::Condition wake_up_;
  WaitingQueues queues_ WEIR_GUARDED_BY(mutex_);
  WaitingQueues::Woken woken_ WEIR_GUARDED_BY(mutex_);  ///< not called yet
  Time seen_ WEIR_GUARDED_BY(mutex_);                   ///< what the clock showed last
  Time passed_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::limiter
