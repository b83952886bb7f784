// Where a service is: http://HOST[:PORT][/PREFIX], or https://.
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
  std::string prefix = {};  ///< what a proxy wants before /v1: "/limits"; mostly empty
  std::string text = {};    ///< as it was given, without a "/" at its end; for messages
};

/// The error says what to write instead, and not where the URL came from.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace weir::client
