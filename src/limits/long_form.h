// The long form of a limit as JSON: one flat object.
#pragma once

#include <string_view>

#include "weir/limit.h"

namespace weir::limits {

/// Reads `{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000}`. Refuses unknown
/// and repeated fields. Numbers are read as decimal text, so that thousandths stay exact.
Result<Limit> parse_long_form(std::string_view json);

}  // namespace weir::limits
