// `s3://BUCKET[/PREFIX][?region=..&endpoint=..&style=path|host&cacert=..&insecure=true&deadline_ms=..]`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "aws/s3_client.h"

namespace weir::sync {

struct S3Url {
  std::string bucket;
  std::string prefix = {};                     ///< without escapes, and without "/" at its ends
  std::string region = {};                     ///< empty: by the environment
  std::string endpoint = {};                   ///< empty: by the environment, or AWS's own
  std::optional<aws::S3Style> style = {};      ///< nothing: path with an endpoint, else host
  std::string ca_file = {};                    ///< empty: the CA certificates of the system
  bool insecure = false;                       ///< allows an endpoint on another machine without TLS
  std::chrono::milliseconds deadline{30'000};  ///< of one read or publish, with all its attempts
};

/// Errors say what to write, and show nothing that may be a password.
Result<S3Url> parse_s3_url(std::string_view text);

/// The options of the client, with what the environment adds.
Result<aws::S3Options> s3_options(const S3Url& url, const aws::Environment& machine);

}  // namespace weir::sync
