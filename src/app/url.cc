#include "app/url.h"

#include "app/dynamodb_url.h"
#include "base/text.h"

namespace weir::app {

Result<StoreUrl> parse_store_url(std::string_view url) {
  constexpr std::string_view sqlite_scheme = "sqlite:";
  // Both spellings: a trailing colon must be quoted in YAML.
  if (url == "memory:" || url == "memory") return StoreUrl{.kind = StoreKind::memory};
  if (url.starts_with(dynamodb_scheme)) {
    auto options = parse_dynamodb_url(url.substr(dynamodb_scheme.size()));
    if (!options) return options.error();
    return StoreUrl{StoreKind::dynamodb, {}, *std::move(options)};
  }
  if (!url.starts_with(sqlite_scheme)) {
    return base::invalid(
        "store ", base::quoted(url),
        " is not known; use sqlite:PATH, such as sqlite:weir.db, dynamodb://TABLE, or memory:");
  }
  const std::string_view path = url.substr(sqlite_scheme.size());
  if (path.empty()) return base::invalid("store ", base::quoted(url), " names no file; use sqlite:weir.db");
  if (path.find('\0') != std::string_view::npos)
    return base::invalid("store ", base::quoted(url), " has a zero byte in its path");
  return StoreUrl{.kind = StoreKind::sqlite, .path = std::string(path)};
}

}  // namespace weir::app
