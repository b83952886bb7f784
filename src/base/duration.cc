#include "base/duration.h"

#include <algorithm>

#include "base/text.h"

namespace weir::base {

std::optional<std::int64_t> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t length;
  };
  constexpr Unit units[] = {{"ms", 1},         {"s", 1000},         {"sec", 1000},
                            {"min", 60'000},   {"h", 3'600'000},    {"hour", 3'600'000},
                            {"d", 86'400'000}, {"day", 86'400'000}, {"days", 86'400'000}};
  constexpr std::int64_t longest = std::int64_t{100} * 365 * 86'400'000;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = parse_digits(text.substr(0, digits));
  for (const Unit& unit : units) {
    if (count && text.substr(digits) == unit.name && *count >= 1 && *count <= longest / unit.length)
      return *count * unit.length;
  }
  return std::nullopt;
}

}  // namespace weir::base
