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

#include "base/text.h"
#include "net/socket_address.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;
using std::chrono::milliseconds;

/// A lookup that can be given up. What the system still writes to must then live on.
struct Lookup {
  std::string host, port;
  addrinfo hints{};
  gaicb request{};
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

std::variant<std::vector<Address>, HttpFailure> look_up(const std::string& host, std::uint16_t port,
                                                        const Deadline& deadline) {
  if (auto literal = Address::parse(host, port)) return std::vector<Address>{*literal};
  auto lookup = std::make_unique<Lookup>();
  lookup->host = host;
  lookup->port = std::to_string(port);
  lookup->hints.ai_socktype = SOCK_STREAM;
  lookup->request = {.ar_name = lookup->host.c_str(),
                     .ar_service = lookup->port.c_str(),
                     .ar_request = &lookup->hints,
                     .ar_result = nullptr};
  gaicb* list[] = {&lookup->request};
  if (const int failed = ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr); failed != 0)
    return HttpFailure{Kind::no_such_host, ::gai_strerror(failed)};
  int state = EAI_INPROGRESS;
  while ((state = ::gai_error(&lookup->request)) == EAI_INPROGRESS && !deadline.passed()) {
    const int left = deadline.left();
    const timespec patience{left / 1000, static_cast<long>(left % 1000) * 1'000'000};
    ::gai_suspend(list, 1, &patience);
  }
  if (state == EAI_INPROGRESS) {
    if (::gai_cancel(&lookup->request) != EAI_CANCELED) static_cast<void>(lookup.release());
    return HttpFailure{Kind::slow, "the name could not be looked up in time"};
  }
  if (state != 0) return HttpFailure{Kind::no_such_host, ::gai_strerror(state)};
  auto addresses = addresses_of(lookup->request.ar_result);
  ::freeaddrinfo(lookup->request.ar_result);
  return addresses;
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
