#include "net/dial.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "base/lock.h"
#include "base/text.h"
#include "net/socket_address.h"

namespace weir::net {
namespace {

using Kind = Failure::Kind;
using std::chrono::milliseconds;

std::vector<Address> addresses_of(const addrinfo* found) {
  std::vector<Address> addresses;
  for (; found != nullptr; found = found->ai_next) {
    SocketAddress address;
    std::memcpy(&address.storage, found->ai_addr, std::min<std::size_t>(found->ai_addrlen, address.size));
    address.size = found->ai_addrlen;
    addresses.push_back(from_socket(address));
  }
  return addresses;
}

LookedUp look_up_now(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return Failure{Kind::no_such_host, ::gai_strerror(failed)};
  auto addresses = addresses_of(found);
  ::freeaddrinfo(found);
  return addresses;
}

/// localhost needs no lookup (RFC 6761), and not every system resolves it.
bool is_localhost(std::string_view host) { return host == "localhost" || host.ends_with(".localhost"); }

/// A lookup that the caller can abandon: the resolving thread and the waiting caller share it.
struct Lookup {
  base::Mutex mutex;
  base::Condition wake;
  std::optional<LookedUp> found WEIR_GUARDED_BY(mutex);
};

Failure failure_of(int problem) {
  if (problem == ECONNREFUSED) return {Kind::refused, std::strerror(problem)};
  if (problem == ETIMEDOUT) return {Kind::slow, "no connection in time"};
  return {Kind::unreachable, std::strerror(problem)};
}

}  // namespace

LookedUp find_addresses(const std::string& host, std::uint16_t port, milliseconds timeout) {
  const auto lookup = std::make_shared<Lookup>();
  look_up(host, port, [lookup](LookedUp found) {
    const base::Guard guard(lookup->mutex);
    lookup->found = std::move(found);
    lookup->wake.notify_one();
  });
  const auto end = std::chrono::steady_clock::now() + timeout;
  const base::Guard guard(lookup->mutex);
  while (!lookup->found && lookup->wake.wait_until(lookup->mutex, end)) {
  }
  // getaddrinfo() cannot be cancelled; its thread runs on and the result is dropped.
  if (!lookup->found) return Failure{Kind::slow, "the name could not be looked up in time"};
  return *std::move(lookup->found);
}

void look_up(const std::string& host, std::uint16_t port, std::function<void(LookedUp)> done) {
  if (auto literal = Address::parse(host, port)) return done(std::vector<Address>{*literal});
  if (is_localhost(host))
    return done(std::vector<Address>{*Address::parse("127.0.0.1", port), *Address::parse("::1", port)});
  std::thread([host, port, done = std::move(done)] {
    done(look_up_now(host, std::to_string(port)));
  }).detach();
}

std::variant<int, Failure> start_connecting(const Address& address) {
  const int socket = ::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failure_of(errno);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const SocketAddress name = to_socket(address);
  if (::connect(socket, name.pointer(), name.size) == 0 || errno == EINPROGRESS || errno == EINTR)
    return socket;
  const int problem = errno;
  ::close(socket);
  return failure_of(problem);
}

std::optional<Failure> problem_of(int socket) {
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 ? std::nullopt : std::optional(failure_of(problem));
}

}  // namespace weir::net
