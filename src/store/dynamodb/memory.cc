#include "store/dynamodb/memory.h"

#include <algorithm>

#include "base/text.h"

namespace weir::dynamodb {
namespace {

// Past this many it is cheaper to read again than to remember.
constexpr std::size_t most_buckets = 200'000;
constexpr std::size_t most_entries = 200'000;
/// How many first writes the share of failures is taken over.
constexpr unsigned window = 64;

bool same(const limits::Version& a, const limits::Version& b) {
  if (a.stamp != b.stamp || a.gap != b.gap || bool(a.limits) != bool(b.limits)) return false;
  return !a.limits || *a.limits == *b.limits;
}

bool same(const limits::LimitsRecordRef& a, const limits::LimitsRecordRef& b) {
  if (!a || !b) return !a && !b;
  return same(a->current, b->current) && a->owner == b->owner && a->expires_at == b->expires_at &&
         a->bucket_ttl_refill_multiplier == b->bucket_ttl_refill_multiplier &&
         a->on_unavailable == b->on_unavailable && a->earlier.size() == b->earlier.size() &&
         std::equal(a->earlier.begin(), a->earlier.end(), b->earlier.begin(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

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

bool Memory::better_read(const std::string& id) {
  const base::Guard guard(mutex_);
  const auto found = buckets_.find(id);
  // Past one in five, once there is something to judge by.
  return found != buckets_.end() && found->second.first_writes >= 10 &&
         found->second.failed * 5 > found->second.first_writes;
}

void Memory::wrote_first(const std::string& id, bool failed) {
  const base::Guard guard(mutex_);
  BucketEntry& entry = buckets_[id];
  entry.failed += failed ? 1 : 0;
  if (++entry.first_writes < window) return;
  // What was long ago counts for less and less.
  entry.first_writes /= 2;
  entry.failed /= 2;
}

std::optional<store::Found> Memory::found(const std::string& id) {
  const base::Guard guard(mutex_);
  const auto entry = catalog_.find(id);
  if (entry == catalog_.end() || !entry->second.read || entry->second.until <= Steady::now())
    return std::nullopt;
  return entry->second.found;
}

Memory::Ticket Memory::reading(const std::string& id) {
  const base::Guard guard(mutex_);
  const auto entry = catalog_.find(id);
  return {entry == catalog_.end() ? 0 : entry->second.seen, changes_};
}

store::Found Memory::learn(const std::string& id, store::Found found, const Ticket& ticket) {
  const base::Guard guard(mutex_);
  if (catalog_.size() >= most_entries) catalog_.clear();
  Entry& entry = catalog_[id];
  if (entry.read) {
    for (std::size_t i = 0; i < found.levels.size(); ++i) {
      if (same(found.levels[i], entry.found.levels[i])) found.levels[i] = entry.found.levels[i];
    }
  }
  const std::size_t end = id.find('\0');
  if (found.levels[3]) systems_[id.substr(0, end)] = found.levels[3];
  entry.found = found;
  // What this process has changed meanwhile, this may not show.
  entry.until = ticket.changes == changes_ ? Steady::now() + keep_for_ : Steady::time_point();
  entry.after = std::max(entry.after, ticket.seen);
  entry.seen = std::max(entry.seen, ticket.seen);
  entry.read = true;
  return found;
}

void Memory::distrust(const std::string& id, std::int64_t version) {
  const base::Guard guard(mutex_);
  Entry& entry = catalog_[id];
  entry.seen = std::max(entry.seen, version);
  entry.until = {};
}

std::int64_t Memory::resolved_after(const std::string& id, const limits::Levels& levels) {
  const base::Guard guard(mutex_);
  const auto entry = catalog_.find(id);
  if (entry == catalog_.end() || !entry->second.read || entry->second.found.levels != levels) return 0;
  return entry->second.after;
}

void Memory::wrote_version(const std::string& id, const limits::Levels& levels, std::int64_t version) {
  const base::Guard guard(mutex_);
  const auto entry = catalog_.find(id);
  if (entry == catalog_.end() || !entry->second.read || entry->second.found.levels != levels) return;
  entry->second.after = std::max(entry->second.after, version);
  entry->second.seen = std::max(entry->second.seen, version);
}

void Memory::forget_catalog(std::string_view name_space) {
  const std::string prefix = base::join(name_space, std::string_view("\0", 1));
  const base::Guard guard(mutex_);
  ++changes_;
  for (auto& [id, entry] : catalog_) {
    if (id.starts_with(prefix)) entry.until = {};
  }
}

limits::LimitsRecordRef Memory::last_system(std::string_view name_space) {
  const base::Guard guard(mutex_);
  const auto found = systems_.find(std::string(name_space));
  return found == systems_.end() ? limits::LimitsRecordRef() : found->second;
}

}  // namespace weir::dynamodb
