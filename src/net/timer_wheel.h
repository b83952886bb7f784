// The deadlines of many connections. A deadline is a tick, and the wheel has a list for each of the next
// ticks. Moving a deadline further out, which happens with every request, only stores a number: at the old
// tick the timer is not due and moves to its new list.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::net {

/// A place in a ring of timers.
class TimerLink {
 public:
  TimerLink() = default;
  TimerLink(const TimerLink&) = delete;
  TimerLink& operator=(const TimerLink&) = delete;
  ~TimerLink() { unlink(); }

 private:
  friend class TimerWheel;
  bool linked() const { return next_ != this; }
  void unlink() {
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = this;
  }
  void link_before(TimerLink& other) {
    next_ = &other;
    previous_ = other.previous_;
    previous_->next_ = this;
    other.previous_ = this;
  }

  TimerLink* next_ = this;
  TimerLink* previous_ = this;
};

/// A callback at a deadline. Destruction cancels it.
class Timer : private TimerLink {
 public:
  virtual ~Timer() = default;
  virtual void on_deadline() = 0;

 private:
  friend class TimerWheel;
  std::uint64_t deadline_ = 0;
  std::uint64_t looked_at_ = 0;  ///< the tick whose list it is in
};

/// Not safe for use by several threads at once. Knows no clock: ticks are passed in.
class TimerWheel {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t now() const { return now_; }
  /// A tick before which no timer fires.
  std::uint64_t next() const { return next_; }

  /// Has the timer fire at that tick, and at no other.
  void set(Timer& timer, std::uint64_t deadline) {
    timer.deadline_ = std::max(deadline, now_ + 1);
    if (timer.linked() && timer.looked_at_ <= timer.deadline_) return;
    timer.unlink();
    link(timer);
  }
  static void cancel(Timer& timer) { timer.unlink(); }

  /// Moves to that tick and calls each timer that is due. Timers may be set, cancelled and destroyed
  /// meanwhile.
  void advance(std::uint64_t now) {
    // After a long sleep each list is still visited once.
    if (now > now_ + slots) now_ = now - slots;
    while (now_ < now) {
      ++now_;
      TimerLink due;
      take(lists_[now_ % slots], due);
      while (due.linked()) {
        auto& timer = static_cast<Timer&>(*due.next_);
        timer.unlink();
        if (timer.deadline_ <= now) {
          timer.on_deadline();
        } else {
          link(timer);
        }
      }
    }
    if (next_ <= now_) find_next();
  }

 private:
  static constexpr std::size_t slots = 512;

  void link(Timer& timer) {
    timer.looked_at_ = std::min(timer.deadline_, now_ + slots - 1);
    timer.link_before(lists_[timer.looked_at_ % slots]);
    next_ = std::min(next_, timer.looked_at_);
  }
  void find_next() {
    for (next_ = now_ + 1; next_ < now_ + slots; ++next_) {
      if (lists_[next_ % slots].linked()) return;
    }
    next_ = never;
  }
  /// Moves a list behind another head, so that timers set meanwhile do not join it.
  static void take(TimerLink& list, TimerLink& head) {
    if (!list.linked()) return;
    head.link_before(list);
    list.unlink();
  }

  std::array<TimerLink, slots> lists_;
  std::uint64_t now_ = 0;
  std::uint64_t next_ = never;
};

}  // namespace weir::net
