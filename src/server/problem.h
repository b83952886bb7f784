// Errors in the format of the API: problem+json (RFC 9457) with a status.
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::server {

/// A whole answer of the API, before it is written.
struct Reply {
  int status = 200;
  std::string body = {};
  std::string_view content_type = "application/json";
  std::string fields = {};  ///< further header fields, as whole lines
};

int status_of(ErrorCode code);

/// `type` is a word such as "unknown-limit"; empty: the status is enough.
/// `decision`: the id that explains it; empty: none.
Reply problem(int status, std::string_view type, std::string_view detail, std::string_view decision = {});
Reply problem(const Error& error, std::string_view decision = {});

}  // namespace weir::server
