// Usage as the JSON of the HTTP API, which the command line prints too. Pure functions.
#pragma once

#include <span>
#include <string>

#include "weir/usage.h"

namespace weir::api {

/// `{"entity","resource","window","start","limits":{"rpm":12},"events"}`.
std::string to_json(const Usage& usage);
/// `{"entity","resource"?,"limits","events","series":[...]}`.
std::string to_json(const UsageTotal& total);
/// `{"usage":[],"top":[...]}`.
std::string to_json(std::span<const UsageTotal> top);

}  // namespace weir::api
