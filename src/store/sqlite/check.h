// `weir store check` on a file.
#pragma once

#include <string>
#include <vector>

#include "store/finding.h"
#include "weir/clock.h"

namespace weir::sqlite {

/// Reads the whole file; changes nothing. Works beside the process that owns it.
std::vector<store::Finding> check(const std::string& path, Time now);

}  // namespace weir::sqlite
