// Small helpers for reading and writing text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::base {

/// Concatenates the parts; all messages are built with it.
template <class... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  text.reserve((std::string_view(parts).size() + ...));
  (text.append(std::string_view(parts)), ...);
  return text;
}

/// The text in quotes, shortened and with control characters shown as '?', for use in messages.
std::string quoted(std::string_view text);

/// The position of the first byte that is not part of well-formed UTF-8; nothing if there is none.
std::optional<std::size_t> find_not_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) { return !find_not_utf8(text); }

/// A decimal integer without sign, leading "+" or spaces; nothing if it is anything else or too large.
std::optional<std::int64_t> parse_digits(std::string_view text);

/// "on" or "off"; and the inverse, which returns nothing for any other word.
constexpr const char* on_or_off(bool value) { return value ? "on" : "off"; }
constexpr std::optional<bool> parse_on_or_off(std::string_view word) {
  return word == "on" || word == "off" ? std::optional(word == "on") : std::nullopt;
}

/// The candidate nearest to `word`, at most three typing mistakes away (fewer for short words); empty: none.
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);
/// `; did you mean "limits"?`, to end a message with; empty where no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// An error whose message is the joined parts.
template <class... Parts>
Error error(ErrorCode code, const Parts&... parts) {
  return Error{code, join(parts...)};
}
template <class... Parts>
Error invalid(const Parts&... parts) {
  return error(ErrorCode::invalid_argument, parts...);
}

}  // namespace weir::base
