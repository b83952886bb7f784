// The body of an acquire as nearly all clients write it, read without a JSON parser.
#pragma once

#include <string_view>

#include "service/bodies.h"

namespace weir::service {

/// Reads `{"entity":"...","resource":"...","consume":{"...":N,...}}`: texts of printable ASCII without
/// escapes, amounts in plain digits, each name once. False, with `body` in any state, for everything else,
/// right or wrong: then the whole parser has to say. What is read here reads the same there.
bool read_plain_acquire(std::string_view json, AcquireBody& body);

}  // namespace weir::service
