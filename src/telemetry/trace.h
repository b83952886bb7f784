// The header `traceparent` of W3C Trace Context.
#pragma once

#include <string_view>

namespace weir::telemetry {

/// The trace id of a traceparent, 32 hex digits as part of the text; empty if it is malformed and must be
/// ignored.
std::string_view trace_id_of(std::string_view traceparent);

}  // namespace weir::telemetry
