// `redis://` and `rediss://`: scripts decide in a Redis server or cluster, which any number of processes
// share.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/entropy.h"
#include "net/redis_client.h"
#include "store/finding.h"
#include "store/redis/buckets.h"
#include "store/redis/catalog.h"
#include "store/redis/start_up.h"
#include "store/redis/usage.h"
#include "store/store.h"

namespace weir::redis {

struct RedisStoreOptions {
  net::RedisOptions server;
  std::string prefix = "weir";
  /// How long limits are cached without a notification of a change.
  std::chrono::milliseconds cache_for{60'000};
  /// For how long requests on a bucket that was just found too empty are refused without asking the server;
  /// 0: always ask. Credits and changes by other processes take effect that much later.
  std::chrono::milliseconds refuse_for{0};
  /// Whether opening fails while the server is unavailable. If not, calls fail until it answers.
  bool must_be_reachable = true;
  /// Whether a thread hands over the usage of hours that are over. A copy leaves the source as it is.
  bool collects_usage = true;
  /// For tests: the time, instead of the server's. All processes on the store must use the same.
  std::shared_ptr<const Clock> clock;
};

/// Safe to use from any thread.
class RedisStore final : public store::Store {
 public:
  /// Fails with unavailable where the server cannot be reached or rejects the login, unless must_be_reachable
  /// is false.
  static Result<std::shared_ptr<RedisStore>> open(const RedisStoreOptions& options);
  ~RedisStore() override;

  store::Buckets& buckets() override { return buckets_; }
  store::Catalog& catalog() override { return catalog_; }
  store::UsageReader& usage() override { return usage_; }
  const store::LeaseKey& lease_key() const override { return start_up_.lease_key(); }
  Result<void> opened() const override;
  Result<void> health() const override;
  std::vector<store::Counter> counters() const override;
  std::vector<std::string> warnings() const override { return context_.bad.warnings(); }
  bool is_elsewhere() const override { return true; }
  Time now() const override { return context_.time.now(); }
  Result<void> keep_audit_for(Time duration) override;
  Result<void> keep_usage(const store::UsageKept& kept) override;
  Result<std::vector<std::string>> namespaces() override;
  Result<void> erase_namespace(std::string_view name_space) override;
  bool every_change_is_marked() const override { return true; }

  /// The client, which knows whether the server answers.
  const net::RedisClient& client() const { return *client_; }
  RedisBuckets& redis_buckets() { return buckets_; }
  RedisCatalog& redis_catalog() { return catalog_; }
  Context& context() { return context_; }

 private:
  explicit RedisStore(const RedisStoreOptions& options);

  const RedisStoreOptions options_;
  base::SystemEntropy entropy_;
  RedisCatalog catalog_;
  std::unique_ptr<net::RedisClient> client_;
  mutable Context context_;
  mutable StartUp start_up_;
  RedisBuckets buckets_;
  mutable RedisUsage usage_;
};

/// Checks the server without changing anything.
std::vector<store::Finding> check(const RedisStoreOptions& options);

}  // namespace weir::redis
