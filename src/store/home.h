// Threads that are told of their operations on their own, many at a time.
//
// A completion is called wherever its operation ended, mostly on a thread of the store. To a thread that
// serves thousands that is a detour: the store's thread fetches what belongs to each of them into its cache,
// one after the other, and the answers are made there, or taken back one by one. Such a thread gives itself a
// home, and gets the completions to call by itself.
#pragma once

#include <vector>

#include "store/buckets.h"

namespace weir::store {

/// Operations that ended alike.
struct Returned {
  std::vector<Completion<Progress>> operations;
  Result<Progress> result;

  void tell() const {
    for (const auto& operation : operations) operation(result);
  }
};

class Home {
 public:
  virtual ~Home() = default;
  /// Has them told on the thread whose home this is. From any thread.
  virtual void bring(Returned&& returned) = 0;

  /// The home of this thread, or null: completions of what it starts may be called on any. It must outlive
  /// those operations.
  static Home*& here() {
    thread_local Home* home = nullptr;
    return home;
  }
};

/// Tells of one operation where it is at home.
inline void tell(Home* home, Completion<Progress> operation, Result<Progress> result) {
  if (home == nullptr || home == Home::here()) return operation(std::move(result));
  home->bring({{operation}, std::move(result)});
}

}  // namespace weir::store
