// Networks such as 10.0.0.0/8, and parsing of untrusted addresses.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace weir::gateway {

/// Addresses with a common prefix. An IPv4-mapped IPv6 address (::ffff:1.2.3.4) counts as the IPv4 address.
struct Network {
  net::Address first;
  unsigned bits = 0;

  /// "10.0.0.0/8", "2001:db8::/32", or an address alone; nothing if it is malformed, or if bits after the
  /// prefix are set.
  static std::optional<Network> parse(std::string_view text);
  bool has(const net::Address& address) const;
  friend bool operator==(const Network&, const Network&) = default;
};

class Networks {
 public:
  void add(const Network& network) { networks_.push_back(network); }
  bool empty() const { return networks_.empty(); }
  bool have(const net::Address& address) const;
  friend bool operator==(const Networks&, const Networks&) = default;

 private:
  std::vector<Network> networks_;
};

/// The same address; an IPv4-mapped one as IPv4.
net::Address plain(net::Address address);
/// The address with all but the first `bits` cleared.
net::Address masked(net::Address address, unsigned bits);
/// One element of X-Forwarded-For: an address, maybe in brackets, maybe with a port. Without a name lookup.
std::optional<net::Address> parse_forwarded(std::string_view text);

}  // namespace weir::gateway
