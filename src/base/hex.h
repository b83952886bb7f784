// Bytes and numbers as hex digits, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::base {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// The value of a digit, upper or lower case; nothing if it is no hex digit.
constexpr std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

/// Sixteen digits.
std::string hex(std::uint64_t number);
std::string hex(std::span<const unsigned char> bytes);
std::string hex(std::string_view bytes);
/// The bytes; nothing if the text is anything but pairs of digits.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace weir::base
