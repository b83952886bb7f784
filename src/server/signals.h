// Signals for a program that serves.
#pragma once

#include <pthread.h>

#include <chrono>
#include <csignal>

namespace weir::server {

/// SIGINT, SIGTERM and SIGHUP are blocked and returned by wait(), without a signal handler. To be made before
/// any thread.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }
  /// 0 if none comes in time.
  int wait_for(std::chrono::milliseconds at_most) const {
    const timespec time{static_cast<time_t>(at_most.count() / 1000), (at_most.count() % 1000) * 1'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &time);
    return signal < 0 ? 0 : signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace weir::server
