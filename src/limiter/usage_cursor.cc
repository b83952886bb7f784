#include "limiter/usage_cursor.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limiter {

std::string make_usage_cursor(char kind, std::initializer_list<std::string_view> parts) {
  std::string cursor(1, kind);
  for (const std::string_view part : parts) cursor += base::join(std::to_string(part.size()), ":", part);
  return cursor;
}

Result<std::vector<std::string>> read_usage_cursor(char kind, std::size_t count, std::string_view cursor) {
  std::vector<std::string> parts;
  if (cursor.empty()) {
    parts.resize(count);
    return parts;
  }
  const auto wrong = [] { return base::invalid("cursor must be what the page before returned as the next"); };
  if (cursor.front() != kind) return wrong();
  cursor.remove_prefix(1);
  while (!cursor.empty()) {
    const std::size_t colon = std::min(cursor.find(':'), cursor.size());
    const auto length = base::parse_digits(cursor.substr(0, colon));
    cursor.remove_prefix(std::min(colon + 1, cursor.size()));
    if (!length || static_cast<std::size_t>(*length) > cursor.size()) return wrong();
    parts.emplace_back(cursor.substr(0, static_cast<std::size_t>(*length)));
    cursor.remove_prefix(static_cast<std::size_t>(*length));
  }
  if (parts.size() != count) return wrong();
  return parts;
}

}  // namespace weir::limiter
