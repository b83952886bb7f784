#include "store/redis/cache.h"

#include "store/redis/codec.h"

namespace weir::redis {
namespace {

// Past this many it is cheaper to ask again than to remember.
constexpr std::size_t most_entities = 200'000;
constexpr std::size_t most_records = 20'000;
constexpr std::size_t most_resources = 1'000;

/// The entity that a field is about; empty: every one.
std::string_view entity_of(std::string_view field) {
  if (field.starts_with("n ")) return field.substr(2);
  if (!field.starts_with("e ")) return {};
  return field.substr(2, field.find(' ', 2) - 2);
}

}  // namespace

CatalogCache::Tenant& CatalogCache::tenant(std::string_view name_space) {
  const auto found = tenants_.find(name_space);
  return found != tenants_.end() ? found->second : tenants_[std::string(name_space)];
}

std::optional<store::Found> CatalogCache::find(std::string_view name_space, std::string_view entity,
                                               std::string_view resource) {
  const Clock::time_point now = Clock::now();
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  const auto at = in.entities.find(entity);
  if (at == in.entities.end()) return std::nullopt;
  for (const Entry& entry : at->second) {
    if (entry.resource != resource || entry.until <= now) continue;
    std::optional<store::Found> found = entry.found;
    found->generation = in.generation;
    return found;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> CatalogCache::add(std::string_view name_space, std::string_view entity,
                                               std::string_view resource, std::uint64_t generation,
                                               const store::Found& found) {
  const Clock::time_point now = Clock::now();
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  if (generation < in.generation) return std::nullopt;
  if (generation > in.generation || in.entities.size() >= most_entities) in.entities.clear();
  in.generation = generation;
  std::vector<Entry>& entries = in.entities[std::string(entity)];
  std::erase_if(entries,
                [&](const Entry& entry) { return entry.resource == resource || entry.until <= now; });
  if (entries.size() >= most_resources) entries.clear();
  entries.push_back({std::string(resource), found, now + keep_for_});
  return generation;
}

limits::LimitsRecordRef CatalogCache::record(std::string_view name_space, std::string_view field,
                                             std::string_view text) {
  if (text.empty()) return {};
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  if (in.records.size() >= most_records) in.records.clear();
  const auto found = in.records.find(field);
  Shared& shared = found != in.records.end() ? found->second : in.records[std::string(field)];
  if (shared.text != text || !shared.record) shared = {std::string(text), decode_limits(text)};
  return shared.record;
}

limits::LimitsRecordRef CatalogCache::last_record(std::string_view name_space, std::string_view field) {
  const base::Guard guard(mutex_);
  const Tenant& in = tenant(name_space);
  const auto found = in.records.find(field);
  return found == in.records.end() ? limits::LimitsRecordRef() : found->second.record;
}

void CatalogCache::changed(std::string_view name_space, std::uint64_t generation,
                           const std::vector<std::string>& fields) {
  const base::Guard guard(mutex_);
  Tenant& in = tenant(name_space);
  if (in.generation == 0 || generation <= in.generation) return;
  bool all = fields.empty() || generation != in.generation + 1;
  in.generation = generation;
  for (const std::string& field : fields) {
    const std::string_view entity = entity_of(field);
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
  // Nearly always: nothing was ever lost.
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

}  // namespace weir::redis
