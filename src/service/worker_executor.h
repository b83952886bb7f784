// What a thread of the server has for itself: how it gets back what it asked the store for, and what it
// decided with last.
#pragma once

#include <memory>

#include "server/thread_executor.h"
#include "service/service.h"

namespace weir::service {

class WorkerExecutor final : public server::ThreadExecutor {
 public:
  WorkerExecutor(const Service& service, net::Loop& loop) : server::ThreadExecutor(loop), service_(service) {}

  /// This thread's, if it is one of the service's.
  static WorkerExecutor* of(const Service& service) {
    WorkerExecutor* const executor = here();
    return executor != nullptr && &executor->service_ == &service ? executor : nullptr;
  }
  /// Makes it that of this thread.
  void enter() { store::Executor::here() = here() = this; }

  /// Who called last, and the core that decided: of the next request mostly the same. For the thread itself.
  Who last_caller;
  std::shared_ptr<limiter::Core> last_core;

 private:
  static WorkerExecutor*& here() {
    thread_local WorkerExecutor* executor = nullptr;
    return executor;
  }

  const Service& service_;
};

}  // namespace weir::service
