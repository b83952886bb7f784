// Cursors of usage: several texts in one.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::limiter {

/// The parts with their lengths, after a letter that tells one kind of cursor from another.
std::string make_usage_cursor(char kind, std::initializer_list<std::string_view> parts);
/// The parts of a cursor of that kind; empty texts if there is no cursor yet.
Result<std::vector<std::string>> read_usage_cursor(char kind, std::size_t count, std::string_view cursor);

}  // namespace weir::limiter
