#include "net/readiness.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace weir::net {
namespace {

/// Calls of epoll_wait() in one turn of the loop; further events wait for the next turn.
constexpr int most_looks = 4;

int make_epoll() {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  // No loop can run without epoll.
  if (epoll < 0) std::abort();
  return epoll;
}

}  // namespace

void Watched::want(std::uint8_t what) {
  wanted_ |= what;
  // An edge that was already reported is reported again only after EPOLL_CTL_MOD.
  if ((wanted_ & ~known_) != 0 || (ready_ & what) != 0) sync();
}

/// Registers the current wait with epoll.
void Watched::sync() {
  const int epoll = readiness_.epoll_;
  epoll_event event{};
  event.events = ((wanted_ & reading) != 0 ? EPOLLIN : 0U) | ((wanted_ & writing) != 0 ? EPOLLOUT : 0U);
  if (edge_triggered_) event.events |= EPOLLET | EPOLLRDHUP;
  event.data.ptr = this;
  // A socket without a wait is removed, since epoll reports errors even when not asked for them.
  const int change = wanted_ == 0 ? EPOLL_CTL_DEL : known_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  static_cast<void>(::epoll_ctl(epoll, change, socket_, &event));
  known_ = wanted_;
  ready_ = 0;
}

void Watched::happened(std::uint32_t events) {
  if (socket_ < 0) return;
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  const auto now = static_cast<std::uint8_t>(((events & EPOLLIN) != 0 || broken ? reading : 0U) |
                                             ((events & EPOLLOUT) != 0 || broken ? writing : 0U));
  const bool asked = (wanted_ & now) != 0;
  wanted_ = static_cast<std::uint8_t>(wanted_ & ~now);
  if (edge_triggered_) {
    ready_ |= now;
    ended_ = ended_ || broken || (events & EPOLLRDHUP) != 0;
    if (asked) on_ready();
    return;
  }
  if (asked) on_ready();
  // Usually the same wait follows. If not, level-triggered epoll would report the socket again and again.
  if (socket_ >= 0 && (now & known_ & ~wanted_) != 0) sync();
}

void Watched::close_socket() {
  if (socket_ < 0) return;
  wanted_ = 0;
  // Not left to close(): a copy of the socket in a forked process would keep it registered.
  if (known_ != 0) sync();
  ::close(socket_);
  socket_ = -1;
}

void Watched::watch(int socket, Trigger trigger) {
  close_socket();
  socket_ = socket;
  edge_triggered_ = trigger == Trigger::edge;
  ready_ = 0;
  ended_ = false;
}

Readiness::Readiness() : epoll_(make_epoll()) {}
Readiness::~Readiness() { ::close(epoll_); }

bool Readiness::wait(int at_most) {
  count_ = ::epoll_wait(epoll_, events_.data(), most_events, at_most);
  return count_ > 0;
}

void Readiness::take_events() {
  for (int i = 0; i < most_looks; ++i) {
    if (count_ <= 0 && !wait(0)) return;
    const int count = std::exchange(count_, 0);
    for (int j = 0; j < count; ++j) {
      const epoll_event& event = events_[static_cast<std::size_t>(j)];
      static_cast<Watched*>(event.data.ptr)->happened(event.events);
    }
  }
}

}  // namespace weir::net
