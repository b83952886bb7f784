// How a thread of a server gets back what it asked the store for: on itself, many at a time.
#pragma once

#include <utility>
#include <vector>

#include "base/lock.h"
#include "net/loop.h"
#include "store/home.h"

namespace weir::server {

class ThreadHome : public store::Home {
 public:
  explicit ThreadHome(net::Loop& loop) : loop_(loop) {}

  net::Loop& loop() { return loop_; }
  void bring(store::Returned&& returned) override {
    {
      const base::Guard guard(mutex_);
      returned_.push_back(std::move(returned));
      // Who finds it empty has the thread look, for all that come until it does.
      if (returned_.size() != 1) return;
    }
    loop_.post([this] { tell(); });
  }

 private:
  void tell() {
    std::vector<store::Returned> returned;
    {
      const base::Guard guard(mutex_);
      returned.swap(returned_);
    }
    for (const store::Returned& one : returned) one.tell();
  }

  net::Loop& loop_;
  base::Mutex mutex_;
  std::vector<store::Returned> returned_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
