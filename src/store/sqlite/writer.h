// The writer thread. Callers are answered when their changes are on the disk; all callers that arrive during
// one commit share the next one (group commit).
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "store/executor.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/file_writer.h"

namespace weir::sqlite {

/// Safe to use from any thread.
class Writer {
 public:
  using Done = store::Completion<store::Progress>;

  /// All must outlive the writer. `moment`: gives the time for cleaning.
  Writer(FileWriter& file_writer, table::Table& table, Checkpointer& checkpointer,
         std::function<Cleaner::Moment()> moment);
  /// Writes the remaining changes.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Completes with `decided` once the present state of the table is on the disk.
  void commit(Done done);
  /// See store::Buckets: a commit waits a moment for rounds to end.
  void begin_round() { rounds_.fetch_add(1); }
  void end_round();
  /// The error while the file cannot be written, else null. During a failure no request must be admitted.
  const Error* failure() const {
    return failing_.load(std::memory_order_relaxed) ? failing_.load(std::memory_order_acquire) : nullptr;
  }

 private:
  bool wait_for_commit(Done done);
  void run();
  bool serve(bool& more);
  void gather() WEIR_REQUIRES(mutex_);
  /// True: there is more work soon.
  bool work(bool idle);
  void flush();
  void note(const Result<void>& flushed);

  FileWriter& file_writer_;
  table::Table& table_;
  Checkpointer& checkpointer_;
  const std::function<Cleaner::Moment()> moment_;
  base::Mutex mutex_;
  base::Condition wake_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::atomic<int> rounds_{0};        // under way; may be negative for a moment
  std::atomic<bool> awaited_{false};  // a caller waits for the next commit
  /// Callers that wait for a commit, by their executor.
  struct PendingCommit {
    store::Executor* executor;
    std::vector<Done> done;
  };
  std::vector<PendingCommit> waiting_ WEIR_GUARDED_BY(mutex_);
  std::vector<PendingCommit> served_;             // the writer's own
  std::vector<std::unique_ptr<Error>> failures_;  // old ones stay, since readers may still use them
  std::atomic<const Error*> failing_{nullptr};
  std::thread thread_;
};

}  // namespace weir::sqlite
