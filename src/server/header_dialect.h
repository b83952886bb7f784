// The header fields that tell a client what is left of its limits, in the forms that clients know.
#pragma once

#include <cstdint>
#include <string>

#include "weir/clock.h"
#include "weir/decision.h"

namespace weir::server {

/// A form of the fields. `ietf` is in rate_limit_fields.h.
enum class Dialect : std::uint8_t {
  ietf,       ///< RateLimit, RateLimit-Policy
  openai,     ///< x-ratelimit-remaining-tokens: 1500, x-ratelimit-reset-tokens: 6m0s
  anthropic,  ///< anthropic-ratelimit-tokens-remaining: 1500, ...-reset: 2026-11-18T10:00:00Z
  x,          ///< X-RateLimit-Remaining: 12, X-RateLimit-Reset: 31
};

/// Appends the fields of a decision in this form; those of OpenAI and Anthropic beside the ones of the IETF,
/// which say more. `now`: for fields that have a moment.
void append_dialect(std::string& fields, Dialect dialect, const LimitReport& report, Time now);

/// Appends the fields of a refusal: Retry-After and retry-after-ms, and for clients of OpenAI and Anthropic
/// x-should-retry: false where waiting is pointless.
void append_refusal(std::string& fields, Dialect dialect, const Decision& refused);

// One file for each.
void append_openai_fields(std::string& fields, const LimitReport& report);
void append_anthropic_fields(std::string& fields, const LimitReport& report, Time now);
void append_x_fields(std::string& fields, const LimitReport& report);

/// "12ms", "1.5s" or "6m0s", as Go writes a duration.
std::string go_duration(std::chrono::milliseconds duration);

}  // namespace weir::server
