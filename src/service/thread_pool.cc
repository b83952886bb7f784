#include "service/thread_pool.h"

namespace weir::service {

ThreadPool::~ThreadPool() {
  std::vector<std::thread> threads;
  {
    const base::Guard guard(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

bool ThreadPool::take(std::unique_ptr<Task>& task) {
  const base::Guard guard(mutex_);
  if (waiting_.size() == most_waiting_) return false;
  waiting_.push_back(std::move(task));
  if (idle_ < waiting_.size() && threads_.size() < most_threads_) threads_.emplace_back([this] { work(); });
  wake_.notify_one();
  return true;
}

void ThreadPool::work() {
  const base::Guard guard(mutex_);
  for (;;) {
    ++idle_;
    while (!stopping_ && waiting_.empty()) wake_.wait(mutex_);
    --idle_;
    if (waiting_.empty()) return;
    const std::unique_ptr<Task> task = std::move(waiting_.front());
    waiting_.pop_front();
    const base::Release release(mutex_);
    task->run();
  }
}

}  // namespace weir::service
