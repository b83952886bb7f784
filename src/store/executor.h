// Executors: threads on which completions are called, many at a time.
//
// By default a completion is called on the thread on which its operation ended, mostly a thread of the store.
// That is expensive for a thread that serves thousands of requests: the store's thread would load the memory
// of each request into its own cache, and make the answers there or hand them back one by one. Such a thread
// registers an executor, and calls the completions of its operations itself.
#pragma once

#include <utility>
#include <vector>

#include "store/buckets.h"

namespace weir::store {

/// A batch of operations with the same result.
struct Completed {
  std::vector<Completion<Progress>> operations;
  Result<Progress> result;

  void tell() const {
    for (const auto& operation : operations) operation(result);
  }
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Schedules the completions on the executor's thread. Safe to call from any thread.
  virtual void post(Completed&& completed) = 0;

  /// The executor of this thread. Null: completions of the operations that it starts may be called on any
  /// thread. It must outlive those operations.
  static Executor*& here() {
    thread_local Executor* executor = nullptr;
    return executor;
  }
};

/// Collects completions, so that each executor is woken once for all of them. For threads of stores that
/// complete many operations in a row.
class CompletionBatch {
 public:
  /// The batch that has begun on this thread, or null.
  static CompletionBatch*& here() {
    thread_local CompletionBatch* batch = nullptr;
    return batch;
  }
  void begin() { here() = this; }
  void add(Executor& executor, Completion<Progress> decided) {
    for (auto& [other, operations] : kept_) {
      if (other == &executor) return operations.push_back(decided);
    }
    kept_.push_back({&executor, {decided}});
  }
  void end() {
    here() = nullptr;
    for (auto& [executor, operations] : kept_) executor->post({std::move(operations), Progress::decided});
    kept_.clear();
  }

 private:
  std::vector<std::pair<Executor*, std::vector<Completion<Progress>>>> kept_;
};

/// Calls the completion of one operation on its executor.
inline void complete(Executor* executor, Completion<Progress> operation, Result<Progress> result) {
  if (executor == nullptr || executor == Executor::here()) return operation(std::move(result));
  CompletionBatch* const batch = CompletionBatch::here();
  if (batch != nullptr && result && *result == Progress::decided) return batch->add(*executor, operation);
  executor->post({{operation}, std::move(result)});
}

}  // namespace weir::store
