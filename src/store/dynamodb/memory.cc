#include "store/dynamodb/memory.h"

#include <utility>

#include "base/maxima.h"
#include "base/text.h"

namespace weir::dynamodb {
namespace {

// The size bound of the cache: beyond it, buckets are read again.
constexpr std::size_t most_buckets = maxima::remembered_buckets;
// The same for leases that can still change.
constexpr std::size_t most_markers = 20'000;
/// The number of first writes over which the share of failures is computed.
constexpr unsigned window = 64;

}  // namespace

std::string bucket_id(std::string_view name_space, std::string_view entity, std::string_view resource) {
  constexpr std::string_view zero("\0", 1);
  return base::join(name_space, zero, entity, zero, resource);
}

Remembered Memory::image(const std::string& id) {
  const base::Guard guard(mutex_);
  const auto found = buckets_.find(id);
  return found == buckets_.end() ? Remembered{} : found->second.remembered;
}

void Memory::remember(const std::string& id, Remembered remembered) {
  const base::Guard guard(mutex_);
  if (buckets_.size() >= most_buckets) buckets_.clear();
  buckets_[id].remembered = std::move(remembered);
}

void Memory::forget_images(std::string_view name_space, std::string_view entity) {
  const std::string prefix = bucket_id(name_space, entity, "");
  const base::Guard guard(mutex_);
  std::erase_if(buckets_, [&](const auto& one) { return one.first.starts_with(prefix); });
}

std::optional<conditional::Marker> Memory::marker(const Key& key) {
  const base::Guard guard(mutex_);
  const auto found = markers_.find(key);
  return found == markers_.end() ? std::nullopt : std::optional(found->second);
}

void Memory::remember_marker(const Key& key, conditional::Marker marker) {
  const base::Guard guard(mutex_);
  // A lease that has ended is not changed again.
  if (marker.lease.ending != decision::Ending::open) {
    markers_.erase(key);
    return;
  }
  if (markers_.size() >= most_markers) markers_.clear();
  markers_.insert_or_assign(key, std::move(marker));
}

bool Memory::better_read(const std::string& id) {
  const base::Guard guard(mutex_);
  const auto found = buckets_.find(id);
  // More than one in five, once there are enough writes to judge by.
  return found != buckets_.end() && found->second.first_writes >= 10 &&
         found->second.failed * 5 > found->second.first_writes;
}

void Memory::wrote_first(const std::string& id, bool failed) {
  const base::Guard guard(mutex_);
  BucketEntry& entry = buckets_[id];
  entry.failed += failed ? 1 : 0;
  if (++entry.first_writes < window) return;
  // Exponential decay of older writes.
  entry.first_writes /= 2;
  entry.failed /= 2;
}

}  // namespace weir::dynamodb
