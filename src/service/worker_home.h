// What a thread of the server has for itself: how it gets back what it asked the store for, and what it
// decided with last.
#pragma once

#include <utility>
#include <vector>

#include "net/handler.h"
#include "service/service.h"
#include "store/home.h"
#include "store/lock.h"

namespace weir::service {

class WorkerHome final : public store::Home {
 public:
  WorkerHome(const Service& service, net::Thread& thread) : service_(service), thread_(thread) {}

  /// This thread's, if it is one of the service's.
  static WorkerHome* of(const Service& service) {
    WorkerHome* const home = here();
    return home != nullptr && &home->service_ == &service ? home : nullptr;
  }
  /// Makes it that of this thread.
  void move_in() { store::Home::here() = here() = this; }

  /// Who called last, and the core that decided: of the next request mostly the same. For the thread itself.
  Who last_caller;
  std::shared_ptr<limiter::Core> last_core;

  void bring(store::Returned&& returned) override {
    {
      const store::Guard guard(mutex_);
      returned_.push_back(std::move(returned));
      // Who finds it empty has the thread look, for all that come until it does.
      if (returned_.size() != 1) return;
    }
    thread_.post({[](void* self) { static_cast<WorkerHome*>(self)->tell(); }, this});
  }

 private:
  static WorkerHome*& here() {
    thread_local WorkerHome* home = nullptr;
    return home;
  }
  void tell() {
    std::vector<store::Returned> returned;
    {
      const store::Guard guard(mutex_);
      returned.swap(returned_);
    }
    for (const store::Returned& one : returned) one.tell();
  }

  const Service& service_;
  net::Thread& thread_;
  store::Mutex mutex_;
  std::vector<store::Returned> returned_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::service
