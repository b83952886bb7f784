// How a client is told that it is over its limits, in the words that it asked for.
#pragma once

#include <string>
#include <string_view>

#include "server/problem.h"
#include "weir/decision.h"

namespace weir::gateway {

/// Whether text suits the client better than JSON, by what its Accept says. Without one, JSON it is.
bool prefers_text(std::string_view accept);

/// 429 with Retry-After, and a body that says which limits were exceeded and when to try again. Nothing of
/// who else shares them. RateLimit fields are the caller's.
void write_refusal(server::Reply& reply, const Decision& refused, std::string_view accept);

/// Any other answer of the gateway's own: problem+json, or its detail as text.
server::Reply own_answer(int status, std::string_view type, std::string_view detail, std::string_view accept);

}  // namespace weir::gateway
