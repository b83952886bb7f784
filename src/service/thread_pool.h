// Work that would hold up a thread which serves connections: large changes, whatever waits for a disk or a
// network, a scrape of the metrics.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"

namespace weir::service {

class Task {
 public:
  virtual ~Task() = default;
  /// Called once, and answers somebody as the last thing that it does.
  virtual void run() = 0;
};

/// Runs tasks in the order of their coming on threads of its own, each of which begins when it is needed.
/// Safe to call from any thread.
class ThreadPool {
 public:
  /// So many run at a time, and so many wait at the most.
  ThreadPool(std::size_t threads, std::size_t waiting) : most_threads_(threads), most_waiting_(waiting) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Finishes those that it took.
  ~ThreadPool();

  /// False, and the task stays the caller's, if too many wait already.
  bool take(std::unique_ptr<Task>& task);

 private:
  void work();

  const std::size_t most_threads_;
  const std::size_t most_waiting_;
  base::Mutex mutex_;
  base::Condition wake_;
  std::deque<std::unique_ptr<Task>> waiting_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ WEIR_GUARDED_BY(mutex_);
  std::size_t idle_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::service
