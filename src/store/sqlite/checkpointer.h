// Copies the write-ahead log into the file concurrently with commits, so that no caller waits for it.
//
// Most of the work is done on a separate connection while commits continue. SQLite can reset the log only
// when all of it has been copied, so the writer copies the last few pages itself, between two commits.
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

  /// Called after each commit with the number of pages in the log.
  void log_has(int pages);
  /// Whether the writer should copy the rest, between two commits.
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
