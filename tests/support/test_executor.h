// A thread that is told of its operations when it asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "store/executor.h"

namespace weir::tests {

/// The executor of the thread that makes it. Keeps what is posted until that thread asks for it.
class TestExecutor final : public store::Executor {
 public:
  TestExecutor() { here() = this; }
  ~TestExecutor() override { here() = nullptr; }

  void post(store::Completed&& completed) override {
    const std::scoped_lock lock(mutex_);
    returned_.push_back(std::move(completed));
    brought_.notify_one();
  }
  /// Waits for the next that is brought, and has it told. False if nothing comes within half a minute.
  bool tell_next() {
    std::unique_lock lock(mutex_);
    if (!brought_.wait_for(lock, std::chrono::seconds(30), [&] { return !returned_.empty(); })) return false;
    const store::Completed next = std::move(returned_.front());
    returned_.pop_front();
    lock.unlock();
    next.tell();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable brought_;
  std::deque<store::Completed> returned_;
};

}  // namespace weir::tests
