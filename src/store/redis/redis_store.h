// `redis://` and `rediss://`: decided by scripts in a Redis server or cluster, shared by any number of
// processes.
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
#include "store/store.h"

namespace weir::redis {

struct RedisStoreOptions {
  net::RedisOptions server;
  std::string prefix = "weir";
  /// How long limits are remembered without being told of a change.
  std::chrono::milliseconds cache_for{60'000};
  /// For how long a bucket that was just found too empty is refused without asking; 0: always ask. Credits
  /// and changes that other processes make meanwhile are noticed that much later.
  std::chrono::milliseconds refuse_for{0};
  /// Whether opening fails while the server cannot be used. If not, calls fail until it can.
  bool must_be_reachable = true;
  /// For tests: the time, instead of the server's. Everybody on the store must agree on it.
  std::shared_ptr<const Clock> clock;
};

/// Safe to use from any thread.
class RedisStore final : public store::Store {
 public:
  /// Fails with unavailable where the server cannot be reached or does not accept us, unless the options say
  /// that this is no reason not to begin.
  static Result<std::shared_ptr<RedisStore>> open(const RedisStoreOptions& options);
  ~RedisStore() override;

  store::Buckets& buckets() override { return buckets_; }
  store::Catalog& catalog() override { return catalog_; }
  const store::LeaseKey& lease_key() const override { return start_up_.lease_key(); }
  Result<void> opened() const override;
  Result<void> health() const override;
  std::vector<store::Counter> counters() const override;
  bool is_elsewhere() const override { return true; }
  Time now() const override { return context_.time.now(); }
  Result<void> keep_audit_for(Time duration) override;
  bool every_change_is_marked() const override { return true; }

  /// Whether the server answers, and if not, why.
  const net::RedisClient& client() const { return *client_; }
  RedisBuckets& redis_buckets() { return buckets_; }

 private:
  explicit RedisStore(const RedisStoreOptions& options);

  const RedisStoreOptions options_;
  base::SystemEntropy entropy_;
  RedisCatalog catalog_;
  std::unique_ptr<net::RedisClient> client_;
  mutable Context context_;
  mutable StartUp start_up_;
  RedisBuckets buckets_;
};

/// Looks the server over without changing anything.
std::vector<store::Finding> check(const RedisStoreOptions& options);

}  // namespace weir::redis
