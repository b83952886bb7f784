// Finds the route of a request: by host, then by the longest matching path prefix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/gateway_file.h"
#include "gateway/request_path.h"

namespace weir::gateway {

/// Immutable; safe to use from any thread.
class RouteTable {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  struct Match {
    std::size_t route = none;
    /// Why the request is refused: its path leads elsewhere if it is read otherwise. Empty: it is not.
    std::string_view refused = {};
    bool rewrite = false;  ///< forward the canonical form of the path
  };

  explicit RouteTable(const std::vector<RouteSettings>& routes);

  /// A port in `host` is ignored. Routes with a host win over those without. The canonical form of the path
  /// chooses the route; the path as it was sent and its loosest reading must lead to the same one, so that no
  /// spelling bypasses a route.
  Match find(std::string_view host, const PathForms& path) const;

 private:
  struct Entry {
    std::string host;
    std::string path;
    std::size_t index;
    PathRule paths;
    PathRespect path_case;
    PathRespect path_parameters;
    bool calls_models;
  };
  /// How far a path is normalized before it is compared.
  enum class MatchMode : unsigned char { raw, canonical, loosest };

  static std::string_view why_unclear_call(const Entry& entry, const PathForms& path);
  const Entry* find(std::string_view host_name, const PathForms& path, MatchMode reading) const;

  std::vector<Entry> entries_;  ///< those with a host first, then the longest path first
  bool has_hosts_ = false;      ///< some routes are for one host only
  bool all_plain_ = true;       ///< the paths of all routes are plain, so that a plain path has one reading
};

}  // namespace weir::gateway
