#include "app/url.h"

#include <algorithm>
#include <array>

#include "app/dynamodb_url.h"
#include "app/store_url.h"
#include "base/text.h"
#include "wire/url.h"

namespace weir::app {
namespace {

using base::invalid;

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

Result<StoreUrl> parse_redis(std::string_view text) {
  const auto read = wire::parse_url(text);
  if (!read) return invalid("the URL of the store: ", read.error().message);
  // Probably a / or ? in the password, whose rest would be shown as a database or a parameter.
  if (read->path.find('@') != std::string::npos || read->query.find('@') != std::string::npos) {
    return invalid(
        "the URL of the store has an @ after a / or ?; in a password or a parameter write / as %2F, ? as %3F "
        "and @ as %40");
  }
  StoreUrl store{.kind = StoreKind::redis};
  RedisUrl& url = store.redis;
  url.tls = read->scheme == "rediss";
  url.user = read->user;
  url.password = read->password;
  if (url.password.empty() && !url.user.empty())
    return invalid("the URL of the store has a user but no password; use redis://USER:PASSWORD@HOST");
  url.host = read->host;
  url.port = read->port.value_or(url.port);
  if (read->path.size() > 1) {
    const std::string_view database = std::string_view(read->path).substr(1);
    const auto number = base::parse_digits(database);
    if (!number || *number > 100'000) {
      // After a port it may be the rest of a password.
      const std::string shown = read->port ? std::string() : base::join(base::quoted(database), " ");
      return invalid("database ", shown, "in the URL of the store is not a number");
    }
    url.database = static_cast<int>(*number);
  }
  auto parameters = read_parameters(read->query, [&](std::string_view name, const std::string& value) {
    return read_parameter(url, name, value);
  });
  if (!parameters) return parameters.error();
  if (url.cluster && url.database != 0) return invalid("a Redis cluster has only database 0");
  if (url.certificate.empty() != url.key.empty())
    return invalid("cert and key in the URL of the store belong together");
  return store;
}

/// A URL that was probably meant, for a store that is not known; empty: none.
std::string probable_url(std::string_view url) {
  const auto contains = [&](std::string_view part) { return url.find(part) != std::string_view::npos; };
  for (const std::string_view scheme : {"redis://", "rediss://", "dynamodb://", "sqlite:"}) {
    const auto same_letter = [](char a, char b) { return a == b || (b >= 'a' && b <= 'z' && a == b - 32); };
    if (url.size() > scheme.size() &&
        std::equal(scheme.begin(), scheme.end(), url.begin(),
                   [&](char wanted, char written) { return same_letter(written, wanted); }))
      return base::join(scheme, url.substr(scheme.size()));
  }
  for (const std::string_view scheme : {"redis:", "rediss:", "dynamodb:"}) {
    if (url.starts_with(scheme) && url.size() > scheme.size())
      return base::join(scheme, "//", url.substr(scheme.size()));
  }
  const bool is_path = url.starts_with('/') || url.starts_with("./") || url.starts_with("../");
  const bool is_file = url.ends_with(".db") || url.ends_with(".sqlite") || url.ends_with(".sqlite3");
  return (is_path || is_file) && !contains(":") ? base::join("sqlite:", url) : std::string();
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view url) {
  constexpr std::string_view sqlite_scheme = "sqlite:";
  // Both spellings: a trailing colon must be quoted in YAML.
  if (url == "memory:" || url == "memory") return StoreUrl{.kind = StoreKind::memory};
  if (url.starts_with("redis://") || url.starts_with("rediss://")) return parse_redis(url);
  if (url.starts_with(dynamodb_scheme)) {
    auto options = parse_dynamodb_url(url.substr(dynamodb_scheme.size()));
    if (!options) return options.error();
    return StoreUrl{.kind = StoreKind::dynamodb, .dynamodb = *std::move(options)};
  }
  if (!url.starts_with(sqlite_scheme)) {
    const std::string shown = without_password(url);
    if (const std::string meant = probable_url(shown); !meant.empty())
      return invalid("store ", base::quoted(shown), " is not known; did you mean ", base::quoted(meant), "?");
    return invalid("store ", base::quoted(shown),
                   " is not known; use sqlite:PATH, such as sqlite:weir.db, redis://HOST:PORT, "
                   "dynamodb://TABLE, or memory:");
  }
  const std::string_view path = url.substr(sqlite_scheme.size());
  if (path.empty()) return invalid("store ", base::quoted(url), " names no file; use sqlite:weir.db");
  // Taken literally, the two slashes would put the file into the root folder.
  if (path.starts_with("//") && !path.starts_with("///")) {
    return invalid("store ", base::quoted(url),
                   " has two slashes before its path; use sqlite:", path.substr(2),
                   ", or sqlite:/PATH for a path from the root folder");
  }
  if (path.find('\0') != std::string_view::npos)
    return invalid("store ", base::quoted(url), " has a zero byte in its path");
  return StoreUrl{StoreKind::sqlite, std::string(path), {}};
}

Result<void> check_store_url(std::string_view url) {
  const auto parsed = parse_store_url(url);
  return parsed ? Result<void>() : Result<void>(parsed.error());
}

}  // namespace weir::app
