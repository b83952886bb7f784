#include "usage/position.h"

#include <tuple>

#include "base/text.h"

namespace weir::usage {

std::string cursor_of(const Position& position) {
  return base::join(std::to_string(position.start), "|", position.name);
}

Result<Position> read_cursor(std::string_view cursor) {
  if (cursor.empty()) return Position();
  const std::size_t bar = cursor.find('|');
  const auto start = base::parse_digits(cursor.substr(0, bar));
  if (bar == std::string_view::npos || !start || bar + 1 == cursor.size())
    return base::invalid("this cursor is not one of a page of usage; repeat the query without a cursor");
  return Position{*start, std::string(cursor.substr(bar + 1))};
}

Position position_of(const Usage& row, bool of_entity) {
  return {row.start, of_entity ? row.resource : row.entity};
}

bool is_after(const Usage& row, const Position& position, bool of_entity) {
  if (of_entity) return std::tie(row.resource, row.start) > std::tie(position.name, position.start);
  return std::tie(row.start, row.entity) > std::tie(position.start, position.name);
}

}  // namespace weir::usage
