// What this process remembers of the table: the last image of each bucket it has seen, and what it has read
// of the catalog. Nothing in here is relied on without a condition that the table itself checks.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/lock.h"
#include "store/conditional/machine.h"
#include "store/remote/catalog_cache.h"

namespace weir::dynamodb {

/// The name of a bucket, as one text (remote::CacheKey): no name has a zero byte.
std::string bucket_id(std::string_view name_space, std::string_view entity, std::string_view resource);

struct Remembered {
  conditional::Image image;
  Time seen_at = 0;  ///< when the request was sent that the table answered with it
};

/// Safe to use from any thread.
class Memory : public remote::CatalogCache {
 public:
  using remote::CatalogCache::CatalogCache;

  Remembered image(const std::string& id);
  void remember(const std::string& id, Remembered remembered);
  void forget_images(std::string_view name_space, std::string_view entity);

  /// First writes to a bucket that failed lately: whether it is better to read first.
  bool better_read(const std::string& id);
  void wrote_first(const std::string& id, bool failed);

 private:
  struct BucketEntry {
    Remembered remembered;
    unsigned first_writes = 0;
    unsigned failed = 0;
  };

  base::Mutex mutex_;
  std::unordered_map<std::string, BucketEntry> buckets_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamodb
