#include "net/dial.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.h"
#include "net/socket_address.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;
using std::chrono::milliseconds;

/// A lookup that can be given up: whoever looks up and whoever waits each hold it.
struct Lookup {
  std::string host, port;
  std::mutex mutex;
  std::condition_variable wake;
  // Of the mutex, once it is there.
  std::optional<int> failed;
  std::vector<Address> addresses;
};

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

void look_up(const std::shared_ptr<Lookup>& lookup) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(lookup->host.c_str(), lookup->port.c_str(), &hints, &found);
  const std::scoped_lock lock(lookup->mutex);
  if (failed == 0) lookup->addresses = addresses_of(found);
  if (failed == 0) ::freeaddrinfo(found);
  lookup->failed = failed;
  lookup->wake.notify_one();
}

/// This machine, which needs no lookup (RFC 6761), and has one not everywhere.
bool is_localhost(std::string_view host) { return host == "localhost" || host.ends_with(".localhost"); }

/// On a thread of its own, which is left behind at the deadline: the system's lookup cannot be ended.
std::variant<std::vector<Address>, HttpFailure> look_up(const std::string& host, std::uint16_t port,
                                                        const Deadline& deadline) {
  if (auto literal = Address::parse(host, port)) return std::vector<Address>{*literal};
  if (is_localhost(host))
    return std::vector<Address>{*Address::parse("127.0.0.1", port), *Address::parse("::1", port)};
  const auto lookup = std::make_shared<Lookup>();
  lookup->host = host;
  lookup->port = std::to_string(port);
  std::thread([lookup] { look_up(lookup); }).detach();
  std::unique_lock lock(lookup->mutex);
  lookup->wake.wait_for(lock, milliseconds(deadline.left()), [&] { return lookup->failed.has_value(); });
  if (!lookup->failed) return HttpFailure{Kind::slow, "the name could not be looked up in time"};
  if (*lookup->failed != 0) return HttpFailure{Kind::no_such_host, ::gai_strerror(*lookup->failed)};
  return lookup->addresses;
}

HttpFailure failure_of(int problem) {
  if (problem == ECONNREFUSED) return {Kind::refused, std::strerror(problem)};
  if (problem == ETIMEDOUT) return {Kind::slow, "no connection in time"};
  return {Kind::unreachable, std::strerror(problem)};
}

/// A connected socket, or the number of the error.
std::variant<int, HttpFailure> connect_to(const Address& address, const Deadline& deadline) {
  const int socket = ::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failure_of(errno);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const SocketAddress name = to_socket(address);
  int problem = ::connect(socket, name.pointer(), name.size) == 0 ? 0 : errno;
  if (problem == EINPROGRESS || problem == EINTR) {
    problem = ETIMEDOUT;
    socklen_t size = sizeof problem;
    if (wait_for_socket(socket, /*to_write=*/true, deadline))
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size);
  }
  if (problem == 0) return socket;
  ::close(socket);
  return failure_of(problem);
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

std::variant<std::vector<Address>, HttpFailure> find_addresses(const std::string& host, std::uint16_t port,
                                                               milliseconds timeout) {
  return look_up(host, port, Deadline(timeout));
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
