// Base64 (RFC 4648): with padding (section 4), and for URLs without it (section 5). Decoding is strict: each
// byte string has exactly one encoding, and any other text decodes to nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::base {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

void append_base64url(std::string& text, std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace weir::base
