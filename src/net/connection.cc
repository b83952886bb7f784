#include "net/connection.h"

#include <utility>

#include "net/worker.h"

namespace weir::net {

Connection::Connection(Worker& worker, int socket, const Address& peer, TlsConnection tls)
    : Watched(worker.readiness(), socket, tls ? Trigger::level : Trigger::edge),
      worker_(worker),
      transport_(socket, std::move(tls)),
      session_(worker, *this, peer, transport_.tls()) {}

Connection::~Connection() { TimerWheel::cancel(*this); }

void Connection::begin() {
  if (transport_.tls()) {
    arm(Awaits::handshake, 0);
  } else {
    stage_ = Stage::open;
  }
  update();
}

/// Does all that can be done without waiting.
void Connection::drive() {
  switch (stage_) {
    case Stage::handshake:
      return handshake();
    case Stage::lingering:
      return linger();
    case Stage::closed:
      return retire_if_done();
    case Stage::open:
      break;
  }
  if (!read() || !flush()) return close();
  update();
}

void Connection::handshake() {
  switch (transport_.handshake().status) {
    case Transport::Status::needs_read:
      return wait_for_read();
    case Transport::Status::needs_write:
      return wait_for_write();
    case Transport::Status::done:
      break;
    default:
      return close();
  }
  stage_ = Stage::open;
  drive();
}

/// Reads once; with TLS, until the bytes that TLS has buffered are read. False if the connection is broken.
bool Connection::read() {
  do {
    const std::span<char> room = session_.room();
    if (room.empty()) return true;
    const Transport::Outcome outcome = transport_.read(room);
    if (outcome.bytes < room.size()) all_read();
    session_.received(outcome.bytes);
    switch (outcome.status) {
      case Transport::Status::done:
        break;
      case Transport::Status::needs_read:
        return true;
      case Transport::Status::needs_write:
        wait_for_write();
        return true;
      case Transport::Status::ended:
        session_.received_end();
        return true;
      case Transport::Status::failed:
        return false;
    }
  } while (transport_.has_pending());
  return true;
}

/// Writes until there is nothing left or the socket takes no more. False if the connection is broken.
bool Connection::flush() {
  while (!session_.output().empty()) {
    const Transport::Outcome outcome = transport_.write(session_.output());
    switch (outcome.status) {
      case Transport::Status::done:
        sent_ += outcome.bytes;
        session_.sent(outcome.bytes);
        break;
      case Transport::Status::needs_read:
        wait_for_read();
        return true;
      case Transport::Status::needs_write:
        all_written();
        wait_for_write();
        return true;
      default:
        return false;
    }
  }
  return true;
}

void Connection::update() {
  if (stage_ == Stage::closed || failing_) return;
  if (stage_ == Stage::handshake) return wait_for_read();
  if (session_.over() && session_.output().empty()) return start_linger();
  if (session_.wants_input()) {
    // epoll does not report bytes that TLS has already read from the socket.
    if (transport_.has_pending()) {
      drive_later();
    } else {
      wait_for_read();
    }
  }
  arm_open();
}

/// Ends the sending side, and reads until the client has ended its own. Closing with unread bytes would reset
/// the connection, and the client might lose the last answer.
void Connection::start_linger() {
  if (session_.ended() || session_.was_idle()) return close();
  transport_.shut_down();
  stage_ = Stage::lingering;
  arm(Awaits::linger, 0);
  wait_for_read();
}

void Connection::linger() {
  wire::Buffer scrap = worker_.take_buffer();
  const Transport::Outcome outcome = transport_.read(scrap.room());
  worker_.give_back(std::move(scrap));
  if (outcome.status == Transport::Status::done || outcome.status == Transport::Status::needs_read) {
    return wait_for_read();
  }
  close();
}

void Connection::close() {
  if (stage_ == Stage::closed) return;
  if (stage_ == Stage::open && transport_.tls()) transport_.shut_down();
  stage_ = Stage::closed;
  TimerWheel::cancel(*this);
  close_socket();
  session_.gone();
  retire_if_done();
}

void Connection::drain() {
  if (stage_ == Stage::open) {
    session_.drain();
    // A request that has already arrived is still served.
    if (!read()) return close();
    session_.received(0);
    if (!flush()) return close();
    update();
  }
}

void Connection::wake() {
  if (stage_ == Stage::closed) return retire_if_done();
  if (stage_ != Stage::open || failing_) return;
  if (!flush()) return fail_soon();
  update();
}

void Connection::cut() {
  if (stage_ == Stage::closed) return;
  transport_.reset_on_close();
  fail_soon();
}

/// Closes from the loop, since the caller still uses the connection.
void Connection::fail_soon() {
  failing_ = true;
  drive_later();
}

void Connection::drive_later() {
  if (posted_) return;
  posted_ = true;
  worker_.defer([this] {
    posted_ = false;
    if (failing_ && stage_ != Stage::closed) return close();
    drive();
  });
}

void Connection::on_deadline() {
  const Awaits awaits = std::exchange(awaits_, Awaits::nothing);
  if (awaits == Awaits::nothing) return;
  if (awaits == Awaits::write) transport_.reset_on_close();
  if (stage_ != Stage::open || awaits == Awaits::write) return close();
  session_.timed_out();
  if (!flush()) return close();
  update();
}

void Connection::arm_open() {
  if (!session_.output().empty()) return arm(Awaits::write, sent_);
  const Session::Wait wait = session_.wait();
  switch (wait.kind) {
    case Session::Wait::Kind::idle:
      return arm(Awaits::idle, wait.serial);
    case Session::Wait::Kind::head:
      return arm(Awaits::head, wait.serial);
    case Session::Wait::Kind::body:
      return arm(Awaits::body, wait.serial);
    case Session::Wait::Kind::handler:
      return arm(Awaits::nothing, wait.serial);
  }
}

/// The same wait keeps its deadline; a new wait gets a new one.
void Connection::arm(Awaits awaits, std::uint64_t serial) {
  if (awaits == awaits_ && serial == serial_) return;
  awaits_ = awaits;
  serial_ = serial;
  // An unused timer stays in the wheel with a far deadline, since it is soon needed again.
  constexpr std::uint64_t never = std::uint64_t{1} << 40U;
  if (awaits == Awaits::nothing) return worker_.set_ticks(*this, never);
  worker_.set_timer(*this, timeout_of(awaits));
}

std::chrono::milliseconds Connection::timeout_of(Awaits awaits) const {
  const Timeouts& timeouts = worker_.options().timeouts;
  switch (awaits) {
    case Awaits::handshake:
    case Awaits::head:
      return timeouts.head;
    case Awaits::body:
      return timeouts.body;
    case Awaits::write:
      return timeouts.write;
    case Awaits::linger:
      return timeouts.linger;
    default:
      return timeouts.idle;
  }
}

void Connection::retire_if_done() {
  if (retired_ || stage_ != Stage::closed || posted_) return;
  if (!session_.released()) return;
  retired_ = true;
  worker_.remove(*this);
}

}  // namespace weir::net
