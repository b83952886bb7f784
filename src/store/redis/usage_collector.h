// Collects the usage of a Redis store: hands over what buckets have counted in hours that are over, before
// their keys expire, folds old hours into days, and cleans the index.
//
// An active bucket needs no collector: its first write in an hour closes the hour before.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "store/redis/bucket_write.h"
#include "store/redis/call.h"
#include "store/redis/context.h"
#include "store/redis/usage_index.h"
#include "store/usage.h"

namespace weir::redis {

/// Safe to use from any thread.
class UsageCollector {
 public:
  /// The context must outlive the collector.
  explicit UsageCollector(Context& context) : context_(context) {}
  ~UsageCollector() { stop(); }
  UsageCollector(const UsageCollector&) = delete;
  UsageCollector& operator=(const UsageCollector&) = delete;

  /// Collects once an hour, on a thread of its own. Of all processes on the store one does it.
  void start();
  void stop();

  /// Collects everything now. Blocks.
  Result<store::UsageCollected> collect();
  /// Hours that were not collected in time, of which this process knows.
  std::int64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void run();
  /// Whether no other process has collected in the last hour.
  Result<bool> is_our_turn();
  Result<void> collect_namespace(const std::string& name_space, store::UsageCollected& sum);
  Result<void> take(const BucketName& name, const KeptReply& reply, store::UsageCollected& sum);
  /// Hands over the open segment of a record, if its hour is over.
  Result<void> hand_over(const BucketName& name, const ReadBucket& read, store::UsageCollected& sum);
  Result<void> fold(const BucketName& name, Time day, const std::string& hours, const std::string& whole);
  /// In a cluster: removes a bucket without usage from the index.
  Result<void> remove(const BucketName& name);

  Context& context_;
  std::atomic<std::int64_t> lost_{0};
  base::Mutex mutex_;
  base::Condition stopped_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir::redis
