// Networks of addresses, as in 10.0.0.0/8, and reading addresses from text that others wrote.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace weir::gateway {

/// Addresses whose first bits are the same. An IPv4 address that came in IPv6's clothes (::ffff:1.2.3.4) is
/// the IPv4 address.
struct Network {
  net::Address first;
  unsigned bits = 0;

  /// "10.0.0.0/8", "2001:db8::/32", or an address alone; nothing if it is anything else, or if bits behind
  /// the prefix are set.
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

/// The same address; IPv4 in IPv6's clothes as IPv4.
net::Address plain(net::Address address);
/// With all but the first bits cleared.
net::Address masked(net::Address address, unsigned bits);
/// One element of X-Forwarded-For: an address, maybe in brackets, maybe with a port. Without a name lookup.
std::optional<net::Address> parse_forwarded(std::string_view text);

}  // namespace weir::gateway
