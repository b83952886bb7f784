// Several changes of limits and entities at once: the body of `POST /v1/changes`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "json/parsed.h"
#include "weir/catalog.h"

namespace weir::service {

/// Larger than other bodies: a limits file of 100,000 entities is one change.
inline constexpr std::uint64_t largest_changes_body = maxima::changes_body;
inline constexpr std::size_t most_changes = maxima::changes;

/// `{"changes":[{"change":"limits.set","level","entity"?,"resource"?,"limits":{...},...},...]}`. A mistake
/// names the change that it is in, counted from 1.
json::Parsed<std::vector<CatalogChange>> parse_changes(std::string_view json);

}  // namespace weir::service
