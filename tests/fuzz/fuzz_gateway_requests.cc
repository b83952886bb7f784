// The parts of a request that decide which limits apply to it: its path, its forwarding fields and the
// client's name. No spelling of a path avoids a route, no field turns a value into an address, and each
// address is read as it is written.
#include <cstdlib>
#include <string>
#include <string_view>

#include "gateway/client.h"
#include "gateway/networks.h"
#include "gateway/request_path.h"
#include "gateway/route_table.h"
#include "limits/names.h"

namespace {

using namespace weir;
using namespace weir::gateway;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_below(std::string_view path, std::string_view route) {
  return path.starts_with(route) && (path.size() == route.size() || path[route.size()] == '/');
}

void check_path(std::string_view path) {
  static const RouteTable routes({{.name = "all", .path = "/"}, {.name = "admin", .path = "/admin"}});
  if (!path.starts_with('/')) return;
  PathForms forms;
  forms.set(path);
  require(forms.raw() == path && (!is_plain(path) || forms.canonical() == path));
  const std::string canonical(forms.canonical());
  require(canonical.starts_with('/') && canonical.find('\\') == std::string::npos);
  require(is_hopeless(forms.trouble()) || canonical.find("//") == std::string::npos || forms.is_plain());
  const RouteTable::Match match = routes.find("example.com", forms);
  require(match.route <= 1);
  if (!match.refused.empty()) return;
  require(is_below(canonical, "/admin") == (match.route == 1));
  require(is_below(forms.without_parameters(), "/admin") == (match.route == 1));
  require(!is_below(path, "/admin") || match.route == 1);
  PathForms again;
  again.set(canonical);
  require(again.canonical() == canonical);
}

void check_addresses(std::string_view text) {
  if (const auto address = parse_forwarded(text)) {
    const auto again = parse_forwarded(address->host());
    require(again && *again == *address);
    require(plain(*address) == *address);
  }
  if (const auto network = Network::parse(text)) {
    require(network->has(network->first) && masked(network->first, network->bits) == network->first);
    const auto again = Network::parse(network->first.host() + "/" + std::to_string(network->bits));
    require(again && *again == *network);
  }
}

void check_client(const wire::http::RequestHead& head) {
  Networks trusted;
  trusted.add(*Network::parse("10.0.0.0/8"));
  const net::Address proxy = *net::Address::parse("10.0.0.1", 80);
  const net::Address stranger = *net::Address::parse("192.0.2.1", 80);
  const Origin direct = origin_of(stranger, head.fields(), trusted);
  require(!direct.trusted && direct.client.host() == "192.0.2.1");
  const Origin forwarded = origin_of(proxy, head.fields(), trusted);
  require(forwarded.trusted && forwarded.client.port == 0);
  PathForms forms;
  forms.set(head.path());
  std::string entity;
  for (const LimitBy& by :
       {LimitBy{.kind = LimitBy::Kind::client_ip}, LimitBy{.kind = LimitBy::Kind::client_net},
        LimitBy{.kind = LimitBy::Kind::bearer}, LimitBy{.kind = LimitBy::Kind::header, .header = "x-key"},
        LimitBy{.kind = LimitBy::Kind::path, .segment = 1}}) {
    const RouteSettings route{.name = "all", .path = "/", .limit_by = by};
    (void)hidden_client(by, head);
    name_client(entity, route, direct, head, forms);
    require(limits::check_entity(entity).ok());
    require(!entity.starts_with("ip:") || entity == "ip:192.0.2.1");
    name_client(entity, route, forwarded, head, forms);
    require(limits::check_entity(entity).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_path(bytes);
  check_addresses(bytes);
  wire::http::RequestParser parser(wire::http::Limits{});
  wire::http::RequestHead head;
  const std::string whole = "GET " + bytes;
  for (const std::string_view request : {std::string_view(bytes), std::string_view(whole)}) {
    parser.clear();
    head.clear();
    if (parser.parse(request, head) == wire::http::Progress::complete) check_client(head);
  }
  return 0;
}
