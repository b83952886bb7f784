// The answers to refused requests, as JSON or text by the client's Accept.
#pragma once

#include <string>
#include <string_view>

#include "server/problem.h"
#include "weir/decision.h"

namespace weir::gateway {

/// Whether the Accept field prefers text to JSON. False without one.
bool prefers_text(std::string_view accept);

/// 429 with Retry-After, and a body with the exceeded limits and the wait. Reveals nothing about other
/// entities of the chain. The caller adds the RateLimit fields. `decision`: the id that explains it; empty:
/// none.
void write_refusal(server::Reply& reply, const Decision& refused, std::string_view accept,
                   std::string_view decision = {});

/// The same in words: "over the limit tpm; retry in 1200 ms".
std::string refusal_detail(const Decision& refused);

/// Any other answer of the gateway's own: problem+json, or its detail as text.
server::Reply own_answer(int status, std::string_view type, std::string_view detail, std::string_view accept);

}  // namespace weir::gateway
