// The thread that writes. Callers are answered when what they changed is on the disk; all who come while one
// commit is under way share the next one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/buckets.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/journal.h"

namespace weir::sqlite {

/// Safe to use from any thread.
class Writer {
 public:
  using Done = store::Completion<store::Progress>;

  /// All must outlive the writer. `moment`: by which time to clean.
  Writer(Journal& journal, table::Table& table, Checkpointer& checkpointer,
         std::function<Cleaner::Moment()> moment);
  /// Writes what is left.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Completes with `decided` once everything that the table holds now is on the disk.
  void commit(Done done);
  /// Why nothing can be written at the moment, if so: then nobody should be admitted.
  const Error* failure() const {
    return failing_.load(std::memory_order_relaxed) ? failing_.load(std::memory_order_acquire) : nullptr;
  }

 private:
  void run();
  /// True: there is more to do soon.
  bool work(bool idle);
  void flush();
  void note(const Result<void>& flushed);

  Journal& journal_;
  table::Table& table_;
  Checkpointer& checkpointer_;
  const std::function<Cleaner::Moment()> moment_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<Done> waiting_;
  std::vector<Done> served_;                      // the writer's own
  std::vector<std::unique_ptr<Error>> failures_;  // readers may still look at an old one
  std::atomic<const Error*> failing_{nullptr};
  std::thread thread_;
};

}  // namespace weir::sqlite
