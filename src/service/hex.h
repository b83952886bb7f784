// Bytes as hex digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

std::string to_hex(std::string_view bytes);
/// Digits in either case; nothing if the text is anything else.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace weir::service
