// Gateway files. Reading ends for all bytes. In a file that is read, the path of each route finds a route; an
// error begins with the name of the file.
#include <cstdlib>
#include <string_view>

#include "gateway/gateway_file.h"
#include "gateway/route_table.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir::gateway;
  const auto settings = read_gateway_file({reinterpret_cast<const char*>(data), size}, "f");
  if (!settings) {
    if (!settings.error().message.starts_with("f:")) std::abort();
    return 0;
  }
  if (settings->routes.empty()) std::abort();
  const RouteTable table(settings->routes);
  for (std::size_t i = 0; i < settings->routes.size(); ++i) {
    const RouteSettings& route = settings->routes[i];
    if (route.upstreams.empty() || route.name.empty()) std::abort();
    // Only another route that takes case or parameters for the same may stand before it.
    PathForms path;
    path.set(route.path);
    const RouteTable::Match match = table.find(route.host, path);
    if (match.route == RouteTable::none) std::abort();
    if (path.is_plain() && match.refused.empty() && match.route != i &&
        settings->routes[match.route].path.size() < route.path.size())
      std::abort();
  }
  return 0;
}
