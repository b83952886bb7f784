// The cache of buckets that Redis has just found too empty. Their refill is known, so a request for more than
// they can hold by now is refused without asking Redis. The cache never admits a request.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/lock.h"
#include "weir/clock.h"

namespace weir::redis {

struct StoredBucket;

/// Safe to use from any thread.
class ExhaustedBuckets {
 public:
  struct Seen {
    std::shared_ptr<const StoredBucket> bucket;  ///< null: there was none
    Time at = 0;                                 ///< by the server's clock
    Time sent = 0;                               ///< by ServerTime::here(), before `at`
    Time heard = 0;                              ///< by ServerTime::here(), after `at`
  };
  /// `refuse_for`: how long an entry is valid; 0: the cache is off.
  explicit ExhaustedBuckets(std::chrono::milliseconds refuse_for) : refuse_for_(refuse_for.count()) {}

  bool used() const { return refuse_for_ > 0; }
  /// Whether there is a valid entry at this moment, by ServerTime::here().
  bool any(Time here) const { return is_fresh(newest_.load(std::memory_order_relaxed), here); }
  std::optional<Seen> find(std::string_view key, Time here) const;
  void remember(std::string_view key, Seen seen);
  void forget(std::string_view key);
  void forget_all();

  /// How many requests it has refused.
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }
  void count_refusal() { refusals_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Shard {
    mutable base::Mutex mutex;
    std::unordered_map<std::string, Seen, Hash, std::equal_to<>> buckets WEIR_GUARDED_BY(mutex);
  };
  bool is_fresh(Time then, Time here) const { return used() && here >= then && here - then < refuse_for_; }
  Shard& shard_of(std::string_view key) { return shards_[Hash()(key) % shards_.size()]; }
  const Shard& shard_of(std::string_view key) const { return shards_[Hash()(key) % shards_.size()]; }

  const Time refuse_for_;
  std::atomic<Time> newest_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::array<Shard, 16> shards_;
};

}  // namespace weir::redis
