#include "net/loop.h"

#include <algorithm>
#include <utility>

namespace weir::net {
namespace {

/// Large enough for nearly every request with its body; for a larger one the buffer grows.
constexpr std::size_t buffer_size = std::size_t{16} * 1024;
constexpr std::size_t most_spare = 256;

/// The loop that runs on this thread.
thread_local const Loop* here = nullptr;

}  // namespace

Loop::Loop(std::chrono::milliseconds tick) : tick_(tick), wake_up_(readiness_, [this] { take_posted(); }) {}
Loop::~Loop() = default;

void Loop::run() {
  const OnThisThread scope(*this);
  while (!stopped_) turn();
  // Work that was posted before the posting thread could see the stop.
  take_posted();
  run_deferred();
}

Loop::OnThisThread::OnThisThread(const Loop& loop) : before_(std::exchange(here, &loop)) {}
Loop::OnThisThread::~OnThisThread() { here = before_; }
bool Loop::is_here() const { return here == this; }

void Loop::turn(Wait wait) {
  const bool events = readiness_.wait(wait == Wait::not_at_all ? 0 : timeout());
  woke_ = Clock::now();
  now_ = ticks_at(woke_);
  if (events) {
    set_busy(true);
    readiness_.take_events();
    set_busy(false);
  }
  if (wheel_.now() != now_) wheel_.advance(now_);
  run_deferred();
  if (!retired_.empty()) std::exchange(retired_, {}).clear();
}

/// The time until the next timer or deferred work, as the timeout of epoll_wait().
int Loop::timeout() const {
  if (stopped_ || !deferred_.empty()) return 0;
  const std::uint64_t next = wheel_.next();
  if (next == TimerWheel::never) return -1;
  const auto left = started_ + static_cast<std::int64_t>(next) * tick_ - woke_;
  return static_cast<int>(
      std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0));
}

void Loop::post(Work work) {
  {
    const base::Guard guard(mutex_);
    posted_.push_back(std::move(work));
  }
  wake_up_.wake();
}

void Loop::take_posted() {
  std::vector<Work> posted;
  {
    const base::Guard guard(mutex_);
    posted.swap(posted_);
  }
  for (const Work& work : posted) work();
}

void Loop::run_deferred() {
  if (deferred_.empty()) return;
  for (const Work& work : std::exchange(deferred_, {})) work();
}

wire::Buffer Loop::take_buffer() {
  if (spare_buffers_.empty()) return wire::Buffer(buffer_size);
  wire::Buffer buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

void Loop::give_back(wire::Buffer&& buffer) {
  wire::Buffer taken = std::move(buffer);
  if (taken.capacity() != buffer_size || spare_buffers_.size() == most_spare) return;
  taken.clear();
  spare_buffers_.push_back(std::move(taken));
}

}  // namespace weir::net
