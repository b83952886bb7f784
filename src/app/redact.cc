// URLs of stores without their passwords. Written for URLs that are wrong as well: those are the ones that
// end up in messages. In doubt more is hidden than needed.
#include <algorithm>
#include <array>

#include "app/store_url.h"
#include "base/text.h"
#include "wire/http_chars.h"

namespace weir::app {
namespace {

constexpr std::size_t none = std::string_view::npos;
constexpr std::string_view hidden = "***";

bool begins_with(std::string_view text, std::string_view start) {
  return wire::http::same_name(text.substr(0, start.size()), start);
}

bool all_digits(std::string_view text) { return !text.empty() && base::parse_digits(text).has_value(); }

/// Where the scheme ends, with its slashes; 0: there is none.
std::size_t end_of_scheme(std::string_view url) {
  const std::size_t first = url.find_first_of("@/?#:");
  if (first != none && url.substr(first).starts_with("://")) return first + 3;
  for (const std::string_view scheme : {"redis:", "rediss:", "dynamodb:"}) {
    if (begins_with(url, scheme)) return std::min(url.find_first_not_of('/', scheme.size()), url.size());
  }
  return 0;
}

/// The first `:`, and the last `@`, of a text; also as escapes.
std::size_t first_colon(std::string_view text) {
  return std::min({text.find(':'), text.find("%3A"), text.find("%3a")});
}
std::size_t last_at(std::string_view text) {
  const std::size_t plain = text.rfind('@');
  const std::size_t escaped = text.rfind("%40");
  if (plain == none || escaped == none) return std::min(plain, escaped);
  return std::max(plain, escaped);
}

/// HOST, HOST:PORT or [ADDRESS]:PORT.
bool is_host_and_port(std::string_view authority) {
  if (authority.starts_with('[')) return true;
  const std::size_t colon = first_colon(authority);
  if (colon == none) return true;
  const std::string_view port = authority.substr(colon + 1);
  return port.size() <= 5 && all_digits(port);
}

/// HOST:PORT/DATABASE?..., where an @ in the query belongs to a parameter.
bool names_a_database(std::string_view rest) {
  const std::size_t slash = rest.find('/');
  if (slash == none || last_at(rest.substr(0, slash)) != none || !is_host_and_port(rest.substr(0, slash)))
    return false;
  return all_digits(rest.substr(slash + 1, rest.find('?', slash) - slash - 1));
}

/// Hides the values of parameters that look like passwords.
std::string without_secrets(std::string_view text) {
  constexpr std::array<std::string_view, 7> secrets = {"password", "pass",  "passwd", "pwd",
                                                       "auth",     "token", "secret"};
  const std::size_t question = text.find('?');
  std::string shown(text.substr(0, question));
  if (question == none) return shown;
  text.remove_prefix(question);
  while (!text.empty()) {
    const std::string_view parameter = text.substr(0, text.find('&', 1));
    text.remove_prefix(parameter.size());
    const std::size_t equals = parameter.find('=');
    const bool secret = equals != none && std::any_of(secrets.begin(), secrets.end(), [&](auto name) {
                          return wire::http::same_name(parameter.substr(1, equals - 1), name);
                        });
    shown += secret ? base::join(parameter.substr(0, equals + 1), hidden) : std::string(parameter);
  }
  return shown;
}

}  // namespace

std::string without_password(std::string_view url) {
  if (begins_with(url, "sqlite:") || begins_with(url, "memory")) return std::string(url);
  const std::size_t start = end_of_scheme(url);
  const std::string_view scheme = url.substr(0, start);
  const std::string_view rest = url.substr(start);
  const std::size_t at = last_at(rest);
  if (at != none && !names_a_database(rest)) {
    const std::size_t colon = first_colon(rest.substr(0, at));
    const std::string_view user = colon == none ? "" : rest.substr(0, colon);
    return base::join(scheme, user, colon == none ? "" : ":", hidden, without_secrets(rest.substr(at)));
  }
  // USER:PASSWORD without a host looks like a host with a port that is no number.
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (start != 0 && !is_host_and_port(authority))
    return base::join(scheme, authority.substr(0, first_colon(authority)), ":", hidden);
  return without_secrets(url);
}

}  // namespace weir::app
