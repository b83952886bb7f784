#include "app/url.h"

#include <algorithm>
#include <array>

#include "app/dynamodb_url.h"
#include "base/hex.h"
#include "base/text.h"

namespace weir::app {
namespace {

using base::invalid;

/// Resolves %XX.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? base::hex_value(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? base::hex_value(text[i + 2]) : std::nullopt;
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high << 4U | *low);
    i += 2;
  }
  return out;
}

/// Cuts `text` at the first `at`: what goes before it is returned, what follows stays. Without one, all of it
/// is returned and nothing stays.
std::string_view cut(std::string_view& text, char at) {
  const std::size_t found = text.find(at);
  const std::string_view before = text.substr(0, found);
  text.remove_prefix(found == std::string_view::npos ? text.size() : found + 1);
  return before;
}

bool good_prefix(std::string_view prefix) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  return !prefix.empty() && prefix.size() <= 64 && std::all_of(prefix.begin(), prefix.end(), allowed);
}

Result<void> read_parameter(RedisUrl& url, std::string_view name, const std::string& value) {
  constexpr std::array<std::string_view, 8> names = {"cluster",   "prefix", "deadline_ms", "cache_ms",
                                                     "refuse_ms", "cacert", "cert",        "key"};
  if (name == "cluster") {
    if (value != "true" && value != "false")
      return invalid("cluster in the URL of the store is ", base::quoted(value), "; use true or false");
    url.cluster = value == "true";
  } else if (name == "prefix") {
    if (!good_prefix(value))
      return invalid("prefix ", base::quoted(value),
                     " in the URL of the store must be 1 to 64 letters, digits and `-_.:`");
    url.prefix = value;
  } else if (name == "deadline_ms" || name == "cache_ms" || name == "refuse_ms") {
    auto time = read_milliseconds(name, value, name == "refuse_ms" ? 0 : 1);
    if (!time) return time.error();
    (name == "deadline_ms" ? url.deadline : name == "cache_ms" ? url.cache : url.refuse) = *time;
  } else if (name == "cacert") {
    url.authorities = value;
  } else if (name == "cert") {
    url.certificate = value;
  } else if (name == "key") {
    url.key = value;
  } else {
    return invalid("the URL of the store has a parameter ", base::quoted(name), " that is not known",
                   base::did_you_mean(name, names));
  }
  return {};
}

Result<void> read_address(RedisUrl& url, std::string_view address) {
  std::string_view port;
  if (address.starts_with('[')) {
    const std::size_t close = address.find(']');
    if (close == std::string_view::npos) return invalid("the address ", base::quoted(address), " has no ]");
    url.host = address.substr(1, close - 1);
    port = address.substr(close + 1);
    if (port.starts_with(':')) port.remove_prefix(1);
  } else {
    port = address;
    url.host = cut(port, ':');
  }
  if (url.host.empty()) return invalid("the URL of the store names no host; use redis://HOST:PORT");
  if (port.empty()) return {};
  const auto number = base::parse_digits(port);
  if (!number || *number < 1 || *number > 65'535)
    return invalid("port ", base::quoted(port), " in the URL of the store is not a port");
  url.port = static_cast<std::uint16_t>(*number);
  return {};
}

Result<void> read_credentials(RedisUrl& url, std::string_view credentials) {
  std::string_view password = credentials;
  const std::string_view user = cut(password, ':');
  const auto plain_user = decoded(user);
  const auto plain_password = decoded(password);
  if (!plain_user || !plain_password)
    return invalid("the user or the password in the URL of the store has a broken % escape");
  url.user = *plain_user;
  url.password = *plain_password;
  if (url.password.empty() && !url.user.empty())
    return invalid("the URL of the store has a user but no password; use redis://USER:PASSWORD@HOST");
  return {};
}

Result<StoreUrl> parse_redis(std::string_view rest, bool tls) {
  StoreUrl store{.kind = StoreKind::redis};
  RedisUrl& url = store.redis;
  url.tls = tls;
  std::string_view query = rest;
  std::string_view path = cut(query, '?');
  std::string_view authority = cut(path, '/');
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (auto read = read_credentials(url, authority.substr(0, at)); !read) return read.error();
    authority.remove_prefix(at + 1);
  }
  if (auto read = read_address(url, authority); !read) return read.error();
  if (!path.empty()) {
    const auto number = base::parse_digits(path);
    if (!number || *number > 100'000)
      return invalid("database ", base::quoted(path), " in the URL of the store is not a number");
    url.database = static_cast<int>(*number);
  }
  while (!query.empty()) {
    std::string_view value = cut(query, '&');
    const std::string_view name = cut(value, '=');
    const auto plain = decoded(value);
    if (!plain) return invalid(name, " in the URL of the store has a broken % escape");
    if (auto read = read_parameter(url, name, *plain); !read) return read.error();
  }
  if (url.cluster && url.database != 0) return invalid("a Redis cluster has only database 0");
  if (url.certificate.empty() != url.key.empty())
    return invalid("cert and key in the URL of the store belong together");
  return store;
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view url) {
  constexpr std::string_view sqlite_scheme = "sqlite:";
  constexpr std::string_view redis_scheme = "redis://";
  constexpr std::string_view rediss_scheme = "rediss://";
  // Both spellings: a trailing colon must be quoted in YAML.
  if (url == "memory:" || url == "memory") return StoreUrl{.kind = StoreKind::memory};
  if (url.starts_with(redis_scheme)) return parse_redis(url.substr(redis_scheme.size()), false);
  if (url.starts_with(rediss_scheme)) return parse_redis(url.substr(rediss_scheme.size()), true);
  if (url.starts_with(dynamodb_scheme)) {
    auto options = parse_dynamodb_url(url.substr(dynamodb_scheme.size()));
    if (!options) return options.error();
    return StoreUrl{.kind = StoreKind::dynamodb, .dynamodb = *std::move(options)};
  }
  if (!url.starts_with(sqlite_scheme)) {
    return invalid("store ", base::quoted(url),
                   " is not known; use sqlite:PATH, such as sqlite:weir.db, redis://HOST:PORT, "
                   "dynamodb://TABLE, or memory:");
  }
  const std::string_view path = url.substr(sqlite_scheme.size());
  if (path.empty()) return invalid("store ", base::quoted(url), " names no file; use sqlite:weir.db");
  if (path.find('\0') != std::string_view::npos)
    return invalid("store ", base::quoted(url), " has a zero byte in its path");
  return StoreUrl{StoreKind::sqlite, std::string(path), {}};
}

std::string without_password(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const std::size_t end = std::min(url.find_first_of("/?", scheme + 3), url.size());
  const std::size_t at = url.substr(0, end).rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  const std::size_t colon = url.find(':', scheme + 3);
  if (colon == std::string_view::npos || colon > at) return std::string(url);
  return base::join(url.substr(0, colon + 1), "***", url.substr(at));
}

}  // namespace weir::app
