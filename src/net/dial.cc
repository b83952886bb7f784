#include "net/dial.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
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

using Kind = HttpFailure::Kind;
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
  if (failed != 0) return HttpFailure{Kind::no_such_host, ::gai_strerror(failed)};
  auto addresses = addresses_of(found);
  ::freeaddrinfo(found);
  return addresses;
}

/// This machine, which needs no lookup (RFC 6761), and has one not everywhere.
bool is_localhost(std::string_view host) { return host == "localhost" || host.ends_with(".localhost"); }

/// A lookup that can be given up: whoever looks up and whoever waits each hold it.
struct Lookup {
  base::Mutex mutex;
  base::Condition wake;
  std::optional<LookedUp> found WEIR_GUARDED_BY(mutex);
};

/// Gives up at the deadline: the system's lookup cannot be ended.
LookedUp look_up(const std::string& host, std::uint16_t port, const Deadline& deadline) {
  const auto lookup = std::make_shared<Lookup>();
  net::look_up(host, port, [lookup](LookedUp found) {
    const base::Guard guard(lookup->mutex);
    lookup->found = std::move(found);
    lookup->wake.notify_one();
  });
  const auto end = std::chrono::steady_clock::now() + milliseconds(deadline.left());
  const base::Guard guard(lookup->mutex);
  while (!lookup->found && lookup->wake.wait_until(lookup->mutex, end)) {
  }
  if (!lookup->found) return HttpFailure{Kind::slow, "the name could not be looked up in time"};
  return *std::move(lookup->found);
}

HttpFailure failure_of(int problem) {
  if (problem == ECONNREFUSED) return {Kind::refused, std::strerror(problem)};
  if (problem == ETIMEDOUT) return {Kind::slow, "no connection in time"};
  return {Kind::unreachable, std::strerror(problem)};
}

/// A connected socket.
std::variant<int, HttpFailure> connect_to(const Address& address, const Deadline& deadline) {
  auto started = start_connecting(address);
  if (std::holds_alternative<HttpFailure>(started)) return started;
  const int socket = std::get<int>(started);
  const std::optional<HttpFailure> problem =
      wait_for_socket(socket, /*to_write=*/true, deadline) ? problem_of(socket) : failure_of(ETIMEDOUT);
  if (!problem) return socket;
  ::close(socket);
  return *problem;
}

}  // namespace

int Deadline::left() const {
  const auto left = std::chrono::ceil<milliseconds>(at_ - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 24 * 3'600'000));
}

bool wait_for_socket(int socket, bool to_write, const Deadline& deadline) {
  pollfd wanted{socket, static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  for (;;) {
    const int left = deadline.left();
    const int ready = ::poll(&wanted, 1, left);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // what is wrong, the next call on the socket will say
    if (left == 0) return false;
  }
}

LookedUp find_addresses(const std::string& host, std::uint16_t port, milliseconds timeout) {
  return look_up(host, port, Deadline(timeout));
}

void look_up(const std::string& host, std::uint16_t port, std::function<void(LookedUp)> done) {
  if (auto literal = Address::parse(host, port)) return done(std::vector<Address>{*literal});
  if (is_localhost(host))
    return done(std::vector<Address>{*Address::parse("127.0.0.1", port), *Address::parse("::1", port)});
  std::thread([host, port, done = std::move(done)] {
    done(look_up_now(host, std::to_string(port)));
  }).detach();
}

std::variant<int, HttpFailure> start_connecting(const Address& address) {
  const int socket = ::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failure_of(errno);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const SocketAddress name = to_socket(address);
  if (::connect(socket, name.pointer(), name.size) == 0 || errno == EINPROGRESS || errno == EINTR)
    return socket;
  const int problem = errno;
  ::close(socket);
  return failure_of(problem);
}

std::optional<HttpFailure> problem_of(int socket) {
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 ? std::nullopt : std::optional(failure_of(problem));
}

std::variant<int, HttpFailure> dial(const std::string& host, std::uint16_t port, milliseconds timeout) {
  const Deadline deadline(timeout);
  auto found = look_up(host, port, deadline);
  if (auto* const failure = std::get_if<HttpFailure>(&found)) return *failure;
  const auto& addresses = std::get<std::vector<Address>>(found);
  HttpFailure last{Kind::no_such_host, "the name has no address"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto share = milliseconds(deadline.left() / static_cast<int>(addresses.size() - i));
    auto connected = connect_to(addresses[i], Deadline(share));
    if (std::holds_alternative<int>(connected)) return connected;
    last = std::get<HttpFailure>(connected);
  }
  return last;
}

}  // namespace weir::net
