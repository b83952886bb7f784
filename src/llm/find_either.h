// Searches for the first of two bytes, which std::string_view::find_first_of() does byte by byte.
#pragma once

#include <algorithm>
#include <string_view>

namespace weir::llm {

/// The position of the first `a` or `b` from `from` on; npos if there is none. Fast where `a` is the more
/// frequent one.
inline std::size_t find_either(std::string_view text, char a, char b, std::size_t from = 0) {
  const std::size_t first = text.find(a, from);
  return std::min(first, text.substr(0, first).find(b, from));
}

}  // namespace weir::llm
