// Base64 with padding (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::wire {

std::string base64_encode(std::string_view bytes);
/// Nothing if it is not well-formed.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace weir::wire
