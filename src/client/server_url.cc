#include "client/server_url.h"

#include <algorithm>

#include "base/text.h"
#include "net/address.h"

namespace weir::client {
namespace {

using base::invalid;

Error wrong(std::string_view text, std::string_view why) { return invalid(base::quoted(text), ": ", why); }

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

bool is_path_char(char c) {
  return is_host_char(c) || std::string_view("/~!$&'()*+,;=:@%").find(c) != std::string_view::npos;
}

/// "host", "host:8080", "[::1]:8080".
Result<void> read_authority(std::string_view text, std::string_view authority, ServerUrl& url) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    url.host = authority.substr(1, end == std::string_view::npos ? end : end - 1);
    const auto address = net::Address::parse(url.host, 0);
    if (end == std::string_view::npos || !address || !address->v6)
      return wrong(text, "what is in brackets must be an IPv6 address, such as [::1]");
    port = authority.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return wrong(text, "a port follows as :8080");
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    if (authority.find(':', colon + 1) != std::string_view::npos && colon < authority.size())
      return wrong(text, "write an IPv6 address in brackets, such as http://[::1]:8080");
    url.host = authority.substr(0, colon);
    port = authority.substr(colon);
    if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), is_host_char))
      return wrong(text, "it names no host; write http://HOST:PORT");
  }
  if (port.empty()) return {};
  const auto number = base::parse_digits(port.substr(1));
  if (!number || *number < 1 || *number > 65535) return wrong(text, "a port is 1 to 65535");
  url.port = static_cast<std::uint16_t>(*number);
  return {};
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  constexpr std::string_view http = "http://", https = "https://";
  ServerUrl url;
  std::string_view rest = text;
  while (rest.ends_with('/') && !rest.ends_with("://")) rest.remove_suffix(1);
  url.text = rest;
  if (rest.starts_with(https)) {
    url.tls = true;
    url.port = 443;
  } else if (!rest.starts_with(http)) {
    const bool scheme = rest.find("://") != std::string_view::npos || rest.starts_with("sqlite:");
    return wrong(text, scheme ? std::string("a service is reached by http:// or https://")
                              : base::join("begin with http:// or https://, such as http://",
                                           rest.empty() ? "127.0.0.1:8080" : rest));
  }
  rest.remove_prefix(url.tls ? https.size() : http.size());
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong(text, "leave out what follows ? or #");
  const std::string_view authority = rest.substr(0, rest.find('/'));
  // Not shown: it may be a secret.
  if (authority.find('@') != std::string_view::npos)
    return invalid("a URL must not have a user or a password in it; put the token in WEIR_TOKEN");
  if (auto read = read_authority(text, authority, url); !read) return read.error();
  url.prefix = rest.substr(authority.size());
  if (!std::all_of(url.prefix.begin(), url.prefix.end(), is_path_char))
    return wrong(text, "its path has a character that must be escaped");
  if (url.prefix == "/v1" || url.prefix.ends_with("/v1")) return wrong(text, "leave out the /v1 at its end");
  return url;
}

}  // namespace weir::client
