#include "base/text.h"

#include <charconv>

namespace weir::base {

std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  out += text.size() > shown ? "...\"" : "\"";
  return out;
}

std::optional<std::int64_t> parse_digits(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace weir::base
