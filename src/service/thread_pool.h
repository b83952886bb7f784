// Runs work that would block a thread that serves connections: large changes, waits for a disk or a network,
// scrapes of the metrics.
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
  /// Called once; answers its exchange as its last step.
  virtual void run() = 0;
};

/// Runs tasks in order of arrival on its own threads, which start when they are needed. Safe to call from any
/// thread.
class ThreadPool {
 public:
  /// At most `threads` tasks run and `waiting` tasks wait at a time.
  ThreadPool(std::size_t threads, std::size_t waiting) : most_threads_(threads), most_waiting_(waiting) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// Finishes all accepted tasks.
  ~ThreadPool();

  /// False if too many wait; the caller keeps the task.
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
