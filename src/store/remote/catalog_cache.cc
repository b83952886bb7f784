#include "store/remote/catalog_cache.h"

#include <algorithm>
#include <utility>

#include "base/maxima.h"
#include "base/text.h"
#include "store/table/draft.h"

namespace weir::remote {
namespace {

// The size bound of the cache: beyond it, entries are read again from the store.
constexpr std::size_t most_entities = maxima::cached_entities;
constexpr std::size_t most_records = maxima::cached_records;
constexpr std::size_t most_resources = maxima::cached_resources;

bool same(const limits::Version& a, const limits::Version& b) {
  if (a.stamp != b.stamp || a.gap != b.gap || bool(a.limits) != bool(b.limits)) return false;
  return !a.limits || *a.limits == *b.limits;
}

bool same(const limits::LimitsRecord& a, const limits::LimitsRecord& b) {
  return same(a.current, b.current) && a.owner == b.owner && a.expires_at == b.expires_at &&
         a.bucket_ttl_refill_multiplier == b.bucket_ttl_refill_multiplier &&
         a.on_unavailable == b.on_unavailable && a.usage == b.usage && a.name_space == b.name_space &&
         a.from_file == b.from_file && a.bad == b.bad &&
         std::equal(a.earlier.begin(), a.earlier.end(), b.earlier.begin(), b.earlier.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

}  // namespace

CacheKey::CacheKey(const std::string& id) {
  const std::string_view text = id;
  const std::size_t first = id.find('\0');
  const std::size_t second = id.find('\0', first + 1);
  name_space = text.substr(0, first);
  entity = text.substr(first + 1, second - first - 1);
  resource = text.substr(second + 1);
}

CatalogCache::Tenant& CatalogCache::tenant(std::string_view name_space) {
  const auto found = tenants_.find(name_space);
  return found != tenants_.end() ? found->second : tenants_[std::string(name_space)];
}

CatalogCache::Entry* CatalogCache::entry(Tenant& in, const CacheKey& key) {
  const auto entries = in.entities.find(key.entity);
  if (entries == in.entities.end()) return nullptr;
  for (Entry& entry : entries->second) {
    if (entry.resource == key.resource) return &entry;
  }
  return nullptr;
}

CatalogCache::Entry& CatalogCache::make_entry(Tenant& in, const CacheKey& key) {
  if (Entry* const known = entry(in, key)) return *known;
  if (in.entities.size() >= most_entities) in.entities.clear();
  std::vector<Entry>& entries = in.entities[std::string(key.entity)];
  if (entries.size() >= most_resources) entries.clear();
  return entries.emplace_back(Entry{.resource = std::string(key.resource)});
}

std::optional<store::Found> CatalogCache::find(const CacheKey& key) {
  const Clock::time_point now = Clock::now();
  const base::Guard guard(mutex_);
  Tenant& in = tenant(key.name_space);
  const Entry* const known = entry(in, key);
  if (known == nullptr || known->until <= now) return std::nullopt;
  std::optional<store::Found> found = known->found;
  found->generation = in.generation;
  return found;
}

CatalogCache::Ticket CatalogCache::reading(const CacheKey& key) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(key.name_space);
  const Entry* const known = entry(in, key);
  if (known == nullptr) return {0, in.changes};
  return {known->seen, in.changes, known->found.plan};
}

bool CatalogCache::learn(const CacheKey& key, store::Found& found, const Ticket& ticket) {
  const Clock::time_point now = Clock::now();
  const base::Guard guard(mutex_);
  Tenant& in = tenant(key.name_space);
  for (const Source level : limits::recorded_levels) {
    limits::LimitsRecordRef& record = found.levels.at(level);
    record = intern(in, table::level_key(level, key.entity, key.resource), std::move(record));
  }
  if (!found.plan.empty()) {
    for (const std::string_view resource : {key.resource, std::string_view()}) {
      limits::LimitsRecordRef& record =
          found.levels[resource.empty() ? limits::Levels::plan_on_all : limits::Levels::plan_on_resource];
      record = intern(in, base::join("p ", found.plan, " ", resource), std::move(record));
    }
  }
  if (found.generation < in.generation) return false;
  if (found.generation > in.generation) in.entities.clear();
  in.generation = found.generation;
  Entry& learned = make_entry(in, key);
  learned.found = found;
  // A change that this process has made since the read began may be missing in it.
  learned.until = ticket.changes == in.changes ? now + keep_for_ : Clock::time_point();
  learned.after = std::max(learned.after, ticket.seen);
  learned.seen = std::max(learned.seen, ticket.seen);
  return true;
}

limits::LimitsRecordRef CatalogCache::intern(Tenant& in, std::string_view level,
                                             limits::LimitsRecordRef record) {
  if (!record) return record;
  if (in.records.size() >= most_records) in.records.clear();
  const auto found = in.records.find(level);
  limits::LimitsRecordRef& known = found != in.records.end() ? found->second : in.records[std::string(level)];
  if (!known || !same(*known, *record)) known = std::move(record);
  return known;
}

limits::LimitsRecordRef CatalogCache::intern(std::string_view name_space, std::string_view level,
                                             limits::LimitsRecordRef record) {
  const base::Guard guard(mutex_);
  return intern(tenant(name_space), level, std::move(record));
}

limits::LimitsRecordRef CatalogCache::last_record(std::string_view name_space, std::string_view level) {
  const base::Guard guard(mutex_);
  const Tenant& in = tenant(name_space);
  const auto found = in.records.find(level);
  return found == in.records.end() ? limits::LimitsRecordRef() : found->second;
}

void CatalogCache::changed(std::string_view name_space, std::uint64_t generation,
                           const std::vector<std::string_view>& entities) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  if (in.generation == 0 || generation <= in.generation) return;
  bool all = entities.empty() || generation != in.generation + 1;
  in.generation = generation;
  for (const std::string_view entity : entities) {
    all = all || entity.empty();
    if (const auto found = in.entities.find(entity); found != in.entities.end()) in.entities.erase(found);
  }
  if (all) in.entities.clear();
}

void CatalogCache::forget(std::string_view name_space, std::string_view entity) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  if (const auto found = in.entities.find(entity); found != in.entities.end()) in.entities.erase(found);
}

