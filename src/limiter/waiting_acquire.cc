#include "limiter/waiting_acquire.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limiter {

using Mode = PendingAcquire::Mode;

void WaitingAcquire::start(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options,
                           store::Completion<void> done) {
  entity_ = entity;
  resource_ = resource;
  consume_ = consume;
  options_ = options;
  done_ = done;
  if (options.max_wait < std::chrono::milliseconds(0) || options.max_wait > AcquireOptions::longest_wait) {
    return end(base::invalid("a request waits for at least 0 and at most ",
                             std::to_string(AcquireOptions::longest_wait.count()), " ms"));
  }
  bucket_ = WaitingQueues::bucket_of(core_.name_space(), entity, resource);
  WaitingRoom& room = core_.waiting();
  arrived_ = room.now();
  switch (room.join(*this, bucket_, arrived_ + options.max_wait.count())) {
    case WaitingRoom::Joined::first:
      return ask(Mode::acquire, &WaitingAcquire::tried);
    case WaitingRoom::Joined::behind:
      return ask(Mode::peek, &WaitingAcquire::looked);
    case WaitingRoom::Joined::full:
      gave_up_ = "no-room";
      return ask(Mode::peek, &WaitingAcquire::looked_last);
  }
}

void WaitingAcquire::ask(Mode mode, Answered answered) {
  answered_ = answered;
  waited_ = core_.waiting().now() - arrived_;
  pending_.emplace(core_);
  pending_->start(entity_, resource_, consume_, options_,
                  {[](void* self, Result<void>&& result) {
                     auto* const waiting = static_cast<WaitingAcquire*>(self);
                     (waiting->*waiting->answered_)(std::move(result));
                   },
                   this},
                  mode);
}

void WaitingAcquire::on_woken() {
  if (!run_) return woken();
  run_([this] { woken(); });
}

void WaitingAcquire::woken() {
  if (event() == WaitingRoom::Event::turn) return ask(Mode::acquire, &WaitingAcquire::tried);
  gave_up_ = "deadline";
  ask(Mode::peek, &WaitingAcquire::looked_last);
}

bool WaitingAcquire::is_hopeless() {
  const auto wait = decision().retry_after();
  return !wait || core_.waiting().now() + wait->count() > deadline();
}

void WaitingAcquire::tried(Result<void>&& result) {
  if (!result || decision().admitted() || is_hopeless()) return end(std::move(result));
  WaitingRoom& room = core_.waiting();
  room.rest(*this, room.now() + decision().retry_after()->count());
}

/// Another thread may wake it, and end it, as soon as it rests.
void WaitingAcquire::looked(Result<void>&& result) {
  if (!result || pending_->repeats()) return end(std::move(result));
  if (decision().refused() && is_hopeless()) return end({});
  core_.waiting().rest(*this, std::nullopt);
}

void WaitingAcquire::looked_last(Result<void>&& result) {
  if (!result || pending_->repeats()) return end(std::move(result));
  WaitingRoom& room = core_.waiting();
  const bool hurried = room.hurries(*this);
  if (hurried) gave_up_ = "hurried";
  if (decision().admitted() && !hurried && !room.is_behind_others(*this, bucket_))
    return ask(Mode::acquire, &WaitingAcquire::tried_last);
  refuse();
  end({});
}

/// Also a request that fits now is refused: those before it in the queue wait for more, or its caller is
/// gone.
void WaitingAcquire::refuse() {
  if (decision().refused()) return;
  WaitingRoom& room = core_.waiting();
  const Time now = room.now();
  decision().set_refused(std::max<Time>(1, room.first_tries_at(bucket_).value_or(now) - now), false);
}

void WaitingAcquire::end(Result<void> result) {
  if (result) decision().set_waited(std::chrono::milliseconds(waited_));
  core_.waiting().leave(*this);
  (*done_)(std::move(result));
}

}  // namespace weir::limiter
