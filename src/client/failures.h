// Turns failed exchanges into errors with advice. Pure.
#pragma once

#include <string>

#include "net/http_client.h"
#include "weir/result.h"

namespace weir::client {

/// The request, for messages.
struct Asked {
  std::string server;           ///< its URL
  std::string path;             ///< "/v1/limits"
  std::string token_source;     ///< where the token came from: "WEIR_TOKEN"; empty: none was sent
  std::string timeout;          ///< in words: "30 s"
  bool changes_things = false;  ///< so a retry may apply it twice
  bool has_ca_file = false;
};

/// There was no answer.
Error error_of(const net::HttpFailure& failure, const Asked& asked);
/// The answer is an error: a problem of the service, or an answer of another server.
Error error_of(const net::HttpAnswer& answer, const Asked& asked);
/// The answer is a success, but not from weir.
Error not_weir(const net::HttpAnswer& answer, const Asked& asked);

}  // namespace weir::client
