// Threads that are told of their operations on their own, many at a time.
//
// A completion is called wherever its operation ended, mostly on a thread of the store. To a thread that
// serves thousands that is a detour: the store's thread fetches what belongs to each of them into its cache,
// one after the other, and the answers are made there, or taken back one by one. Such a thread gives itself a
// home, and gets the completions to call by itself.
#pragma once

#include <utility>
#include <vector>

#include "store/buckets.h"

namespace weir::store {

/// Operations that ended alike.
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
  /// Has them told on the thread whose home this is. From any thread.
  virtual void post(Completed&& returned) = 0;

  /// The home of this thread, or null: completions of what it starts may be called on any. It must outlive
  /// those operations.
  static Executor*& here() {
    thread_local Executor* home = nullptr;
    return home;
  }
};

/// Keeps what would be brought to homes, so that each is woken once for all of it: for threads of stores that
/// end many operations in a row.
class CompletionBatch {
 public:
  /// The one that has begun on this thread, or null.
  static CompletionBatch*& here() {
    thread_local CompletionBatch* batch = nullptr;
    return batch;
  }
  void begin() { here() = this; }
  void add(Executor& home, Completion<Progress> decided) {
    for (auto& [other, operations] : kept_) {
      if (other == &home) return operations.push_back(decided);
    }
    kept_.push_back({&home, {decided}});
  }
  void end() {
    here() = nullptr;
    for (auto& [home, operations] : kept_) home->post({std::move(operations), Progress::decided});
    kept_.clear();
  }

 private:
  std::vector<std::pair<Executor*, std::vector<Completion<Progress>>>> kept_;
};

/// Tells of one operation where it is at home.
inline void tell(Executor* home, Completion<Progress> operation, Result<Progress> result) {
  if (home == nullptr || home == Executor::here()) return operation(std::move(result));
  CompletionBatch* const batch = CompletionBatch::here();
  if (batch != nullptr && result && *result == Progress::decided) return batch->add(*home, operation);
  home->post({{operation}, std::move(result)});
}

}  // namespace weir::store
