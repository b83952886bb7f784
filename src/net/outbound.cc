#include "net/outbound.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/dial.h"

namespace weir::net {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Less room than this is not worth a system call.
constexpr std::size_t least_room = 4096;

}  // namespace

bool Outbound::connect(OutboundUser& user, Target target, milliseconds within) {
  target_ = std::move(target);
  connect_until_ = Clock::now() + within;
  silence_.reset();
  const Next first = machine_.start(target_.addresses.size(), target_.tls != nullptr);
  use(user);
  return pursue(first) != Next::fail;
}

void Outbound::use(OutboundUser& user) {
  machine_.use();
  user_ = &user;
  ends_output_ = drains_ = tells_sent_ = false;
  wants_input_ = true;
  if (is_open()) wait_for_read();
}

void Outbound::rest(OutboundUser& user, milliseconds at_most) {
  machine_.rest();
  user_ = &user;
  silence_.reset();
  release();
  loop_.set_timer(*this, at_most);
  wait_for_read();
}

void Outbound::close() {
  machine_.close();
  TimerWheel::cancel(*this);
  close_socket();
  transport_ = Transport(-1);
  release();
}

void Outbound::release() {
  loop_.give_back(std::move(in_));
  loop_.give_back(std::move(out_));
}

bool Outbound::looks_alive() const {
  char byte = 0;
  return ::recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

wire::Buffer& Outbound::output() {
  if (out_.capacity() == 0) out_ = loop_.take_buffer();
  return out_;
}

void Outbound::allow_silence(std::optional<milliseconds> silence) {
  silence_ = silence;
  // Until the connection is open, the timer is for connecting.
  if (!is_open()) return;
  if (silence) {
    loop_.set_timer(*this, *silence);
  } else {
    TimerWheel::cancel(*this);
  }
}

void Outbound::finish_within(milliseconds time) {
  silence_.reset();
  loop_.set_timer(*this, time);
}

void Outbound::moved() {
  if (silence_) loop_.set_timer(*this, *silence_);
}

void Outbound::want_input(bool wanted) {
  wants_input_ = wanted;
  if (wanted && is_open()) {
    wait_for_read();
    // epoll does not report bytes that TLS has already read from the socket.
    if (transport_.has_pending()) wait_for_write();
  }
}

void Outbound::end_output() {
  ends_output_ = true;
  flush();
}

void Outbound::flush() {
  if (!is_open()) {
    // The output is written once the connection is open.
    drains_ = drains_ || congested();
    return;
  }
  // The user hears of a failure from the loop, since it is the caller here.
  if (!write()) wait_for_write();
}

void Outbound::send(std::string_view data) {
  if (is_open() && out_.empty()) {
    const Transport::Outcome outcome = transport_.write(data);
    if (machine_.written(outcome) == Next::nothing) {
      data.remove_prefix(outcome.bytes);
      moved();
    }
  }
  if (data.empty()) return;
  output().append(data);
  flush();
}

void Outbound::on_ready() {
  switch (machine_.stage()) {
    case OutboundMachine::Stage::connecting:
      return settle(pursue(machine_.connected(problem_of(socket()))));
    case OutboundMachine::Stage::securing:
      return settle(pursue(Next::take_tls_step));
    case OutboundMachine::Stage::open:
      return transfer();
    case OutboundMachine::Stage::idle: {
      // The peer has closed, or TLS has a message of its own.
      char byte = 0;
      return settle(pursue(machine_.read(transport_.read({&byte, 1}))));
    }
    case OutboundMachine::Stage::closed:
      return;
  }
}

/// Takes all steps that need no user.
Outbound::Next Outbound::pursue(Next next) {
  for (;;) {
    switch (next) {
      case Next::connect:
        next = open_socket();
        break;
      case Next::take_tls_step:
        next = take_tls_step();
        break;
      case Next::wait_for_read:
        wait_for_read();
        return Next::nothing;
      case Next::wait_for_write:
        wait_for_write();
        return Next::nothing;
      case Next::fail:
        TimerWheel::cancel(*this);
        close_socket();
        return next;
      default:
        return next;
    }
  }
}

Outbound::Next Outbound::open_socket() {
  auto started = start_connecting(target_.addresses[machine_.address()]);
  if (auto* const failure = std::get_if<Failure>(&started)) return machine_.connected(std::move(*failure));
  watch(std::get<int>(started), target_.tls ? Trigger::level : Trigger::edge);
  transport_ = Transport(socket());
  const auto left = std::chrono::ceil<milliseconds>(connect_until_ - Clock::now());
  loop_.set_timer(*this, std::max(left / static_cast<int>(machine_.addresses_left()), milliseconds(0)));
  return Next::wait_for_write;
}

Outbound::Next Outbound::take_tls_step() {
  if (!transport_.tls()) {
    TlsConnection tls = connect_tls(target_.tls, socket(), target_.host);
    if (!tls) return machine_.handshaken(Transport::Status::failed, "no memory for it");
    transport_ = Transport(socket(), std::move(tls));
    // The time that connecting has left is for the handshake.
    loop_.set_timer(
        *this, std::max(std::chrono::ceil<milliseconds>(connect_until_ - Clock::now()), milliseconds(0)));
  }
  const Transport::Status status = transport_.handshake().status;
  const bool failed = status == Transport::Status::failed || status == Transport::Status::ended;
  return machine_.handshaken(status, failed ? transport_.handshake_failure() : std::string());
}

/// Calls the user.
void Outbound::settle(Next next) {
  switch (next) {
    case Next::tell_open:
      allow_silence(silence_);
      user_->on_open();
      if (is_open()) transfer();
      return;
    case Next::tell_late:
      return user_->on_late();
    case Next::fail:
      return user_->on_failed(*this, machine_.failure());
    default:
      return;
  }
}

/// Writes the output, then reads.
void Outbound::transfer() {
  if (!out_.empty() || ends_output_) {
    // A server that accepts no more bytes may still have answered: read first.
    if (!write() && !wants_input_) return settle(pursue(machine_.lose()));
    if ((drains_ && !congested()) || (tells_sent_ && out_.empty())) {
      drains_ = false;
      tells_sent_ = tells_sent_ && !out_.empty();
      user_->on_drained();
      if (!is_open()) return;
    }
  }
  if (wants_input_ && read() && wants_input_) wait_for_read();
}

/// Writes until there is nothing left or the socket takes no more. False if it will never take more.
bool Outbound::write() {
  while (!out_.empty()) {
    const Transport::Outcome outcome = transport_.write(out_.view());
    switch (machine_.written(outcome)) {
      case Next::nothing:
        out_.consume(outcome.bytes);
        moved();
        break;
      case Next::wait_for_read:
        drains_ = drains_ || congested();
        wait_for_read();
        return true;
      case Next::wait_for_write:
        drains_ = drains_ || congested();
        all_written();
        wait_for_write();
        return true;
      default:
        return false;
    }
  }
  if (ends_output_) {
    ends_output_ = false;
    transport_.shut_down();
  }
  return true;
}

/// Reads once; with TLS, until the bytes that TLS has buffered are read. False if the connection has closed.
bool Outbound::read() {
  do {
    if (in_.capacity() == 0) in_ = loop_.take_buffer();
    in_.reserve(least_room);
    const std::size_t room = in_.room().size();
    const Transport::Outcome outcome = transport_.read(in_.room());
    if (outcome.bytes < room) all_read();
    const Next next = machine_.read(outcome);
    switch (next) {
      case Next::deliver:
        in_.commit(outcome.bytes);
        moved();
        user_->on_input();
        break;
      case Next::tell_end:
        user_->on_end();
        return false;
      case Next::wait_for_read:
        return true;
      default:
        settle(pursue(next));
        return is_open();
    }
  } while (is_open() && wants_input_ && transport_.has_pending());
  return is_open();
}

}  // namespace weir::net