void CatalogCache::forget_all() {
  const base::Guard guard(mutex_);
  for (auto& [name, in] : tenants_) in.entities.clear();
}

Time CatalogCache::known(std::string_view name_space) {
  // The common case: the catalog has lost nothing.
  if (!any_known_.load(std::memory_order_acquire)) return 0;
  const base::Guard guard(mutex_);
  return tenant(name_space).known;
}

void CatalogCache::set_known(std::string_view name_space, Time stamp) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  in.known = std::max(in.known, stamp);
  any_known_.store(true, std::memory_order_release);
}

void CatalogCache::distrust(const CacheKey& key, std::int64_t version) {
  const base::Guard guard(mutex_);
  Entry& doubtful = make_entry(tenant(key.name_space), key);
  doubtful.seen = std::max(doubtful.seen, version);
  doubtful.until = {};
}

std::int64_t CatalogCache::resolved_after(const CacheKey& key, const limits::Levels& levels) {
  const base::Guard guard(mutex_);
  const Entry* const known = entry(tenant(key.name_space), key);
  return known != nullptr && known->rests_on(levels) ? known->after : 0;
}

void CatalogCache::wrote_version(const CacheKey& key, const limits::Levels& levels, std::int64_t version) {
  const base::Guard guard(mutex_);
  Entry* const known = entry(tenant(key.name_space), key);
  if (known == nullptr || !known->rests_on(levels)) return;
  known->after = std::max(known->after, version);
  known->seen = std::max(known->seen, version);
}

void CatalogCache::distrust_all(std::string_view name_space) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  ++in.changes;
  for (auto& [name, entries] : in.entities) {
    for (Entry& entry : entries) entry.until = {};
  }
}

}  // namespace weir::remote
