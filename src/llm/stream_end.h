// The end of a stream that is cut because a limit is exhausted, in the vendor's own form.
#pragma once

#include <string>
#include <string_view>

#include "llm/endpoint.h"

namespace weir::llm {

/// Whole events that tell the client that the answer ends early: its output reached a limit of tokens.
std::string stream_end(Api api, std::string_view model);

}  // namespace weir::llm
