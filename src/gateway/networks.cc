#include "gateway/networks.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace weir::gateway {
namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

unsigned size_of(const net::Address& address) { return address.v6 ? 128 : 32; }

std::optional<net::Address> parse_address(std::string_view text) {
  // The longest text of an address; longer ones are refused without a copy.
  constexpr std::size_t longest = 45;
  if (text.empty() || text.size() > longest) return std::nullopt;
  auto parsed = net::Address::parse(text, 0);
  if (!parsed) return std::nullopt;
  return plain(*parsed);
}

bool is_port(std::string_view text) {
  const auto number = base::parse_digits(text);
  return number && *number <= 65535;
}

}  // namespace

net::Address plain(net::Address address) {
  if (!address.v6 || !std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin()))
    return address;
  net::Address v4;
  std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
  v4.port = address.port;
  return v4;
}

net::Address masked(net::Address address, unsigned bits) {
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned kept = bits > i * 8 ? std::min(bits - i * 8, 8U) : 0;
    address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] & (0xff00U >> kept));
  }
  return address;
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network{*address, size_of(*address)};
  if (slash != std::string_view::npos) {
    const auto bits = base::parse_digits(text.substr(slash + 1));
    if (!bits || *bits > size_of(*address)) return std::nullopt;
    network.bits = static_cast<unsigned>(*bits);
  }
  if (masked(*address, network.bits) != *address) return std::nullopt;
  return network;
}

bool Network::has(const net::Address& address) const {
  if (address.v6 != first.v6) return false;
  const unsigned whole = bits / 8;
  if (!std::equal(first.bytes.begin(), first.bytes.begin() + whole, address.bytes.begin())) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((first.bytes[whole] ^ address.bytes[whole]) & (0xff00U >> rest) & 0xffU) == 0;
}

bool Networks::have(const net::Address& address) const {
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const Network& network) { return network.has(address); });
}

std::optional<net::Address> parse_forwarded(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view behind = text.substr(end + 1);
    if (!behind.empty() && (behind[0] != ':' || !is_port(behind.substr(1)))) return std::nullopt;
    return parse_address(text.substr(1, end - 1));
  }
  const std::size_t colon = text.find(':');
  // One colon is before a port; more are in an IPv6 address.
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    if (!is_port(text.substr(colon + 1))) return std::nullopt;
    text = text.substr(0, colon);
  }
  return parse_address(text);
}

}  // namespace weir::gateway
