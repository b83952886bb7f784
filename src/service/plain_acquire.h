// The body of an acquire as nearly all clients write it, read without a JSON parser.
#pragma once

#include <string_view>

#include "service/bodies.h"

namespace weir::service {

/// Reads `{"entity":"...","resource":"...","consume":{"...":N,...}}`: texts of printable ASCII without
/// escapes, amounts in plain digits, each name once. False, with `body` in any state, for all other bodies,
/// valid or not: the full parser decides those. For bodies accepted here the full parser gives the same
/// result.
bool read_plain_acquire(std::string_view json, AcquireBody& body);

}  // namespace weir::service
