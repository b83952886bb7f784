// What the gateway reads in a request to a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/deciding.h"
#include "llm/endpoint.h"

namespace weir::llm {

struct CallRequest {
  std::string model = {};
  std::optional<std::int64_t> max_output = {};  ///< tokens that the client allows, for all choices together
  bool streams = false;
  bool asks_for_usage = false;  ///< of a chat stream
  /// The value of stream_options in the body; empty: there is none.
  std::size_t options_at = 0;
  std::size_t options_size = 0;
  SeenMembers seen = {};  ///< of those that decide what is charged
};

/// Reads the body of a call, or the begin of one (`whole` is false), as far as it goes. A member that decides
/// what is charged and stands twice, or in another case, makes it unreadable: programs differ in which one
/// they take.
std::optional<Unreadable> read_request(const Endpoint& endpoint, std::string_view body, bool whole,
                                       CallRequest& request);

/// Changes the body so that a chat stream ends with its usage.
void ask_for_usage(std::string& body, const CallRequest& request);

}  // namespace weir::llm
