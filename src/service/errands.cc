#include "service/errands.h"

namespace weir::service {

Errands::~Errands() {
  std::thread thread;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
}

bool Errands::take(std::unique_ptr<Errand>& errand) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() == most_waiting) return false;
  waiting_.push_back(std::move(errand));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  wake_.notify_one();
  return true;
}

void Errands::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::unique_ptr<Errand> errand = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    errand->run();
    lock.lock();
  }
}

}  // namespace weir::service
