#include "store/table/bucket_map.h"

namespace weir::table {
namespace {

constexpr std::size_t first_size = 16;

}  // namespace

BucketMap::~BucketMap() {
  for (const Slot& slot : slots_) {
    if (slot.record != nullptr) Record::destroy(slot.record);
  }
}

/// Puts the record in the place of one with the same key. False: there is none.
bool BucketMap::replace(std::uint64_t hash, Record* record) {
  if (slots_.empty()) return false;
  const Key key{record->name_space(), record->entity(), record->resource()};
  for (std::size_t at = hash & mask(); slots_[at].record != nullptr; at = (at + 1) & mask()) {
    if (slots_[at].hash != hash || !slots_[at].record->is(key)) continue;
    Record::destroy(slots_[at].record);
    slots_[at].record = record;
    return true;
  }
  return false;
}

void BucketMap::insert_new(std::uint64_t hash, Record* record) {
  if ((size_ + 1) * 4 > slots_.size() * 3) grow();
  insert(hash, record);
  ++size_;
}

void BucketMap::grow() {
  std::vector<Slot> old(slots_.empty() ? first_size : slots_.size() * 2);
  old.swap(slots_);
  first_slot_ = slots_.data();
  mask_ = slots_.size() - 1;
  cleaned_to_ = 0;
  for (const Slot& slot : old) {
    if (slot.record != nullptr) insert(slot.hash, slot.record);
  }
}

void BucketMap::insert(std::uint64_t hash, Record* record) {
  std::size_t at = hash & mask();
  while (slots_[at].record != nullptr) at = (at + 1) & mask();
  slots_[at] = {hash, record};
}

void BucketMap::erase_at(std::size_t hole) {
  Record::destroy(slots_[hole].record);
  --size_;
  ++erasures_;
  // Close the gap: a record behind it moves up unless that would put it before its own place.
  for (std::size_t at = (hole + 1) & mask(); slots_[at].record != nullptr; at = (at + 1) & mask()) {
    const std::size_t home = slots_[at].hash & mask();
    if (((at - home) & mask()) < ((at - hole) & mask())) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = {};
}

/// Visits the next slot; returns its record if it can be erased.
const Record* BucketMap::next_expired(Time now) {
  cleaned_to_ = (cleaned_to_ + 1) & mask();
  const Record* const record = slots_[cleaned_to_].record;
  // Strictly before: a bucket that expires at the moment of its creation is still used by the operation
  // that made it.
  return record != nullptr && record->expires_at < now && !record->dirty ? record : nullptr;
}

}  // namespace weir::table
