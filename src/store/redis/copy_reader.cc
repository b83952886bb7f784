// Reads every record of a Redis store.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>

#include "base/text.h"
#include "store/audit.h"
#include "store/redis/bucket_keys.h"
#include "store/redis/codec.h"
#include "store/redis/copy.h"
#include "store/redis/record.h"
#include "store/redis/usage_index.h"
#include "store/redis/usage_reader.h"
#include "store/remote/catalog_copy.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr std::size_t records_at_once = 250;
constexpr std::string_view catalog_end = "}:catalog";
constexpr std::string_view bucket_mark = "}:b:";
constexpr std::string_view lease_mark = "}:l:";

/// The nonce at the end of a lease's key; nothing: weir did not write it.
std::optional<decision::Nonce> nonce_in(std::string_view key) {
  constexpr std::size_t digits = 16;
  if (key.size() < 2 * digits) return std::nullopt;
  decision::Nonce nonce{};
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    const std::string_view part = key.substr(key.size() - digits * (nonce.size() - i), digits);
    const auto [end, failure] = std::from_chars(part.data(), part.data() + digits, nonce[i], digits);
    if (failure != std::errc() || end != part.data() + digits) return std::nullopt;
  }
  return nonce;
}

void sort_and_unify(std::vector<std::string>& keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

}  // namespace

Result<store::CopySettings> RedisCopy::settings() {
  const std::string key = context_.names.store();
  auto reply = BlockingCalls(context_).ask(key, resp::command({"HMGET", key, "lease_key", "keep_audit_for",
                                                               "keep_usage_hours", "keep_usage_days"}));
  if (!reply) return reply.error();
  const Reply list = reply->get();
  auto at = list.children();
  store::CopySettings settings;
  settings.keep_audit_for = store::keep_audit_for_by_default;
  const Reply lease_key = at.next();
  if (lease_key.text().size() != settings.lease_key.size())
    return base::error(ErrorCode::unavailable, "Redis has a damaged lease key in ", base::quoted(key));
  std::memcpy(settings.lease_key.data(), lease_key.text().data(), settings.lease_key.size());
  for (Time* const into : {&settings.keep_audit_for, &settings.keep_usage.hours, &settings.keep_usage.days}) {
    const auto number = base::parse_digits(at.next().text());
    if (number && *number > 0) *into = *number;
  }
  return settings;
}

Result<void> RedisCopy::read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) {
  store::CopyPages pages(scope, visit);
  const auto found = find_keys();
  if (!found) return found.error();
  for (const auto& [name_space, keys] : *found) {
    if (!pages.wants(name_space)) continue;
    if (auto read = remote::copy_catalog(catalog_, name_space, pages); !read) return read;
    if (auto read = read_buckets(name_space, keys.buckets, pages); !read) return read;
    if (auto read = read_leases(name_space, keys.leases, pages); !read) return read;
    if (auto read = read_usage(name_space, pages); !read) return read;
    if (auto read = remote::copy_audit(catalog_, name_space, pages); !read) return read;
  }
  if (const auto bad = context_.bad.warnings(); !bad.empty()) return store::cannot_be_copied(bad.front());
  return pages.flush();
}

/// SCAN returns some keys twice, so all of them are collected first.
Result<std::map<std::string, RedisCopy::Keys>> RedisCopy::find_keys() {
  std::map<std::string, Keys> found;
  const std::string begin = context_.names.prefix + ":";
  auto scanned = scan_keys(context_, literal(begin) + "*", [&](std::string_view key) {
    const std::string_view rest = key.substr(begin.size());
    if (rest.starts_with('{') && rest.ends_with(catalog_end)) {
      const std::string_view name = rest.substr(1, rest.size() - catalog_end.size() - 1);
      if (limits::check_namespace(name)) found.try_emplace(std::string(name));
      return;
    }
    const std::size_t family = rest.find(":{");
    const std::string name_space(rest.substr(0, family));
    if (family == std::string_view::npos || !limits::check_namespace(name_space)) return;
    if (rest.find(bucket_mark, family) != std::string_view::npos) {
      found[name_space].buckets.emplace_back(key);
    } else if (rest.find(lease_mark, family) != std::string_view::npos) {
      found[name_space].leases.emplace_back(key);
    }
  });
  if (!scanned) return scanned.error();
  const std::string all = context_.names.namespaces();
  auto used = BlockingCalls(context_).ask(all, resp::command({"SMEMBERS", all}));
  if (!used) return used.error();
  for (const std::string_view name : used->get().texts()) found.try_emplace(std::string(name));
  for (auto& [name_space, keys] : found) {
    sort_and_unify(keys.buckets);
    sort_and_unify(keys.leases);
  }
  return found;
}

