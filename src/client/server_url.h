// The URL of a service: http://HOST[:PORT][/PREFIX], or https://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::client {

struct ServerUrl {
  bool tls = false;
  std::string host;  ///< a name, or an address without brackets
  std::uint16_t port = 80;
  std::string prefix = {};  ///< the prefix of a proxy before /v1: "/limits"; usually empty
  std::string text = {};    ///< as it was given, without a "/" at its end; for messages
};

/// The error suggests the correct form; it does not name the source of the URL.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace weir::client
