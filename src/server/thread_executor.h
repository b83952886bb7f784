// Calls the completions of a server's thread on that thread, in batches.
#pragma once

#include <utility>
#include <vector>

#include "base/lock.h"
#include "net/loop.h"
#include "store/executor.h"

namespace weir::server {

class ThreadExecutor : public store::Executor {
 public:
  explicit ThreadExecutor(net::Loop& loop) : loop_(loop) {}

  net::Loop& loop() { return loop_; }
  void post(store::Completed&& completed) override {
    {
      const base::Guard guard(mutex_);
      returned_.push_back(std::move(completed));
      // The thread that finds the list empty posts to the loop, for itself and for all that follow until the
      // list is taken.
      if (returned_.size() != 1) return;
    }
    loop_.post([this] { tell(); });
  }

 private:
  void tell() {
    std::vector<store::Completed> completed;
    {
      const base::Guard guard(mutex_);
      completed.swap(returned_);
    }
    for (const store::Completed& one : completed) one.tell();
  }

  net::Loop& loop_;
  base::Mutex mutex_;
  std::vector<store::Completed> returned_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
