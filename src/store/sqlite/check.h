// `weir store check` on a file.
#pragma once

#include <string>
#include <vector>

#include "store/finding.h"
#include "weir/clock.h"

namespace weir::sqlite {

/// Reads the whole file; changes nothing. Works while another process owns the file. With a namespace: counts
/// only its records, and describes neither the machine nor the process that owns the file.
std::vector<store::Finding> check(const std::string& path, Time now, const std::string& name_space = {});

}  // namespace weir::sqlite
