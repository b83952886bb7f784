// How a thread of a server gets back what it asked the store for: on itself, many at a time.
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
      // Who finds it empty has the thread look, for all that come until it does.
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
