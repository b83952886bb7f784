// Wakes the thread of a Readiness from another thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "net/readiness.h"

namespace weir::net {

class WakeUp final : private Watched {
 public:
  WakeUp(Readiness& readiness, std::function<void()> answer)
      : Watched(readiness, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), answer_(std::move(answer)) {
    wait_for_read();
  }
  /// Calls `answer` on that thread, once for all wake() calls before it runs. From any thread.
  void wake() {
    if (woken_.load(std::memory_order_relaxed) || woken_.exchange(true)) return;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(socket(), &one, sizeof one));
  }

 private:
  void on_ready() override {
    std::uint64_t count = 0;
    static_cast<void>(!::read(socket(), &count, sizeof count));
    wait_for_read();
    // Cleared before the work is taken, so that a later call wakes the thread again.
    woken_.store(false);
    answer_();
  }

  const std::function<void()> answer_;
  std::atomic<bool> woken_{false};
};

}  // namespace weir::net
