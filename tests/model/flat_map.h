// A hash map from fixed-size keys, for the checker's memory of what it computed before.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace weir::model {

inline std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9E3779B97F4A7C15U;
  value ^= value >> 32U;
  value *= 0xD6E8FEB86659FD93U;
  return value ^ value >> 29U;
}

/// A hash of an object without padding whose size is a multiple of 8.
template <class Object>
std::uint64_t hash_of(const Object& object) {
  static_assert(sizeof(Object) % 8 == 0);
  std::uint64_t words[sizeof(Object) / 8];
  std::memcpy(words, &object, sizeof(Object));
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  return mixed(hash);
}

/// Open addressing; grows at half full. Keys are compared byte by byte.
template <class Key, class Value>
class FlatMap {
 public:
  FlatMap() : slots_(1024) {}

  const Value* find(const Key& key) const {
    for (std::size_t at = hash_of(key) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (!slots_[at].used) return nullptr;
      if (std::memcmp(&slots_[at].key, &key, sizeof(Key)) == 0) return &slots_[at].value;
    }
  }
  /// Requires that the key is not there.
  const Value& add(const Key& key, Value value) {
    if (2 * ++size_ > slots_.size()) grow();
    return place(key, std::move(value));
  }

 private:
  struct Slot {
    Key key;
    Value value;
    bool used = false;
  };

  const Value& place(const Key& key, Value value) {
    std::size_t at = hash_of(key) & (slots_.size() - 1);
    while (slots_[at].used) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, std::move(value), true};
    return slots_[at].value;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.used) place(slot.key, std::move(slot.value));
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace weir::model
