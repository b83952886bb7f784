// Where a page of usage ends, as the text of its cursor.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "weir/result.h"
#include "weir/usage.h"

namespace weir::usage {

/// The last row of a page: its start and, in a page of one entity, its resource, otherwise its entity.
struct Position {
  Time start = -1;
  std::string name = {};  ///< empty: before the first row
};

/// "1700000000000|gpt-4".
std::string cursor_of(const Position& position);
/// An empty cursor is the position before the first row.
Result<Position> read_cursor(std::string_view cursor);

/// The position of a row. `of_entity`: the page has rows of one entity.
Position position_of(const Usage& row, bool of_entity);
/// Whether a row comes after the position, in the order of store::UsageReader.
bool is_after(const Usage& row, const Position& position, bool of_entity);

}  // namespace weir::usage
