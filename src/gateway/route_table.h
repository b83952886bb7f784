// Finds the route of a request: by host, then by the longest matching path prefix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/gateway_file.h"

namespace weir::gateway {

/// Immutable; safe to use from any thread.
class RouteTable {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  explicit RouteTable(const std::vector<RouteSettings>& routes);

  /// The index of the route, or none. A port in `host` is ignored. The path is normalized first, with escapes
  /// decoded and "." and ".." resolved, so that no spelling of it bypasses a route. Routes with a host win
  /// over those without.
  std::size_t find(std::string_view host, std::string_view path) const;

 private:
  struct Entry {
    std::string host;
    std::string path;
    std::size_t index;
  };
  std::vector<Entry> entries_;  ///< those with a host first, then the longest path first
  bool has_hosts_ = false;      ///< some routes are for one host only
};

/// Decodes escapes that are not needed, resolves "." and "..", and collapses slashes. For comparison only.
std::string normalized_path(std::string_view path);

}  // namespace weir::gateway
