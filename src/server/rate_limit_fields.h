// RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers) of a decision.
#pragma once

#include <string>

#include "weir/decision.h"

namespace weir::server {

/// Appends both fields as whole lines: one item per name of a limit, the tightest in the chain.
///
///     RateLimit-Policy: "rpm";q=100;w=60, "tpm";q=50000;w=60;weir-unit="tokens"
///     RateLimit: "rpm";r=12;t=31, "tpm";r=48000;t=0
void append_rate_limit_fields(std::string& fields, const LimitReport& report);

/// Appends Weir-Would-Refuse, with the names of the limits in shadow mode that would have refused. Requires
/// one.
void append_names_that_would_refuse(std::string& fields, const LimitReport& report);
/// The same; nothing if none would.
inline void append_would_refuse(std::string& fields, const LimitReport& report) {
  if (report.would_refuse()) [[unlikely]]
    append_names_that_would_refuse(fields, report);
}

/// Appends Retry-After (whole seconds, rounded up) and retry-after-ms, unless the request never fits or no
/// wait is known.
void append_retry_after(std::string& fields, const Decision& refused);

}  // namespace weir::server
