// Reading the limits of one level from a YAML tree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/mapping.h"
#include "weir/limit.h"

namespace weir::config {

/// The mode of a limit, a level or a route; enforce where `id` is 0. A wrong word is reported as a problem.
Mode read_mode(MappingReader& in, std::uint32_t id, const Subject& subject);

/// Whether usage is counted: on or off. Nothing where `id` is 0. A wrong word is reported as a problem.
std::optional<bool> read_usage(MappingReader& in, std::uint32_t id, const Subject& subject);

/// The limits, short form or long, sorted by name. A wrong limit is reported as a problem and left out.
std::vector<NamedLimit> read_limits(MappingReader& in, std::uint32_t id, const Subject& subject);

}  // namespace weir::config
