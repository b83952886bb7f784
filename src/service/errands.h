// Work that would hold up a thread which serves connections: large changes, whatever waits for a disk or a
// network, a scrape of the metrics.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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
  std::mutex mutex_;  // of all that follows
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Errand>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
};

}  // namespace weir::service
