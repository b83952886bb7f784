#include "store/redis/redis_store.h"

#include <cstring>

#include "base/text.h"
#include "store/audit.h"
#include "store/redis/call.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

/// Of the layout of keys and values; a store of a later one is refused.
constexpr std::int64_t format_version = 1;

}  // namespace

RedisStore::RedisStore(const RedisStoreOptions& options)
    : options_(options),
      catalog_(site_, options.cache_for),
      client_(std::make_unique<net::RedisClient>(options.server, entropy_, Names{options.prefix}.channel(),
                                                 &catalog_)),
      site_{*client_, Names{options.prefix}, options.server.cluster, ServerTime(options.clock.get()),
            entropy_},
      buckets_(site_, catalog_) {}

// First of all its thread ends, which uses the rest.
RedisStore::~RedisStore() { client_.reset(); }

Result<std::shared_ptr<RedisStore>> RedisStore::open(const RedisStoreOptions& options) {
  const std::shared_ptr<RedisStore> store(new RedisStore(options));
  if (auto ready = store->client_->wait_until_ready(); !ready) return ready.error();
  if (auto read = store->read_settings(); !read) return read.error();
  return store;
}

Result<void> RedisStore::health() const {
  if (client_->up()) return {};
  return error_of({false, client_->trouble()});
}

/// What all processes on the store agree on. Whoever comes first makes it.
Result<void> RedisStore::read_settings() {
  Asking asking(site_);
  const std::string key = site_.names.store();
  auto time = asking.ask(key, resp::command({"TIME"}));
  if (!time) return time.error();
  const Reply parts = time->get();
  if (!parts.is_list()) return base::error(ErrorCode::unavailable, "Redis does not tell the time");
  auto part = parts.children();
  const Time seconds = part.next().integer().value_or(0);
  site_.time.learn(seconds * 1000 + part.next().integer().value_or(0) / 1000);

  store::LeaseKey made;
  entropy_.fill(made);
  const std::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
  const auto settings = [&] {
    return asking.ask(key, resp::command({"HMGET", key, "format", "lease_key", "keep_audit_for"}));
  };
  auto found = settings();
  if (!found) return found.error();
  if (found->get().is_list() && found->get().children()->is_null()) {
    // Only where there is none: somebody else may be making it at the same time.
    for (auto command : {resp::command({"HSETNX", key, "lease_key", bytes}),
                         resp::command({"HSETNX", key, "format", std::to_string(format_version)})}) {
      if (auto set = asking.ask(key, std::move(command), true); !set) return set.error();
    }
    found = settings();
    if (!found) return found.error();
  }
  const Reply list = found->get();
  auto at = list.children();
  const auto format = at.next().integer();
  if (format != format_version) {
    return base::error(ErrorCode::unavailable, "what ", base::quoted(site_.names.store()),
                       " says was written by another version of weir; use that one, or another prefix");
  }
  const Reply lease_key = at.next();
  if (lease_key.text().size() != lease_key_.size())
    return base::error(ErrorCode::unavailable, "the lease key in ", base::quoted(key), " is damaged");
  std::memcpy(lease_key_.data(), lease_key.text().data(), lease_key_.size());
  catalog_.keep_audit_for(at.next().integer().value_or(store::keep_audit_for_by_default));
  return {};
}

Result<void> RedisStore::keep_audit_for(Time duration) {
  const std::string key = site_.names.store();
  auto set =
      Asking(site_).ask(key, resp::command({"HSET", key, "keep_audit_for", std::to_string(duration)}), true);
  if (!set) return set.error();
  catalog_.keep_audit_for(duration);
  return {};
}

}  // namespace weir::redis
