#include "gateway/upstream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "net/socket_address.h"

namespace weir::gateway {
namespace {

using net::Transport;

/// Less room than this is not worth a system call.
constexpr std::size_t least_room = 4096;

// After so many failures in a row an upstream is left alone for so long, if there are others.
constexpr unsigned most_failures = 2;
constexpr std::chrono::seconds left_alone{10};

struct Opened {
  int socket = -1;
  bool connected = false;
};

Opened open_socket(const net::Address& address) {
  const int socket = ::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return {};
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const net::SocketAddress name = net::to_socket(address);
  if (::connect(socket, name.pointer(), name.size) == 0) return {socket, true};
  if (errno == EINPROGRESS) return {socket, false};
  ::close(socket);
  return {};
}

}  // namespace

UpstreamConnection::UpstreamConnection(Pool& pool, int socket, net::TlsConnection tls, bool connected)
    : Watched(pool.graveyard_.thread().readiness(), socket, tls ? Told::as_long_as : Told::once),
      pool_(pool),
      transport_(socket, std::move(tls)),
      stage_(!connected         ? Stage::connecting
             : transport_.tls() ? Stage::handshake
                                : Stage::open) {}

UpstreamConnection::~UpstreamConnection() = default;

wire::Buffer& UpstreamConnection::output() {
  if (out_.capacity() == 0) out_ = pool_.graveyard_.thread().take_buffer();
  return out_;
}

void UpstreamConnection::begin(UpstreamUser& user) {
  user_ = &user;
  sent_ = received_ = ends_output_ = drains_ = false;
  wants_input_ = true;
  if (stage_ == Stage::open) return wait_for_read();
  wait_for_write();
}

/// Between two requests: whatever it says is a reason to close it.
void UpstreamConnection::rest() {
  user_ = nullptr;
  ++served_;
  wants_input_ = true;
  silence_.reset();
  net::Loop& thread = pool_.graveyard_.thread();
  thread.give_back(std::move(in_));
  thread.give_back(std::move(out_));
  thread.set_timer(*this, Pool::longest_idle);
  wait_for_read();
}

void UpstreamConnection::close() {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closed;
  user_ = nullptr;
  net::TimerWheel::cancel(*this);
  close_socket();
  net::Loop& thread = pool_.graveyard_.thread();
  thread.give_back(std::move(in_));
  thread.give_back(std::move(out_));
}

bool UpstreamConnection::looks_alive() const {
  char byte = 0;
  return ::recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void UpstreamConnection::allow_silence(std::optional<std::chrono::milliseconds> silence) {
  silence_ = silence;
  // Until it is open, the timer is for that.
  if (stage_ != Stage::open) return;
  if (silence) {
    pool_.graveyard_.thread().set_timer(*this, *silence);
  } else {
    net::TimerWheel::cancel(*this);
  }
}

void UpstreamConnection::opened() {
  stage_ = Stage::open;
  allow_silence(silence_);
}

void UpstreamConnection::moved() {
  if (silence_) pool_.graveyard_.thread().set_timer(*this, *silence_);
}

void UpstreamConnection::want_input(bool wanted) {
  wants_input_ = wanted;
  if (wanted && stage_ == Stage::open) {
    wait_for_read();
    // No event tells of bytes that TLS has read already.
    if (transport_.has_pending()) wait_for_write();
  }
}

void UpstreamConnection::end_output() {
  ends_output_ = true;
  flush();
}

void UpstreamConnection::flush() {
  if (stage_ != Stage::open) return;
  // What is broken is told from the loop, since the caller is in the middle of something.
  if (!write()) wait_for_write();
}

void UpstreamConnection::send(std::string_view data) {
  if (stage_ == Stage::open && out_.empty()) {
    const Transport::Outcome outcome = transport_.write(data);
    if (outcome.status == Transport::Status::done) {
      sent_ = true;
      data.remove_prefix(outcome.bytes);
      moved();
    }
  }
  if (data.empty()) return;
  output().append(data);
  flush();
}

/// Writes until there is nothing left or the socket takes no more. False if the connection is broken.
bool UpstreamConnection::write() {
  while (!out_.empty()) {
    const Transport::Outcome outcome = transport_.write(out_.view());
    switch (outcome.status) {
      case Transport::Status::done:
        sent_ = true;
        out_.consume(outcome.bytes);
        moved();
        break;
      case Transport::Status::needs_read:
        drains_ = drains_ || congested();
        wait_for_read();
        return true;
      case Transport::Status::needs_write:
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

/// Reads once; with TLS, as long as bytes are left of what was read from the socket. False if it was let go
/// of.
bool UpstreamConnection::read() {
  do {
    if (in_.capacity() == 0) in_ = pool_.graveyard_.thread().take_buffer();
    in_.reserve(least_room);
    const std::size_t room = in_.room().size();
    const Transport::Outcome outcome = transport_.read(in_.room());
    if (outcome.bytes < room) all_read();
    switch (outcome.status) {
      case Transport::Status::done:
        in_.commit(outcome.bytes);
        received_ = true;
        moved();
        user_->on_input();
        break;
      case Transport::Status::needs_read:
        return true;
      case Transport::Status::needs_write:
        wait_for_write();
        return true;
      case Transport::Status::ended:
        broken(Broken::ended);
        return false;
      case Transport::Status::failed:
        broken(Broken::lost);
        return false;
    }
  } while (user_ != nullptr && wants_input_ && transport_.has_pending());
  return user_ != nullptr;
}

bool UpstreamConnection::connect() {
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) {
    broken(Broken::refused);
    return false;
  }
  if (transport_.tls()) {
    stage_ = Stage::handshake;
  } else {
    opened();
  }
  return true;
}

/// False if it cannot go on for now.
bool UpstreamConnection::shake_hands() {
  switch (transport_.handshake().status) {
    case Transport::Status::needs_read:
      wait_for_read();
      return false;
    case Transport::Status::needs_write:
      wait_for_write();
      return false;
    case Transport::Status::done:
      opened();
      return true;
    default:
      broken(Broken::refused);
      return false;
  }
}

void UpstreamConnection::drive() {
  if (stage_ == Stage::closed) return;
  if (user_ == nullptr) {
    // It was idle, and the other end has closed it or says what nobody asked for.
    return pool_.drop(*this);
  }
  if (stage_ != Stage::open) {
    if (stage_ == Stage::connecting && !connect()) return;
    if (stage_ == Stage::handshake && !shake_hands()) return;
    user_->on_open();
    if (user_ == nullptr || stage_ == Stage::closed) return;
  }
  if (!out_.empty() || ends_output_) {
    // An upstream that takes no more may still have answered: that is read first.
    if (!write() && !wants_input_) return broken(Broken::lost);
    if (drains_ && !congested()) {
      drains_ = false;
      user_->on_drained();
      if (user_ == nullptr || stage_ == Stage::closed) return;
    }
  }
  if (!wants_input_) return;
  if (!read()) return;
  if (wants_input_ && stage_ == Stage::open) wait_for_read();
}

void UpstreamConnection::on_deadline() {
  if (user_ == nullptr) return pool_.drop(*this);
  if (silence_ || stage_ != Stage::open) broken(Broken::slow);
}

void UpstreamConnection::broken(Broken why) {
  if (user_ != nullptr) user_->on_broken(why);
}

void Graveyard::take(std::unique_ptr<UpstreamConnection> connection) {
  // Its own members may still be on the stack, and events of it may have been taken from the system already.
  if (dead_.empty() && !closed_)
    thread_.defer([this] { clear(); });
  dead_.push_back(std::move(connection));
}

Pool::~Pool() {
  for (auto* const list : {&idle_, &busy_}) {
    for (auto& connection : *list) {
      connection->close();
      graveyard_.take(std::move(connection));
    }
  }
}

void Pool::add(List& list, std::unique_ptr<UpstreamConnection> connection) {
  connection->place_ = list.size();
  list.push_back(std::move(connection));
}

std::unique_ptr<UpstreamConnection> Pool::release(UpstreamConnection& connection) {
  List& list = connection.idle_ ? idle_ : busy_;
  const std::size_t place = connection.place_;
  if (place >= list.size() || list[place].get() != &connection) return nullptr;
  std::unique_ptr<UpstreamConnection> taken = std::move(list[place]);
  if (place + 1 != list.size()) {
    list[place] = std::move(list.back());
    list[place]->place_ = place;
  }
  list.pop_back();
  connection.idle_ = false;
  return taken;
}

UpstreamConnection* Pool::take(UpstreamUser& user) {
  if (idle_.empty()) return nullptr;
  // The last one that was used: the others may go unused for long enough to be closed.
  UpstreamConnection& taken = *idle_.back();
  add(busy_, release(taken));
  taken.begin(user);
  return &taken;
}

UpstreamConnection* Pool::connect(UpstreamUser& user, std::chrono::milliseconds timeout) {
  const std::vector<net::Address> addresses = server_->addresses();
  if (addresses.empty()) return nullptr;
  const Opened opened = open_socket(addresses[next_address_ % addresses.size()]);
  if (opened.socket < 0) {
    failed();
    return nullptr;
  }
  net::TlsConnection tls;
  if (server_->tls()) {
    tls = net::connect_tls(server_->tls(), opened.socket, server_->url().at.host);
    if (!tls) {
      ::close(opened.socket);
      return nullptr;
    }
  }
  add(busy_, std::make_unique<UpstreamConnection>(*this, opened.socket, std::move(tls), opened.connected));
  UpstreamConnection& made = *busy_.back();
  made.begin(user);
  if (made.stage_ != UpstreamConnection::Stage::open) graveyard_.thread().set_timer(made, timeout);
  return &made;
}

void Pool::keep(UpstreamConnection& connection) {
  auto kept = release(connection);
  if (kept == nullptr) return;
  if (idle_.size() >= most_idle) {
    kept->close();
    return graveyard_.take(std::move(kept));
  }
  kept->rest();
  kept->idle_ = true;
  add(idle_, std::move(kept));
}

void Pool::drop(UpstreamConnection& connection) {
  auto dropped = release(connection);
  if (dropped == nullptr) return;
  dropped->close();
  graveyard_.take(std::move(dropped));
}

void Pool::failed() {
  ++next_address_;
  if (++failures_ < most_failures) return;
  failures_ = 0;
  down_until_ = std::chrono::steady_clock::now() + left_alone;
}

bool Pool::healthy() const {
  return down_until_ == std::chrono::steady_clock::time_point{} ||
         std::chrono::steady_clock::now() >= down_until_;
}

}  // namespace weir::gateway
