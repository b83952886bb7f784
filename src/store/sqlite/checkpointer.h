// Copies the write-ahead log into the file beside the commits, so that no caller waits for it.
//
// Most of the work is done on a connection of its own while commits go on. The log can start over only after
// a moment in which everything in it was copied, so when little is left the writer copies that little itself.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "base/lock.h"
#include "store/sqlite/database.h"

namespace weir::sqlite {

/// Safe to use from any thread.
class Checkpointer {
 public:
  Checkpointer(std::unique_ptr<Database> database, bool enabled);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// After each commit: how many pages are in the log.
  void log_has(int pages);
  /// Whether the writer should do what is left, between two commits.
  bool wants_last_step() const { return last_step_.load(std::memory_order_relaxed); }
  void last_step_done(const Database::Checkpoint& checkpoint);

 private:
  void run();
  void copy();

  const std::unique_ptr<Database> database_;
  const bool enabled_;
  base::Mutex mutex_;
  base::Condition wake_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  bool wanted_ WEIR_GUARDED_BY(mutex_) = false;
  std::atomic<int> next_at_;
  std::atomic<int> pages_{0};
  std::atomic<bool> last_step_{false};
  std::thread thread_;
};

}  // namespace weir::sqlite
