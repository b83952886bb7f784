#include "server/foreign_page.h"

#include "base/text.h"
#include "net/address.h"
#include "server/start.h"
#include "wire/http_chars.h"

namespace weir::server {
namespace {

using wire::http::same_name;

/// The host of HOST[:PORT], without the brackets of an IPv6 address.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

/// Whether no browser can have been led here by that name. Browsers always send one.
bool is_own_name(std::string_view authority) {
  const std::string_view host = host_of(authority);
  if (authority.empty() || same_name(host, "localhost")) return true;
  const auto address = net::Address::parse(host, 0);
  return address && is_loopback(*address);
}

bool is_origin_of(std::string_view origin, std::string_view authority) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme) && same_name(origin.substr(scheme.size()), authority)) return true;
  }
  return false;
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
      base::join("without tokens weir answers only as localhost or as a loopback address, and the Host "
                 "here is ",
                 base::quoted(request.host()),
                 "; send Host: localhost, or start weir with --tokens FILE (a gateway: admin_tokens)"));
}

}  // namespace weir::server
