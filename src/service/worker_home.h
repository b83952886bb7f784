// What a thread of the server has for itself: how it gets back what it asked the store for, and what it
// decided with last.
#pragma once

#include <memory>

#include "server/thread_home.h"
#include "service/service.h"

namespace weir::service {

class WorkerHome final : public server::ThreadHome {
 public:
  WorkerHome(const Service& service, net::Loop& loop) : server::ThreadHome(loop), service_(service) {}

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

 private:
  static WorkerHome*& here() {
    thread_local WorkerHome* home = nullptr;
    return home;
  }

  const Service& service_;
};

}  // namespace weir::service