Result<void> RedisCopy::read_buckets(const std::string& name_space, const std::vector<std::string>& keys,
                                     store::CopyPages& pages) {
  const BucketKeys names(context_.names, name_space);
  for (std::size_t at = 0; at < keys.size(); at += records_at_once) {
    const std::size_t end = std::min(at + records_at_once, keys.size());
    std::vector<BlockingCalls::Arguments> calls;
    for (std::size_t i = at; i < end; ++i)
      calls.push_back({{keys[i]}, {std::to_string(context_.time.for_scripts()), "0"}});
    auto replies = BlockingCalls(context_).run_all(Script::load(), calls, false);
    if (!replies) return replies.error();
    for (std::size_t i = at; i < end; ++i) {
      const auto name = names.read(keys[i]);
      if (!name) return store::cannot_be_copied(base::join("the key ", base::quoted(keys[i])));
      const Reply list = (*replies)[i - at].get();
      auto part = list.children();
      part.next();
      part.next();
      auto read = read_bucket(part.next(), name->entity, name->resource);
      if (!read) return store::cannot_be_copied(read.error().message);
      if (!read->bucket) continue;
      store::CopiedBucket bucket{name->entity, std::string(name->resource), std::move(read->bucket->state),
                                 read->bucket->segment.has_value()};
      if (auto added = pages.add({name_space, std::move(bucket)}); !added) return added;
    }
  }
  return {};
}

Result<void> RedisCopy::read_leases(const std::string& name_space, const std::vector<std::string>& keys,
                                    store::CopyPages& pages) {
  for (std::size_t at = 0; at < keys.size(); at += records_at_once) {
    const std::size_t end = std::min(at + records_at_once, keys.size());
    std::vector<std::pair<std::string, std::string>> commands;
    for (std::size_t i = at; i < end; ++i) commands.emplace_back(keys[i], resp::command({"GET", keys[i]}));
    auto replies = BlockingCalls(context_).ask_all(std::move(commands));
    if (!replies) return replies.error();
    for (std::size_t i = at; i < end; ++i) {
      const Reply value = (*replies)[i - at].get();
      if (value.is_null()) continue;
      const auto nonce = nonce_in(keys[i]);
      auto marker = decode_marker(value.text());
      if (!nonce || !marker)
        return store::cannot_be_copied(base::join("the record ", base::quoted(keys[i]), " of a lease"));
      store::CopiedLease lease{{}, *nonce, *std::move(marker)};
      if (!lease.marker.buckets.empty()) lease.entity = lease.marker.buckets.front().entity;
      if (auto added = pages.add({name_space, std::move(lease)}); !added) return added;
    }
  }
  return {};
}

Result<void> RedisCopy::read_usage(const std::string& name_space, store::CopyPages& pages) {
  UsageIndex index(context_, name_space);
  std::string after;
  std::string entity;
  for (bool last = false; !last;) {
    auto part = index.next(after, records_at_once);
    if (!part) return part.error();
    last = part->last;
    for (const UsedBucket& bucket : part->buckets) {
      if (bucket.entity == entity) continue;
      entity = bucket.entity;
      if (auto read = read_usage_of(name_space, entity, pages); !read) return read;
    }
  }
  return {};
}

Result<void> RedisCopy::read_usage_of(const std::string& name_space, const std::string& entity,
                                      store::CopyPages& pages) {
  const store::UsageQuery query{.name_space = name_space,
                                .entity = entity,
                                .resource = {},
                                .from = 0,
                                .to = std::numeric_limits<Time>::max()};
  store::Paging paging{.cursor = {}, .limit = records_at_once};
  do {
    auto page = UsageRead(context_, query, paging).run();
    if (!page) return page.error();
    for (Usage& row : page->items) {
      if (auto added = pages.add_usage(name_space, std::move(row)); !added) return added;
    }
    paging.cursor = page->next;
  } while (!paging.cursor.empty());
  return pages.end_usage();
}

}  // namespace weir::redis
