#include "wire/url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"
#include "wire/http_text.h"

namespace weir::wire {
namespace {

using base::invalid;

constexpr std::string_view separator = "://";

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

bool is_v6(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &ignored) == 1;
}

/// "host", "host:8080", "[::1]:8080". `scheme` is for the messages.
Result<void> read_authority(std::string_view text, std::string_view scheme, std::int64_t least_port,
                            std::string& host, std::optional<std::uint16_t>& port) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    host = text.substr(1, end == std::string_view::npos ? end : end - 1);
    if (end == std::string_view::npos || !is_v6(host))
      return invalid("what is in brackets must be an IPv6 address, such as [::1]");
    rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return invalid("a port follows as :8080");
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos)
      return invalid("write an IPv6 address in brackets, such as ", scheme, "[::1]:8080");
    if (!is_host_name(host)) return invalid("it names no host; write ", scheme, "HOST:PORT");
  }
  if (rest.empty()) return {};
  const auto number = base::parse_digits(rest.substr(1));
  if (!number || *number < least_port || *number > 65'535)
    return invalid("a port is ", std::to_string(least_port), " to 65535");
  port = static_cast<std::uint16_t>(*number);
  return {};
}

Result<void> read_user(std::string_view text, Url& url) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  url.has_user = true;
  if (!http::percent_decode(text.substr(0, colon), url.user) ||
      !http::percent_decode(text.substr(std::min(colon + 1, text.size())), url.password))
    return invalid("the user or the password has a broken % escape");
  return {};
}

}  // namespace

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), is_host_char);
}

std::string HostPort::to_string() const {
  const bool v6 = host.find(':') != std::string::npos;
  return base::join(v6 ? "[" : "", host, v6 ? "]:" : ":", std::to_string(port));
}

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort at;
  std::optional<std::uint16_t> port;
  if (auto read = read_authority(text, "", 0, at.host, port); !read) return read.error();
  if (!port) return invalid("a port follows as :8080");
  at.port = *port;
  return at;
}

std::string authority_of(const HostPort& at, bool tls) {
  std::string text = at.to_string();
  if (at.port == (tls ? 443 : 80)) text.resize(text.rfind(':'));
  return text;
}

Result<Url> parse_url(std::string_view text) {
  const std::size_t colon = text.find(separator);
  if (colon == std::string_view::npos || colon == 0) return invalid("begin with a scheme, such as http://");
  Url url;
  url.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + separator.size());
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  url.path = rest.substr(0, rest.find('?'));
  url.query = rest.substr(std::min(url.path.size() + 1, rest.size()));
  if (url.path.find('#') != std::string::npos) return invalid("it must not have a fragment; write # as %23");
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (auto read = read_user(authority.substr(0, at), url); !read) return read.error();
    authority.remove_prefix(at + 1);
  }
  const std::string_view scheme = text.substr(0, colon + separator.size());
  if (auto read = read_authority(authority, scheme, 1, url.host, url.port); !read) return read.error();
  return url;
}

Result<Url> parse_http_url(std::string_view text) {
  if (!text.starts_with("http://") && !text.starts_with("https://"))
    return invalid("write http://HOST:PORT or https://HOST:PORT");
  auto url = parse_url(text);
  if (url && url->has_user) return invalid("it must not have a user or a password in it");
  return url;
}

}  // namespace weir::wire
