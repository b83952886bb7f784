// The namespaces that hold data, found by their keys, and the deletion of one.
#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "limits/names.h"
#include "store/redis/catalog_steps.h"
#include "store/redis/key_scan.h"
#include "store/redis/redis_store.h"
#include "store/redis/words.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr std::size_t deletes_at_once = 1000;
constexpr int most_attempts = 100;
/// The counters of a catalog. They stay when its namespace is erased, so that caches see later changes.
constexpr std::string_view head_fields[] = {"generation", "stamp", "sequence", "audited"};

/// What a key tells about the namespace that it belongs to.
struct KeyOwner {
  std::string_view name_space;  ///< empty: it is another key
  bool has_bucket = false;
};

/// Of a catalog (`{NAMESPACE}:catalog`) or of a bucket (`NAMESPACE:{FAMILY}:b:...`), without the prefix.
KeyOwner owner_of(std::string_view key) {
  constexpr std::string_view catalog = "}:catalog";
  if (key.starts_with('{') && key.ends_with(catalog))
    return {key.substr(1, key.size() - catalog.size() - 1), false};
  const std::size_t family = key.find(":{");
  if (family == std::string_view::npos || key.find("}:b:", family) == std::string_view::npos) return {};
  return {key.substr(0, family), true};
}

Result<void> delete_keys(Context& context, const std::vector<std::string>& keys) {
  for (std::size_t at = 0; at < keys.size(); at += deletes_at_once) {
    std::vector<std::pair<std::string, std::string>> commands;
    for (std::size_t i = at; i < std::min(at + deletes_at_once, keys.size()); ++i)
      commands.emplace_back(keys[i], resp::command({"UNLINK", keys[i]}));
    auto deleted = BlockingCalls(context).ask_all(std::move(commands));
    if (!deleted) return deleted.error();
  }
  return {};
}

/// Deletes everything but the counters from a catalog, unless it changes meanwhile; then it starts over.
Result<void> empty_catalog(Context& context, RedisCatalog& catalog, std::string_view name_space) {
  const std::string key = context.names.catalog(name_space);
  for (int attempts = 0; attempts < most_attempts; ++attempts) {
    auto generation = BlockingCalls(context).ask(key, resp::command({"HGET", key, "generation"}));
    if (!generation) return generation.error();
    auto fields = BlockingCalls(context).ask(key, resp::command({"HKEYS", key}));
    if (!fields) return fields.error();
    CatalogSteps steps;
    steps.number_of(key);
    for (const std::string_view field : fields->get().texts()) {
      if (std::find(std::begin(head_fields), std::end(head_fields), field) == std::end(head_fields))
        steps.erase(std::string(field));
    }
    const std::int64_t now = base::parse_digits(generation->get().text()).value_or(0);
    Words message;
    message.name(name_space).number(now + 1);
    std::vector<std::string> words{std::to_string(now), "-1", context.names.channel(), message.str()};
    words.insert(words.end(), steps.words.begin(), steps.words.end());
    auto written = BlockingCalls(context).run(Script::catalog(), steps.keys, words, true);
    if (!written) return written.error();
    if (written->get().integer() != 1) continue;
    // This process applies the notification at once.
    catalog.on_message(message.str());
    return {};
  }
  return base::error(ErrorCode::contention, "others changed the namespace too often meanwhile; try again");
}

}  // namespace

Result<std::vector<std::string>> RedisStore::namespaces() {
  const std::string begin = context_.names.prefix + ":";
  std::map<std::string, bool, std::less<>> found;  // whether it has a bucket
  auto scanned = scan_keys(context_, literal(begin) + "*", [&](std::string_view key) {
    const KeyOwner owner = owner_of(key.substr(begin.size()));
    if (owner.name_space.empty() || !limits::check_namespace(owner.name_space)) return;
    found.try_emplace(std::string(owner.name_space)).first->second |= owner.has_bucket;
  });
  if (!scanned) return scanned.error();
  std::vector<std::string> names;
  for (const auto& [name, has_bucket] : found) {
    if (!has_bucket) {
      const std::string catalog = context_.names.catalog(name);
      auto fields = BlockingCalls(context_).ask(catalog, resp::command({"HLEN", catalog}));
      if (!fields) return fields.error();
      if (fields->get().integer().value_or(0) <= std::int64_t{std::size(head_fields)}) continue;
    }
    names.push_back(name);
  }
  return names;
}

Result<void> RedisStore::erase_namespace(std::string_view name_space) {
  const Names& names = context_.names;
  const std::string catalog = names.catalog(name_space);
  std::vector<std::string> keys;
  for (const std::string& begin :
       {base::join(names.prefix, ":", name_space, ":{"), base::join(names.prefix, ":{", name_space, "}:")}) {
    auto scanned = scan_keys(context_, literal(begin) + "*", [&](std::string_view key) {
      if (key != catalog) keys.emplace_back(key);
    });
    if (!scanned) return scanned.error();
  }
  if (auto deleted = delete_keys(context_, keys); !deleted) return deleted;
  const std::string used = names.namespaces();
  auto removed = BlockingCalls(context_).ask(used, resp::command({"SREM", used, name_space}), true);
  if (!removed) return removed.error();
  // Last, since the catalog says that the namespace was purged.
  return empty_catalog(context_, catalog_, name_space);
}

}  // namespace weir::redis
