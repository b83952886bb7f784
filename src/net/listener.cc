#include "net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "net/socket_address.h"
#include "net/worker.h"

namespace weir::net {
namespace {

void enable(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof on);
}

/// The error of the last system call. Closes the socket.
Error system_error(std::string_view what, const Address& address, int socket) {
  const int problem = errno;
  if (socket >= 0) ::close(socket);
  return base::error(ErrorCode::unavailable, "cannot ", what, " ", address.to_string(), ": ",
                     std::generic_category().message(problem));
}

/// Errors of a single connection, which is gone; the listener is unaffected.
bool is_passing(int error) {
  return error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM;
}

}  // namespace

Result<ListenSocket> ListenSocket::open(const Address& address, bool reuse_port) {
  const int family = address.v6 ? AF_INET6 : AF_INET;
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return system_error("open a socket for", address, socket);
  enable(socket, SOL_SOCKET, SO_REUSEADDR);
  if (reuse_port) enable(socket, SOL_SOCKET, SO_REUSEPORT);
  // Lets one process listen on 0.0.0.0 and on ::.
  if (address.v6) enable(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  SocketAddress name = to_socket(address);
  if (::bind(socket, name.pointer(), name.size) != 0 || ::listen(socket, SOMAXCONN) != 0)
    return system_error("listen on", address, socket);
  name.size = sizeof name.storage;
  ::getsockname(socket, name.pointer(), &name.size);
  return ListenSocket{socket, from_socket(name)};
}

Listener::Listener(Worker& worker, int socket, bool tls, std::vector<Worker*> targets, Counters& counters)
    : Watched(worker.readiness(), socket),
      worker_(worker),
      tls_(tls),
      targets_(std::move(targets)),
      counters_(counters) {}

void Listener::on_ready() {
  // Bounded, so that a flood of new connections does not starve the open ones.
  constexpr int turn = 64;
  if (accept_some(turn)) return wait_for_read();
  // Out of descriptors or memory: retrying at once would spin.
  worker_.set_ticks(*this, 2);
}

void Listener::stop() {
  if (socket() < 0) return;
  constexpr int everything = 1 << 20;
  accept_some(everything);
  close_socket();
  TimerWheel::cancel(*this);
}

bool Listener::accept_some(int most) {
  for (int i = 0; i < most; ++i) {
    SocketAddress peer;
    const int accepted = ::accept4(socket(), peer.pointer(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) {
      place(accepted, from_socket(peer));
    } else if (errno == EAGAIN) {
      return true;
    } else if (!is_passing(errno)) {
      return false;
    }
  }
  return true;
}

void Listener::place(int socket, const Address& peer) {
  const ServerOptions& options = worker_.options();
  const bool room = counters_.open.fetch_add(1, std::memory_order_relaxed) < options.max_connections;
  if (!room ||
      (worker_.counts(peer) && !counters_.by_address.take(peer, options.max_connections_per_address))) {
    counters_.open.fetch_sub(1, std::memory_order_relaxed);
    counters_.refused.fetch_add(1, std::memory_order_relaxed);
    return refuse(socket);
  }
  counters_.accepted.fetch_add(1, std::memory_order_relaxed);
  // Answers are written whole, so Nagle's algorithm would only delay them.
  enable(socket, IPPROTO_TCP, TCP_NODELAY);
  Worker& target = *targets_[turn_++ % targets_.size()];
  if (&target == &worker_) return target.adopt(socket, peer, tls_);
  target.Loop::post([&target, socket, peer, tls = tls_] { target.adopt(socket, peer, tls); });
}

void Listener::refuse(int socket) const {
  constexpr std::string_view answer =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
  if (!tls_) ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
  ::close(socket);
}

}  // namespace weir::net
