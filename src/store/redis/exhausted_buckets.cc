#include "store/redis/exhausted_buckets.h"

#include <algorithm>

namespace weir::redis {
namespace {

// The size bound of a shard: beyond it, buckets are read again.
constexpr std::size_t most_in_shard = 4096;

}  // namespace

std::optional<ExhaustedBuckets::Seen> ExhaustedBuckets::find(std::string_view key, Time here) const {
  const Shard& shard = shard_of(key);
  const base::Guard guard(shard.mutex);
  const auto found = shard.buckets.find(key);
  if (found == shard.buckets.end() || !is_fresh(found->second.sent, here)) return std::nullopt;
  return found->second;
}

void ExhaustedBuckets::remember(std::string_view key, Seen seen) {
  const Time sent = seen.sent;
  {
    Shard& shard = shard_of(key);
    const base::Guard guard(shard.mutex);
    if (shard.buckets.size() >= most_in_shard) shard.buckets.clear();
    shard.buckets.insert_or_assign(std::string(key), std::move(seen));
  }
  // Stored after the insertion, so that a concurrent forget_all() does not hide the new entry.
  newest_.store(std::max(newest_.load(std::memory_order_relaxed), sent), std::memory_order_relaxed);
}

void ExhaustedBuckets::forget(std::string_view key) {
  Shard& shard = shard_of(key);
  const base::Guard guard(shard.mutex);
  if (const auto found = shard.buckets.find(key); found != shard.buckets.end()) shard.buckets.erase(found);
}

void ExhaustedBuckets::forget_all() {
  newest_.store(0, std::memory_order_relaxed);
  for (Shard& shard : shards_) {
    const base::Guard guard(shard.mutex);
    shard.buckets.clear();
  }
}

}  // namespace weir::redis
