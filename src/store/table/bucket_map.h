// The hash map of one shard: open addressing over (hash, record) pairs.
//
// Why not a library's map: a decision must cost one cache miss for the slot and one for the record, growing
// must not touch the records (the slots hold the hashes), and cleaning must be able to resume where it
// stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "store/table/record.h"
#include "weir/clock.h"

namespace weir::table {

/// Owns its records. Not safe for concurrent use: the shard's lock guards it.
class BucketMap {
 public:
  BucketMap() = default;
  ~BucketMap();
  BucketMap(const BucketMap&) = delete;
  BucketMap& operator=(const BucketMap&) = delete;

  /// The record of a key, expired or not; null if there is none.
  Record* find(std::uint64_t hash, const Key& key) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = first_slot_[at];
      if (slot.record == nullptr) return nullptr;
      if (slot.hash == hash && slot.record->is(key)) return slot.record;
    }
  }
  /// Calls `visit(record)` for each record with this hash.
  template <class Visit>
  void for_hash(std::uint64_t hash, Visit&& visit) const {
    for (std::size_t at = hash & mask_; first_slot_[at].record != nullptr; at = (at + 1) & mask_) {
      if (first_slot_[at].hash == hash) visit(*first_slot_[at].record);
    }
  }
  /// Inserts a record; destroys the one with the same key, if any. Also visits a few other records and
  /// destroys those that have expired and are not dirty, so that the map does not grow beyond the live
  /// records; calls `dropped(record)` for each of them before.
  template <class Dropped>
  void put(std::uint64_t hash, Record* record, Time now, Dropped&& dropped) {
    if (replace(hash, record)) return;
    for (std::size_t i = 0; i < cleaned_per_put && !slots_.empty(); ++i) {
      if (const Record* const expired = next_expired(now)) {
        dropped(*expired);
        erase_at(cleaned_to_);
      }
    }
    insert_new(hash, record);
  }

  /// Destroys every record for which `doomed(record)`; returns how many.
  template <class Doomed>
  std::size_t erase_if(Doomed&& doomed) {
    std::size_t erased = 0;
    for (std::size_t at = 0; at < slots_.size();) {
      if (slots_[at].record != nullptr && doomed(*slots_[at].record)) {
        erase_at(at);
        ++erased;
      } else {
        ++at;
      }
    }
    return erased;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.record != nullptr) visit(*slot.record);
    }
  }
  std::size_t size() const { return size_; }
  /// How many records it has erased so far.
  std::uint64_t erasures() const { return erasures_; }

 private:
  struct Slot {
    std::uint64_t hash;
    Record* record;
  };

  std::size_t mask() const { return mask_; }
  void grow();
  void insert(std::uint64_t hash, Record* record);
  void erase_at(std::size_t hole);
  bool replace(std::uint64_t hash, Record* record);
  void insert_new(std::uint64_t hash, Record* record);
  const Record* next_expired(Time now);

  // More slots are visited than a put fills, so cleaning keeps up with filling.
  static constexpr std::size_t cleaned_per_put = 4;

  static constexpr Slot no_slot_{};

  const Slot* first_slot_ = &no_slot_;  // of slots_; while that is empty, a slot that stays empty
  std::size_t mask_ = 0;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::size_t cleaned_to_ = 0;
  std::uint64_t erasures_ = 0;
};

}  // namespace weir::table
