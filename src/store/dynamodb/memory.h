// The caches of this process: the last image of each bucket it has seen, and the catalog. Every use of a
// cached image is protected by a condition that the table checks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/lock.h"
#include "store/conditional/machine.h"
#include "store/dynamodb/names.h"
#include "store/remote/catalog_cache.h"

namespace weir::dynamodb {

/// The name of a bucket, as one text (remote::CacheKey): no name has a zero byte.
std::string bucket_id(std::string_view name_space, std::string_view entity, std::string_view resource);

struct Remembered {
  conditional::Image image;
  Time seen_at = 0;  ///< when the request that returned it was sent
};

/// Safe to use from any thread.
class Memory : public remote::CatalogCache {
 public:
  using remote::CatalogCache::CatalogCache;

  Remembered image(const std::string& id);
  void remember(const std::string& id, Remembered remembered);
  void forget_images(std::string_view name_space, std::string_view entity);

  /// The last marker of a lease that this process has written or seen; nothing: it knows none.
  std::optional<conditional::Marker> marker(const Key& key);
  void remember_marker(const Key& key, conditional::Marker marker);

  /// Whether to read the bucket first, because recent first writes to it have failed too often.
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
  std::map<Key, conditional::Marker> markers_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamodb
