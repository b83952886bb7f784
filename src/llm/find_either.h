// Searches for the first of two bytes, which std::string_view::find_first_of() does byte by byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weir::llm {

/// The position of the first `a` or `b` from `from` on; npos if there is none. Both are searched in the same
/// small window, which grows while it is empty: a search over the whole text for a byte that is rare would be
/// repeated for each of the other one. `looked_at`: counts the bytes that are compared; null: not counted.
inline std::size_t find_either(std::string_view text, char a, char b, std::size_t from = 0,
                               std::size_t* looked_at = nullptr) {
  constexpr std::size_t largest_window = 4096;
  for (std::size_t window = 64; from < text.size(); window = std::min(2 * window, largest_window)) {
    const std::string_view part = text.substr(from, window);
    const std::size_t first = part.find(a);
    const std::string_view before = part.substr(0, first);
    const std::size_t second = before.find(b);
    const std::size_t found = std::min(first, second);
    if (looked_at != nullptr) *looked_at += before.size() + std::min(second, before.size());
    if (found != std::string_view::npos) return from + found;
    from += part.size();
  }
  return std::string_view::npos;
}

}  // namespace weir::llm
