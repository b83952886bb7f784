// Locks whose use the compiler checks (clang's -Wthread-safety): each guarded member names its lock.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#if defined(__clang__)
#define WEIR_ATTRIBUTE(x) __attribute__((x))
#else
#define WEIR_ATTRIBUTE(x)
#endif
#define WEIR_CAPABILITY(name) WEIR_ATTRIBUTE(capability(name))
#define WEIR_SCOPED_CAPABILITY WEIR_ATTRIBUTE(scoped_lockable)
#define WEIR_GUARDED_BY(lock) WEIR_ATTRIBUTE(guarded_by(lock))
#define WEIR_REQUIRES(...) WEIR_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define WEIR_ACQUIRE(...) WEIR_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define WEIR_RELEASE(...) WEIR_ATTRIBUTE(release_capability(__VA_ARGS__))
#define WEIR_EXCLUDES(...) WEIR_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define WEIR_NOT_ANALYSED WEIR_ATTRIBUTE(no_thread_safety_analysis)

namespace weir::base {

/// std::mutex, annotated.
class WEIR_CAPABILITY("mutex") Mutex {
 public:
  void lock() WEIR_ACQUIRE() { mutex_.lock(); }
  void unlock() WEIR_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

/// std::condition_variable for a Mutex. Waiters test their condition in a loop, where the compiler can check
/// it:
///
///     while (!ready_) changed_.wait(mutex_);
class Condition {
 public:
  void wait(Mutex& mutex) WEIR_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// False on a timeout.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point end) WEIR_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, end) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

/// For sections of some tens of nanoseconds: half the cost of a mutex when free. A waiter yields after a
/// short spin, so that a preempted holder can run.
class WEIR_CAPABILITY("spin lock") SpinLock {
 public:
  void lock() WEIR_ACQUIRE() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() WEIR_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  void wait() const {
    for (int spins = 0; held_.load(std::memory_order_relaxed); ++spins) {
      if (spins < 64) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<bool> held_{false};
};

/// Holds a lock for a scope.
template <class Lock>
class WEIR_SCOPED_CAPABILITY Guard {
 public:
  explicit Guard(Lock& lock) WEIR_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~Guard() WEIR_RELEASE() { lock_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Lock& lock_;
};

/// Releases a lock for a scope inside one that holds it.
template <class Lock>
class WEIR_SCOPED_CAPABILITY Release {
 public:
  explicit Release(Lock& lock) WEIR_RELEASE(lock) : lock_(lock) { lock_.unlock(); }
  // The end of a scoped capability is always a release, also where the lock is taken again.
  ~Release() WEIR_RELEASE() { lock_.lock(); }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  Lock& lock_;
};

}  // namespace weir::base
