// Reads every record of a Redis store, for `weir store check`.
#pragma once

#include <vector>

#include "store/finding.h"
#include "store/redis/context.h"

namespace weir::redis {

/// Adds a finding for each record that cannot be used.
void check_records(Context& context, std::vector<store::Finding>& findings);

}  // namespace weir::redis
