// From an exchange that went wrong to an error that says what to do. Pure.
#pragma once

#include <string>

#include "net/http_client.h"
#include "weir/result.h"

namespace weir::client {

/// What was asked of whom.
struct Asked {
  std::string server;           ///< its URL
  std::string path;             ///< "/v1/limits"
  std::string token_source;     ///< where the token came from: "WEIR_TOKEN"; empty: none was sent
  std::string timeout;          ///< in words: "30 s"
  bool changes_things = false;  ///< and so must not be repeated blindly
  bool has_ca_file = false;
};

/// There was no answer.
Error error_of(const net::HttpFailure& failure, const Asked& asked);
/// There was one, and it is not what was asked for: a problem that the service tells, or something that is
/// not the service.
Error error_of(const net::HttpAnswer& answer, const Asked& asked);
/// It succeeded, but it is no answer of weir's.
Error not_weir(const net::HttpAnswer& answer, const Asked& asked);

}  // namespace weir::client
