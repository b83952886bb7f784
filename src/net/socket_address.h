// Addresses as the system's calls know them.
#pragma once

#include <sys/socket.h>

#include "net/address.h"

namespace weir::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* pointer() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket(const Address& address);
Address from_socket(const SocketAddress& address);

}  // namespace weir::net
