#include "limiter/waiting_room.h"

#include <algorithm>
#include <utility>

namespace weir::limiter {
namespace {

/// The thread looks at the clock at least this often while requests wait: a clock may be set, or be moved by
/// a test.
constexpr std::chrono::milliseconds looks_apart{20};

}  // namespace

WaitingRoom::WaitingRoom(std::shared_ptr<const Clock> clock, Driven driven, const WaitingBounds& bounds)
    : clock_(std::move(clock)), driven_(driven), queues_(bounds), seen_(clock_->now()) {}

WaitingRoom::~WaitingRoom() {
  std::thread thread;
  {
    const base::Guard guard(mutex_);
    ends_ = true;
    thread.swap(thread_);
    wake_up_.notify_one();
  }
  if (thread.joinable()) thread.join();
}

Time WaitingRoom::pass() {
  const Time now = clock_->now();
  passed_ += std::max<Time>(0, now - std::exchange(seen_, now));
  return passed_;
}

Time WaitingRoom::now() {
  const base::Guard guard(mutex_);
  return pass();
}

WaitingRoom::Joined WaitingRoom::join(Waiter& waiter, const std::string& bucket, Time deadline) {
  const base::Guard guard(mutex_);
  return queues_.join(waiter, bucket, deadline);
}

void WaitingRoom::rest(Waiter& waiter, std::optional<Time> retry_at) {
  const base::Guard guard(mutex_);
  queues_.rest(waiter, pass(), retry_at, woken_);
  changed();
}

void WaitingRoom::leave(Waiter& waiter) {
  const base::Guard guard(mutex_);
  queues_.leave(waiter, woken_);
  if (!woken_.empty()) changed();
}

void WaitingRoom::hurry(Waiter& waiter) {
  const base::Guard guard(mutex_);
  queues_.hurry(waiter, woken_);
  if (!woken_.empty()) changed();
}

void WaitingRoom::close() {
  const base::Guard guard(mutex_);
  queues_.close(woken_);
  if (!woken_.empty()) changed();
}

void WaitingRoom::nudge(std::string_view name_space, std::string_view resource) {
  const base::Guard guard(mutex_);
  queues_.nudge(name_space, resource, woken_);
  if (!woken_.empty()) changed();
}

std::optional<Time> WaitingRoom::first_tries_at(const std::string& bucket) {
  const base::Guard guard(mutex_);
  return queues_.first_tries_at(bucket);
}

bool WaitingRoom::is_behind_others(const Waiter& waiter, const std::string& bucket) {
  const base::Guard guard(mutex_);
  return queues_.is_behind_others(waiter, bucket);
}

bool WaitingRoom::hurries(const Waiter& waiter) {
  const base::Guard guard(mutex_);
  return WaitingQueues::hurries(waiter);
}

std::size_t WaitingRoom::size() {
  const base::Guard guard(mutex_);
  return queues_.size();
}

std::size_t WaitingRoom::resting() {
  const base::Guard guard(mutex_);
  return queues_.resting();
}

/// Those that wait are woken by the thread, never by the request that gave them its turn: it would answer
/// for them, one inside the other.
void WaitingRoom::changed() {
  if (driven_ == Driven::by_caller) return;
  if (thread_.joinable()) return wake_up_.notify_one();
  thread_ = std::thread([this] { run(); });
}

void WaitingRoom::advance() {
  while (true) {
    WaitingQueues::Woken woken;
    {
      const base::Guard guard(mutex_);
      queues_.advance(pass(), woken_);
      woken.swap(woken_);
    }
    if (woken.empty()) return;
    for (WaitingQueues::Place* const place : woken) static_cast<Waiter*>(place)->on_woken();
  }
}

std::optional<Time> WaitingRoom::next() {
  const base::Guard guard(mutex_);
  if (!woken_.empty()) return passed_;
  return queues_.next();
}

void WaitingRoom::run() {
  while (true) {
    advance();
    const base::Guard guard(mutex_);
    if (ends_) return;
    if (!woken_.empty()) continue;
    const auto next = queues_.next();
    if (!next) {
      wake_up_.wait(mutex_);
      continue;
    }
    const auto left = std::chrono::milliseconds(std::max<Time>(0, *next - pass()));
    wake_up_.wait_until(mutex_, std::chrono::steady_clock::now() + std::min(left, looks_apart));
  }
}

}  // namespace weir::limiter
