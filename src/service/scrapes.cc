#include "service/scrapes.h"

namespace weir::service {
namespace {

// More than anybody has that scrapes; past it somebody only wants us to work.
constexpr std::size_t most_waiting = 64;

}  // namespace

Scrapes::~Scrapes() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Scrapes::answer(Answering answering) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() < most_waiting) {
      waiting_.push_back(std::move(answering));
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      wake_.notify_one();
      return;
    }
  }
  answering.send(problem(503, "busy", "too many ask for metrics at once"));
}

void Scrapes::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Answering next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next.send({.body = metrics_.text(), .content_type = telemetry::Metrics::content_type});
    lock.lock();
  }
}

}  // namespace weir::service
