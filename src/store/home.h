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

/// Keeps what would be brought to homes, so that each is woken once for all of it: for threads of stores that
/// end many operations in a row.
class Gathering {
 public:
  /// The one that has begun on this thread, or null.
  static Gathering*& here() {
    thread_local Gathering* gathering = nullptr;
    return gathering;
  }
  void begin() { here() = this; }
  void add(Home& home, Completion<Progress> decided) {
    for (auto& [other, operations] : kept_) {
      if (other == &home) return operations.push_back(decided);
    }
    kept_.push_back({&home, {decided}});
  }
  void end() {
    here() = nullptr;
    for (auto& [home, operations] : kept_) home->bring({std::move(operations), Progress::decided});
    kept_.clear();
  }

 private:
  std::vector<std::pair<Home*, std::vector<Completion<Progress>>>> kept_;
};

/// Tells of one operation where it is at home.
inline void tell(Home* home, Completion<Progress> operation, Result<Progress> result) {
  if (home == nullptr || home == Home::here()) return operation(std::move(result));
  Gathering* const gathering = Gathering::here();
  if (gathering != nullptr && result && *result == Progress::decided) return gathering->add(*home, operation);
  home->bring({{operation}, std::move(result)});
}

}  // namespace weir::store
