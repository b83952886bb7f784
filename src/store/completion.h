// How a store operation ends. Operations are written once for callers that block and callers that do
// not: each takes a completion and calls it exactly once, inline or later on a thread of the store.
#pragma once

#include <optional>
#include <utility>

#include "base/lock.h"
#include "weir/result.h"

namespace weir::store {

/// A function and its context, which the caller keeps alive until the function was called. Two words, no
/// allocation.
template <class T>
class Completion {
 public:
  using Function = void (*)(void* context, Result<T>&& result);
  Completion(Function function, void* context) : function_(function), context_(context) {}
  // NOLINTNEXTLINE(performance-unnecessary-value-param): a completion owns its result
  void operator()(Result<T> result) const { function_(context_, std::move(result)); }

 private:
  Function function_;
  void* context_;
};

/// Turns an operation into a blocking call: passes a completion and waits for it. An operation that completes
/// inline costs no wait and no system call.
template <class T>
class BlockingResult {
 public:
  Completion<T> completion() {
    return {[](void* context, Result<T>&& result) {
              static_cast<BlockingResult*>(context)->set(std::move(result));
            },
            this};
  }
  Result<T> wait() {
    const base::Guard guard(mutex_);
    while (!result_) done_.wait(mutex_);
    return *std::move(result_);
  }

 private:
  void set(Result<T>&& result) {
    // Notify with the lock held: once it is released, the waiter may be destroyed.
    const base::Guard guard(mutex_);
    result_.emplace(std::move(result));
    done_.notify_one();
  }

  base::Mutex mutex_;
  base::Condition done_;
  std::optional<Result<T>> result_ WEIR_GUARDED_BY(mutex_);
};

/// Runs an operation and waits for its result.
template <class T, class Start>
Result<T> wait_for(Start&& start) {
  BlockingResult<T> blocking;
  std::forward<Start>(start)(blocking.completion());
  return blocking.wait();
}

}  // namespace weir::store
