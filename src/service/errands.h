// Work that would hold up a thread which serves connections: large changes, whatever waits for a disk or a
// network, a scrape of the metrics.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"

namespace weir::service {

class Errand {
 public:
  virtual ~Errand() = default;
  /// Called once, and answers somebody as the last thing that it does.
  virtual void run() = 0;
};

/// Runs errands in the order of their coming on threads of its own, each of which begins when it is needed.
/// Safe to call from any thread.
class Errands {
 public:
  /// So many run at a time, and so many wait at the most.
  Errands(std::size_t threads, std::size_t waiting) : most_threads_(threads), most_waiting_(waiting) {}
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  /// Finishes those that it took.
  ~Errands();

  /// False, and the errand stays the caller's, if too many wait already.
  bool take(std::unique_ptr<Errand>& errand);

 private:
  void work();

  const std::size_t most_threads_;
  const std::size_t most_waiting_;
  base::Mutex mutex_;
  base::Condition wake_;
  std::deque<std::unique_ptr<Errand>> waiting_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ WEIR_GUARDED_BY(mutex_);
  std::size_t idle_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::service
