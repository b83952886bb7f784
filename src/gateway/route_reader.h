// Reads a route from the YAML tree of a gateway's file.
#pragma once

#include <cstdint>
#include <optional>

#include "config/mapping.h"
#include "gateway/gateway_file.h"

namespace weir::gateway {

inline constexpr const char* route_example =
    "{path: /api, upstream: \"http://127.0.0.1:9000\", limits: {rpm: 100/min}}";

/// A policy while the store is unavailable, of the file or of a route.
std::optional<OnUnavailable> read_policy(config::MappingReader& in, std::uint32_t id,
                                         const config::Subject& subject);

/// Nothing where the route cannot be used; the reason is then among the problems of `in`, which reads `tree`.
std::optional<RouteSettings> read_route(const config::YamlTree& tree, config::MappingReader& in,
                                        std::uint32_t id);

}  // namespace weir::gateway
