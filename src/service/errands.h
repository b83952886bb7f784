// Work that would hold up a thread which serves connections: large changes, a check of the store.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace weir::service {

class Errand {
 public:
  virtual ~Errand() = default;
  /// Called once, and answers somebody as the last thing that it does.
  virtual void run() = 0;
};

/// Runs errands one after the other on a thread of its own, which begins with the first. Safe to call from
/// any thread.
class Errands {
 public:
  Errands() = default;
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  /// Finishes those that it took.
  ~Errands();

  /// False, and the errand stays the caller's, if too many wait already: each may hold a large body.
  bool take(std::unique_ptr<Errand>& errand);

 private:
  static constexpr std::size_t most_waiting = 8;
  void work();

  std::mutex mutex_;  // of all that follows
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Errand>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::service
