#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

#include "base/text.h"
#include "net/socket_address.h"

namespace weir::net {

Result<Address> Address::parse(std::string_view host, std::uint16_t port) {
  const std::string text(host);
  Address address;
  address.port = port;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  return base::invalid("address ", base::quoted(host), " is not an IPv4 or IPv6 address");
}

std::string Address::host() const {
  std::string text;
  append_host(text);
  return text;
}

void Address::append_host(std::string& text) const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (v6) {
    text += inet_ntop(AF_INET6, bytes.data(), buffer.data(), buffer.size());
    return;
  }
  // inet_ntop() formats IPv4 by sprintf(), which a gateway would pay on each request.
  char* end = std::to_chars(buffer.begin(), buffer.end(), bytes[0]).ptr;
  for (std::size_t i = 1; i < 4; ++i) {
    *end++ = '.';
    end = std::to_chars(end, buffer.end(), bytes[i]).ptr;
  }
  text.append(buffer.data(), end);
}

std::string Address::to_string() const {
  const std::string number = std::to_string(port);
  return v6 ? base::join("[", host(), "]:", number) : base::join(host(), ":", number);
}

SocketAddress to_socket(const Address& address) {
  SocketAddress result;
  if (address.v6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    to.sin6_scope_id = address.scope;
    std::memcpy(&to.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&result.storage, &to, sizeof to);
    result.size = sizeof to;
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    std::memcpy(&to.sin_addr, address.bytes.data(), 4);
    std::memcpy(&result.storage, &to, sizeof to);
    result.size = sizeof to;
  }
  return result;
}

Address from_socket(const SocketAddress& address) {
  Address result;
  if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 from{};
    std::memcpy(&from, &address.storage, sizeof from);
    result.v6 = true;
    result.port = ntohs(from.sin6_port);
    result.scope = from.sin6_scope_id;
    std::memcpy(result.bytes.data(), &from.sin6_addr, 16);
  } else if (address.storage.ss_family == AF_INET) {
    sockaddr_in from{};
    std::memcpy(&from, &address.storage, sizeof from);
    result.port = ntohs(from.sin_port);
    std::memcpy(result.bytes.data(), &from.sin_addr, 4);
  }
  return result;
}

}  // namespace weir::net
