// A limit as the shortest exact text.
#pragma once

#include <span>
#include <string>

#include "weir/limit.h"

namespace weir::limits {

/// "100/min", "5/10s:8", "100/day", "10:concurrent"; the long form as JSON where the short form cannot
/// express it. Reading the text with Limit::parse gives the same limit.
std::string to_text(const Limit& limit);

/// "rpm 100/min, tpm 50000/min:60000".
std::string to_text(std::span<const NamedLimit> limits);

}  // namespace weir::limits
