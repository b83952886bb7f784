// Addresses of servers as people write them: SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY], and
// HOST:PORT.
//
// Errors suggest the correct form. They show nothing of the URL, which may hold a password; callers add which
// URL it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::wire {

struct HostPort {
  std::string host;  ///< a name, or an address without brackets
  std::uint16_t port = 0;
  /// "127.0.0.1:80", "[::1]:80".
  std::string to_string() const;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

/// HOST:PORT; IPv6 in brackets. Port 0 is allowed.
Result<HostPort> parse_host_port(std::string_view text);

/// A host name by the rules of DNS, or an IPv4 address.
bool is_host_name(std::string_view text);

/// The value of the field Host: without the port if it is the default one.
std::string authority_of(const HostPort& at, bool tls);

struct Url {
  std::string scheme;
  bool has_user = false;  ///< there is an @
  std::string user = {};  ///< this and the next without escapes
  std::string password = {};
  std::string host;
  std::optional<std::uint16_t> port = {};  ///< from 1
  std::string path = {};                   ///< as it was written, from its "/" on, or empty
  std::string query = {};                  ///< as it was written, without its "?"

  /// Of http and https: host and port, with the default port if it names none.
  HostPort at() const { return {host, port.value_or(tls() ? 443 : 80)}; }
  bool tls() const { return scheme == "https"; }
};

Result<Url> parse_url(std::string_view text);

/// http or https, without a user or a password.
Result<Url> parse_http_url(std::string_view text);

}  // namespace weir::wire
