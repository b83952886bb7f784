// Between a table and its backing: loads missing records, captures changed ones.
#include "store/table/locks.h"
#include "store/table/table.h"

namespace weir::table {
namespace {

/// A record that was read from the backing for one link, without locks.
struct Sought {
  bool looked = false;
  std::uint64_t erasures = 0;  ///< of the shard's map, before
  RecordPtr record;            ///< null: there is none
};

}  // namespace

/// Reads the missing records with the locks released. A record that was read is used only if the plan is
/// still current, since deleting an entity first makes the plan out of date, and if the map has erased
/// nothing meanwhile, since that may have been a newer state of the same bucket.
Result<bool> Table::lock_loaded(const store::Request& request, Slots& slots, Locks& locks, Time now) {
  std::array<Sought, limits::max_chain> sought;
  for (;;) {
    locks.lock_all(slots);
    if (!all_current(slots.chain, now)) return false;
    bool complete = true;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const decision::Link& link = slots.chain[i];
      BucketMap& map = Locks::map_of(*slots[i].shard);
      if (map.find(slots[i].hash, {request.name_space, link.entity, request.resource}) != nullptr) continue;
      if (sought[i].looked && sought[i].erasures == map.erasures()) {
        bring_in(link, slots[i], std::move(sought[i].record), now);
      } else {
        sought[i] = {true, map.erasures(), nullptr};
        complete = false;
      }
    }
    if (complete) return true;
    locks.release();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!sought[i].looked) continue;
      auto loaded = backing_->load({request.name_space, slots.chain[i].entity, request.resource});
      if (!loaded) return loaded.error();
      sought[i].record = *std::move(loaded);
    }
  }
}

/// Requires the shard's lock, and that the bucket is not in memory.
void Table::bring_in(const decision::Link& link, const Slot& slot, RecordPtr record, Time now) {
  if (!record || record->expires_at <= now) return;
  const limits::LimitSetRef& resolved = link.resolution->limits;
  // A set with dormant limits is never the resolved one, even if it has the same names.
  const bool shares = resolved && can_be_shared(*resolved) && record->dormant == 0 && record->holds_size == 0;
  if (shares && *record->limits == *resolved) record->limits = resolved;
  Shard& shard = *slot.shard;
  Locks::map_of(shard).put(slot.hash, record.release(), now,
                           [&](const Record& dropped) { close(shard, dropped, now); });
}

Result<void> Table::bring_in(std::string_view name_space, std::string_view entity) {
  if (backing_ == nullptr) return {};
  const std::uint64_t owner = owner_hash(token_of(name_space), entity);
  Shard& shard = shard_of(owner);
  for (;;) {
    const std::uint64_t generation = catalog_generation_.load(std::memory_order_acquire);
    std::uint64_t erasures = 0;
    {
      const base::Guard guard(shard.lock);
      erasures = shard.map.erasures();
    }
    auto loaded = backing_->load_all(name_space, entity);
    if (!loaded) return loaded.error();
    const Time now = clock_.now();
    const base::Guard guard(shard.lock);
    // As in lock().
    if (generation != catalog_generation_.load(std::memory_order_acquire)) continue;
    if (erasures != shard.map.erasures()) continue;
    for (RecordPtr& record : *loaded) {
      const std::uint64_t hash = base::hash(record->resource(), seed_, owner);
      const Key key{name_space, entity, record->resource()};
      if (record->expires_at <= now || shard.map.find(hash, key) != nullptr) continue;
      shard.map.put(hash, record.release(), now, [&](const Record& dropped) { close(shard, dropped, now); });
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
  const base::Guard guard(markers_.mutex);
  markers_.start_purged(to);
}

void Markers::clear() {
  markers_.clear();
  expiries_ = {};
}

void Table::let_go() {
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    shards_[i].map.erase_if([](const Record& record) { return !record.dirty; });
  }
  const base::Guard guard(markers_.mutex);
  if (markers_.dirty.empty()) markers_.clear();
}

// The order of the locks is that of every operation: the markers', then shards by their addresses.
void Table::capture(Sink& sink) WEIR_NOT_ANALYSED {
  const base::Guard guard(markers_.mutex);
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
    for (const ClosedSegment& closed : shard.closed) sink.put(closed);
    shard.closed.clear();
  }
  for (const Nonce& nonce : markers_.dirty) {
    if (const Marker* const marker = markers_.find(nonce)) sink.put(nonce, *marker);
  }
  markers_.dirty.clear();
  for (std::size_t i = 0; i < shard_count; ++i) shards_[i].lock.unlock();
}

}  // namespace weir::table
