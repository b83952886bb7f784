// The namespaces that hold data, found by their keys.
#include <set>

#include "limits/names.h"
#include "store/redis/key_scan.h"
#include "store/redis/redis_store.h"

namespace weir::redis {
namespace {

/// The namespace of a catalog (`{NAMESPACE}:catalog`) or of a bucket (`NAMESPACE:{FAMILY}:b:...`), without
/// the prefix; empty: it is another key.
std::string_view namespace_of(std::string_view key) {
  constexpr std::string_view catalog = "}:catalog";
  if (key.starts_with('{') && key.ends_with(catalog)) return key.substr(1, key.size() - catalog.size() - 1);
  const std::size_t family = key.find(":{");
  if (family == std::string_view::npos || key.find("}:b:", family) == std::string_view::npos) return {};
  return key.substr(0, family);
}

}  // namespace

Result<std::vector<std::string>> RedisStore::namespaces() {
  const std::string begin = context_.names.prefix + ":";
  std::set<std::string, std::less<>> found;
  auto scanned = scan_keys(context_, literal(begin) + "*", [&](std::string_view key) {
    const std::string_view name = namespace_of(key.substr(begin.size()));
    if (!name.empty() && !found.contains(name) && limits::check_namespace(name)) found.emplace(name);
  });
  if (!scanned) return scanned.error();
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace weir::redis
