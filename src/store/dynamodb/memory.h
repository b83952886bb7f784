// What this process remembers of the table: the last image of each bucket it has seen, and what it has read
// of the catalog. Nothing in here is relied on without a condition that the table itself checks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lock.h"
#include "store/catalog.h"
#include "store/conditional/machine.h"

namespace weir::dynamodb {

/// The name of a bucket, as one text: no name has a zero byte.
std::string bucket_id(std::string_view name_space, std::string_view entity, std::string_view resource);

struct Remembered {
  conditional::Image image;
  Time seen_at = 0;  ///< when the request was sent that the table answered with it
};

/// Safe to use from any thread.
class Memory {
 public:
  using Steady = std::chrono::steady_clock;
  /// `keep_for`: how long what was read of the catalog is used without asking again.
  explicit Memory(std::chrono::milliseconds keep_for) : keep_for_(keep_for) {}

  // Buckets.
  Remembered image(const std::string& id);
  void remember(const std::string& id, Remembered remembered);
  void forget_images(std::string_view name_space, std::string_view entity);

  /// First writes to a bucket that failed lately: whether it is better to read first.
  bool better_read(const std::string& id);
  void wrote_first(const std::string& id, bool failed);

  // The catalog.
  bool keeps_catalog() const { return keep_for_.count() > 0; }
  std::optional<store::Found> found(const std::string& id);
  /// What was the case when the catalog began to be read.
  struct Ticket {
    std::int64_t seen = 0;
    std::uint64_t changes = 0;
  };
  /// Before the catalog is read for a bucket: what to hand to learn() afterwards.
  Ticket reading(const std::string& id);
  /// What was read; records that say the same as those before stay the same objects.
  store::Found learn(const std::string& id, store::Found found, const Ticket& ticket);
  /// A bucket of this version was seen, which is newer than what is known here: read again.
  void distrust(const std::string& id, std::int64_t version);
  /// The catalog says something else of the parent than is known here: read again.
  void distrust_chain(const std::string& id) { distrust(id, 0); }
  /// Up to this version of the bucket nothing is newer than these records.
  std::int64_t resolved_after(const std::string& id, const limits::Levels& levels);
  /// This process has written the bucket under these records, as this version.
  void wrote_version(const std::string& id, const limits::Levels& levels, std::int64_t version);
  /// A change of the catalog by this process.
  void forget_catalog(std::string_view name_space);

  /// The last system limits of a namespace that were read; for what to do while the store is away.
  limits::LimitsRecordRef last_system(std::string_view name_space);

 private:
  struct Entry {
    store::Found found;
    Steady::time_point until;
    std::int64_t seen = 0;   ///< the newest version of the bucket that anybody here has met
    std::int64_t after = 0;  ///< what it was when `found` was read
    bool read = false;
  };
  struct BucketEntry {
    Remembered remembered;
    unsigned first_writes = 0;
    unsigned failed = 0;
  };

  const std::chrono::milliseconds keep_for_;
  base::Mutex mutex_;
  std::uint64_t changes_ WEIR_GUARDED_BY(mutex_) = 0;  ///< of the catalog, by this process
  std::unordered_map<std::string, BucketEntry> buckets_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Entry> catalog_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::string, limits::LimitsRecordRef> systems_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamodb
