// Which route a request takes: by host, then by the longest path that it is at or below.
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

  /// The index of the route; none. `host` may have a port, which does not count. The path is compared as a
  /// server would read it, with escapes decoded and "." and ".." resolved, so that no way of writing it slips
  /// past a route. Routes for the host go before routes for any.
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

/// Decodes escapes of everything that may stand in a path as it is, resolves "." and "..", and makes several
/// slashes one. For comparing only.
std::string normalized_path(std::string_view path);

}  // namespace weir::gateway
