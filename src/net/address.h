// Addresses of peers and listeners, as values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::net {

/// An IPv4 or IPv6 address with a port.
struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< in network order; of an IPv4 address the first four
  std::uint16_t port = 0;
  bool v6 = false;
  std::uint32_t scope = 0;  ///< the interface of a link-local IPv6 address

  /// A literal such as "127.0.0.1" or "::1". Names are not looked up.
  static Result<Address> parse(std::string_view host, std::uint16_t port);
  /// "127.0.0.1" or "::1".
  std::string host() const;
  void append_host(std::string& text) const;
  /// "127.0.0.1:80" or "[::1]:80".
  std::string to_string() const;

  friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace weir::net
