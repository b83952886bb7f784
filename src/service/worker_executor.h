// The state of one thread of the server: the executor for its completions, and a cache of its last caller.
#pragma once

#include <memory>

#include "server/thread_executor.h"
#include "service/service.h"

namespace weir::service {

class WorkerExecutor final : public server::ThreadExecutor {
 public:
  WorkerExecutor(const Service& service, net::Loop& loop) : server::ThreadExecutor(loop), service_(service) {}

  /// The executor of this thread, if it is a thread of the service.
  static WorkerExecutor* of(const Service& service) {
    WorkerExecutor* const executor = here();
    return executor != nullptr && &executor->service_ == &service ? executor : nullptr;
  }
  /// Makes it the executor of this thread.
  void enter() { store::Executor::here() = here() = this; }

  /// The last caller and its core, which the next request usually shares. For this thread only.
  Identity last_caller;
  std::shared_ptr<limiter::Core> last_core;

 private:
  static WorkerExecutor*& here() {
    thread_local WorkerExecutor* executor = nullptr;
    return executor;
  }

  const Service& service_;
};

}  // namespace weir::service
