// Errors in the form that the client of a vendor reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/endpoint.h"

namespace weir::llm {

struct ErrorText {
  int status = 429;
  std::string_view message;
  std::string_view code = {};  ///< OpenAI's, for programs; empty: the usual one of the status
  std::optional<long long> retry_after_ms = {};
  std::string_view decision = {};  ///< the id of the refusal in the decision log; empty: none
};

/// A JSON body.
std::string error_body(Vendor vendor, const ErrorText& error);

}  // namespace weir::llm
