#include "server/foreign_page.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "net/address.h"
#include "wire/http_chars.h"

namespace weir::server {
namespace {

using wire::http::same_name;

bool is_address(std::string_view host, bool v6) {
  const auto address = net::Address::parse(host, 0);
  return address && address->v6 == v6;
}

/// Such names are looked up nowhere.
bool is_below_localhost(std::string_view name) {
  constexpr std::string_view end = ".localhost";
  return name.size() > end.size() && same_name(name.substr(name.size() - end.size()), end);
}

/// Whether no page can have made a browser send that Host to this machine. For that its owner needs a public
/// name, which leads here once the page is there (DNS rebinding): an address leads nowhere else, and a name
/// without a dot, such as "localhost", cannot be registered. Browsers always send a host.
bool is_own_name(std::string_view authority) {
  if (authority.empty()) return true;
  if (authority.starts_with('[')) return is_address(authority.substr(1, authority.find(']') - 1), true);
  const std::string_view host = authority.substr(0, authority.find(':'));
  if (host.find('.') == std::string_view::npos) return !host.empty();
  return is_address(host, false) || is_below_localhost(host);
}

bool is_origin_of(std::string_view origin, std::string_view authority) {
  constexpr std::array<std::string_view, 2> schemes{"http://", "https://"};
  return std::any_of(schemes.begin(), schemes.end(), [&](std::string_view scheme) {
    return origin.starts_with(scheme) && same_name(origin.substr(scheme.size()), authority);
  });
}

/// Whether a field says that a page of another site sends the request.
bool names_another_site(const wire::http::RequestHead& request, Callers callers) {
  bool named = false;
  bool forwarded = false;
  for (std::size_t i = 0; i < request.fields().size(); ++i) {
    const auto [name, value] = request.fields()[i];
    if (same_name(name, "sec-fetch-site")) named = named || (value != "same-origin" && value != "none");
    if (same_name(name, "origin")) named = named || !is_origin_of(value, request.host());
    // No page can set it on a request to another site: a browser would ask weir first, and weir does not
    // agree.
    forwarded = forwarded || same_name(name, "x-forwarded-for");
  }
  return named && !(forwarded && callers.proxies);
}

}  // namespace

std::optional<Reply> refuse_foreign_page(const wire::http::RequestHead& request, Callers callers) {
  if (names_another_site(request, callers))
    return problem(
        403, "forbidden",
        "a web page of another site asks for this, and no tokens are required here; to allow it, start "
        "weir with --tokens FILE (a gateway: admin_tokens) and send one");
  if (callers.any_host || is_own_name(request.host())) return std::nullopt;
  return problem(
      403, "forbidden",
      base::join("without tokens weir answers to no name that a web page may have, and the Host here is ",
                 base::quoted(request.host()),
                 "; send localhost, an address or a name without a dot as Host, or start weir with --tokens "
                 "FILE (a gateway: admin_tokens)"));
}

}  // namespace weir::server
