// Reads and writes the content of a Redis store, for copies between stores.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/copy.h"
#include "store/redis/redis_store.h"

namespace weir::redis {

/// Not safe for concurrent use. The names of all keys are held in memory while the content is read.
class RedisCopy final : public store::CopyWriter {
 public:
  /// Opens the store, which creates its settings where there are none.
  static Result<std::unique_ptr<RedisCopy>> open(RedisStoreOptions options);

  Result<store::CopySettings> settings() override;
  Result<void> read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) override;

  Result<std::string> unfinished() override;
  Result<void> begin(const std::string& copy, const store::CopySettings& settings) override;
  /// Numbers of generations have 53 bits here; a larger one is cut, and leases on its bucket then give
  /// nothing back.
  bool fit(store::CopyRecord& record) const override;
  Result<void> put(const std::vector<store::CopyRecord>& page) override;
  Result<void> end() override;

 private:
  explicit RedisCopy(std::shared_ptr<RedisStore> store)
      : store_(std::move(store)), context_(store_->context()), catalog_(store_->redis_catalog()) {}

  /// The keys of one namespace, sorted.
  struct Keys {
    std::vector<std::string> buckets;
    std::vector<std::string> leases;
  };
  Result<std::map<std::string, Keys>> find_keys();
  Result<void> read_buckets(const std::string& name_space, const std::vector<std::string>& keys,
                            store::CopyPages& pages);
  Result<void> read_leases(const std::string& name_space, const std::vector<std::string>& keys,
                           store::CopyPages& pages);
  Result<void> read_usage(const std::string& name_space, store::CopyPages& pages);
  Result<void> read_usage_of(const std::string& name_space, const std::string& entity,
                             store::CopyPages& pages);

  using Records = std::vector<const store::CopyRecord*>;
  Result<void> put_catalog(const std::string& name_space, const Records& records);
  Result<void> put_buckets_of(const Records& records);
  Result<void> put_lease(const store::CopyRecord& record);
  Result<void> put_usage(const store::CopyRecord& record);

  const std::shared_ptr<RedisStore> store_;
  Context& context_;
  RedisCatalog& catalog_;
};

}  // namespace weir::redis
