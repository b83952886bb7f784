// Between a table and what lies behind it: brings in what is missing, hands out what changed.
#include "store/table/locks.h"
#include "store/table/table.h"

namespace weir::table {

bool Table::all_current(Stops& stops, Time now) const {
  return std::all_of(stops.begin(), stops.end(),
                     [&](const Stop& stop) { return current(*stop.resolution, now); });
}

/// Locks the shards of the stops, with everything in memory that lies behind the table. False, if the plan is
/// out of date. What was read from behind without the locks counts only while the plan is current: deleting
/// an entity makes it out of date first.
Result<bool> Table::lock(const store::Request& request, Stops& stops, Locks& locks, Time now) {
  const auto missing = [&](const Stop& stop) {
    const Key key{request.name_space, stop.entity, request.resource};
    return Locks::map_of(*stop.shard).find(stop.hash, key) == nullptr;
  };
  locks.lock_all(stops);
  if (!all_current(stops, now)) return false;
  if (backing_ == nullptr || std::none_of(stops.begin(), stops.end(), missing)) [[likely]]
    return true;
  std::array<bool, limits::max_chain> wanted{};
  for (std::size_t i = 0; i < stops.size(); ++i) wanted[i] = missing(stops[i]);
  locks.release();
  std::array<RecordPtr, limits::max_chain> found;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (!wanted[i]) continue;
    auto loaded = backing_->load({request.name_space, stops[i].entity, request.resource});
    if (!loaded) return loaded.error();
    found[i] = *std::move(loaded);
  }
  locks.lock_all(stops);
  if (!all_current(stops, now)) return false;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (!found[i] || found[i]->expires_at <= now || !missing(stops[i])) continue;
    const limits::LimitSetRef& resolved = stops[i].resolution->limits;
    if (resolved && *found[i]->limits == *resolved) found[i]->limits = resolved;
    Locks::map_of(*stops[i].shard).put(stops[i].hash, found[i].release(), now);
  }
  return true;
}

Result<void> Table::bring_in(std::string_view name_space, std::string_view entity) {
  if (backing_ == nullptr) return {};
  const std::uint64_t owner = owner_hash(token_of(name_space), entity);
  Shard& shard = shard_of(owner);
  for (;;) {
    const std::uint64_t generation = catalog_generation_.load(std::memory_order_acquire);
    auto loaded = backing_->load_all(name_space, entity);
    if (!loaded) return loaded.error();
    const Time now = clock_.now();
    const store::Guard guard(shard.lock);
    // As in lock(): the entity may have been deleted meanwhile.
    if (generation != catalog_generation_.load(std::memory_order_acquire)) continue;
    for (RecordPtr& record : *loaded) {
      const std::uint64_t hash = base::hash(record->resource(), seed_, owner);
      const Key key{name_space, entity, record->resource()};
      if (record->expires_at <= now || shard.map.find(hash, key) != nullptr) continue;
      shard.map.put(hash, record.release(), now);
    }
    return {};
  }
}

Result<const Marker*> Table::find_marker(const Nonce& nonce, Time now) {
  const Marker* const known = markers_.find(nonce);
  if (known != nullptr || backing_ == nullptr) return known;
  auto loaded = backing_->load_marker(nonce);
  if (!loaded) return loaded.error();
  if (!*loaded) return nullptr;
  return &markers_.put(nonce, **std::move(loaded), now);
}

void Table::start_purged(Time to) {
  const store::Guard guard(markers_.mutex);
  markers_.start_purged(to);
}

void Markers::clear() {
  markers_.clear();
  expiries_.clear();
}

void Table::let_go() {
  for (std::size_t i = 0; i < shard_count; ++i) {
    const store::Guard guard(shards_[i].lock);
    shards_[i].map.erase_if([](const Record& record) { return !record.dirty; });
  }
  const store::Guard guard(markers_.mutex);
  if (markers_.dirty.empty()) markers_.clear();
}

// The order of the locks is that of every operation: the markers', then shards by their addresses.
void Table::capture(Sink& sink) WEIR_NOT_ANALYSED {
  const store::Guard guard(markers_.mutex);
  for (std::size_t i = 0; i < shard_count; ++i) shards_[i].lock.lock();
  for (std::size_t i = 0; i < shard_count; ++i) {
    Shard& shard = shards_[i];
    for (const std::uint64_t hash : shard.dirty) {
      shard.map.for_hash(hash, [&](Record& record) {
        if (!record.dirty) return;
        record.dirty = false;
        sink.put(record);
        record.stored = true;
      });
    }
    shard.dirty.clear();
  }
  for (const Nonce& nonce : markers_.dirty) {
    if (const Marker* const marker = markers_.find(nonce)) sink.put(nonce, *marker);
  }
  markers_.dirty.clear();
  for (std::size_t i = 0; i < shard_count; ++i) shards_[i].lock.unlock();
}

}  // namespace weir::table
