#include "app/open_store.h"

#include <filesystem>
#include <map>

#include "app/url.h"
#include "base/lock.h"
#include "base/text.h"
#include "limiter/core.h"
#include "limits/names.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/memory/memory_store.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "weir/limiter.h"

namespace weir::app {

namespace {

/// Files that are open in this process, by their real path: limiters on the same file share it.
class OpenFiles {
 public:
  Result<std::shared_ptr<store::Store>> open(const std::string& path, const sqlite::OpenOptions& options,
                                             base::Entropy& entropy) {
    const base::Guard guard(mutex_);
    std::weak_ptr<sqlite::SqliteStore>& known = files_[real_path(path)];
    if (auto store = known.lock()) {
      if (&store->clock() == options.clock.get() || both_system(store->clock(), *options.clock))
        return std::shared_ptr<store::Store>(std::move(store));
      return base::invalid("file ", base::quoted(path), " is open in this program with another clock");
    }
    auto store = sqlite::SqliteStore::open(path, options, entropy);
    if (!store) return store.error();
    known = *store;
    return std::shared_ptr<store::Store>(*std::move(store));
  }

 private:
  static std::string real_path(const std::string& path) {
    std::error_code failure;
    const auto real = std::filesystem::weakly_canonical(path, failure);
    return failure ? path : real.string();
  }
  static bool both_system(const Clock& a, const Clock& b) {
    return dynamic_cast<const SystemClock*>(&a) != nullptr && dynamic_cast<const SystemClock*>(&b) != nullptr;
  }

  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<sqlite::SqliteStore>> files_ WEIR_GUARDED_BY(mutex_);
};

Result<std::shared_ptr<store::Store>> open_redis(const RedisUrl& url, const Options& options,
                                                 const std::shared_ptr<const Clock>& clock,
                                                 const StoreDefaults& defaults) {
  auto redis = redis_options(url);
  if (!redis) return redis.error();
  // The store uses the server's time, unless a test sets a clock.
  if (options.clock != nullptr) redis->clock = clock;
  redis->must_be_reachable = options.must_be_reachable;
  redis->refuse_for = url.refuse.value_or(defaults.refuse_for);
  auto store = redis::RedisStore::open(*redis);
  if (!store) return store.error();
  return std::shared_ptr<store::Store>(*std::move(store));
}

OpenFiles& open_files() {
  static OpenFiles files;
  return files;
}

}  // namespace

Result<redis::RedisStoreOptions> redis_options(const RedisUrl& url) {
  redis::RedisStoreOptions options;
  options.server.address = {url.host, url.port};
  options.server.cluster = url.cluster;
  options.server.user = url.user;
  options.server.password = url.password;
  options.server.database = url.database;
  options.prefix = url.prefix;
  if (url.deadline) options.server.deadline = *url.deadline;
  if (url.cache) options.cache_for = *url.cache;
  if (url.tls) {
    auto tls = net::load_client_tls({url.authorities, url.certificate, url.key});
    if (!tls) return tls.error();
    options.server.tls = *std::move(tls);
  }
  return options;
}

Result<std::shared_ptr<store::Store>> open_store(std::string_view url, const Options& options,
                                                 const std::shared_ptr<const Clock>& clock,
                                                 base::Entropy& entropy, const StoreDefaults& defaults) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind == StoreKind::sqlite)
    return open_files().open(parsed->path, {clock, options.wait_for_file, options.create}, entropy);
  if (parsed->kind == StoreKind::redis) return open_redis(parsed->redis, options, clock, defaults);
  if (parsed->kind == StoreKind::dynamodb) {
    // The store uses the time of this machine, unless a test sets a clock.
    if (options.clock != nullptr) parsed->dynamodb.clock = clock;
    parsed->dynamodb.must_be_reachable = options.must_be_reachable;
    auto store = dynamodb::DynamoStore::open(parsed->dynamodb);
    if (!store) return store.error();
    return std::shared_ptr<store::Store>(*std::move(store));
  }
  return std::shared_ptr<store::Store>(std::make_shared<memory::MemoryStore>(*clock, entropy));
}

}  // namespace weir::app

namespace weir {

Result<Limiter> Limiter::open(std::string_view url, const Options& options) {
  if (auto checked = limits::check_namespace(options.name_space); !checked) return checked.error();
  if (options.principal.empty() || options.principal.size() > 128 || !base::is_utf8(options.principal)) {
    return base::invalid("principal must be 1 to 128 bytes of UTF-8");
  }
  if (options.lease_deadline.count() < 1) return base::invalid("lease_deadline must be at least 1 ms");
  if (options.keep_audit_for && options.keep_audit_for->count() < 1)
    return base::invalid("keep_audit_for must be at least 1 ms");
  for (const auto& kept : {options.keep_usage_hours_for, options.keep_usage_days_for}) {
    if (kept && *kept < std::chrono::days(1))
      return base::invalid("keep_usage_hours_for and keep_usage_days_for must be at least one day");
  }
  limiter::Foundation foundation;
  if (options.clock != nullptr) {
    foundation.clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), options.clock);
  } else {
    foundation.clock = std::make_shared<SystemClock>();
  }
  foundation.entropy = std::make_shared<base::SystemEntropy>();
  auto store = app::open_store(url, options, foundation.clock, *foundation.entropy);
  if (!store) return store.error();
  if (options.keep_audit_for) {
    if (auto kept = (*store)->keep_audit_for(options.keep_audit_for->count()); !kept) return kept.error();
  }
  if (options.keep_usage_hours_for || options.keep_usage_days_for) {
    const store::UsageKept defaults;
    const auto or_default = [](const auto& given, Time otherwise) {
      return given ? given->count() : otherwise;
    };
    if (auto kept = (*store)->keep_usage({or_default(options.keep_usage_hours_for, defaults.hours),
                                          or_default(options.keep_usage_days_for, defaults.days)});
        !kept)
      return kept.error();
  }
  foundation.store = *std::move(store);
  return Limiter(std::make_unique<limiter::Core>(std::move(foundation), options));
}

}  // namespace weir
