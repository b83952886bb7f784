#include "telemetry/labels.h"

#include <bit>

namespace weir::telemetry {

Labels::Labels(const Most& most, base::HashSeed seed)
    : most_(most),
      seed_(seed),
      // At most a quarter full, so that the lookup of an unknown name ends soon.
      mask_(std::bit_ceil(4 * most_ids()) - 1),
      slots_(new std::atomic<const Pair*>[mask_ + 1]()),
      by_id_(new std::atomic<const Pair*>[most_ids()]()) {
  const base::Guard guard(mutex_);
  add(other, other);
}

std::size_t Labels::id_of_new(std::uint64_t hash, std::string_view name_space, std::string_view resource,
                              bool known_only) {
  // Read before the names: all that was added before the table was full is found then.
  const bool namespaces_full = namespaces_full_.load(std::memory_order_acquire);
  const bool pairs_full = pairs_full_.load(std::memory_order_acquire);
  const Pair* const others = find(hash_of(name_space, other), name_space, other);
  // Beyond the bound without the lock: a client may send a new name with every request.
  if (known_only || (others == nullptr ? namespaces_full : pairs_full)) {
    // Another thread may have added the pair since it was first looked up.
    if (const Pair* const found = find(hash, name_space, resource)) return found->id;
    return others == nullptr ? 0 : others->id;
  }
  const base::Guard guard(mutex_);
  // Another thread may have added the pair meanwhile.
  if (const Pair* const found = find(hash, name_space, resource)) return found->id;
  return add_new(name_space, resource);
}

std::size_t Labels::add_new(std::string_view name_space, std::string_view resource) {
  const Pair* const others = find(hash_of(name_space, other), name_space, other);
  std::size_t id = others == nullptr ? 0 : others->id;
  if (others == nullptr) {
    if (namespaces_ == most_.namespaces) return id;
    // The namespace's `other` is added with it, so that it is later found without the lock.
    id = add(name_space, other);
    if (++namespaces_ == most_.namespaces) namespaces_full_.store(true, std::memory_order_release);
  }
  if (own_ == most_.pairs || resource == other) return id;
  id = add(name_space, resource);
  if (++own_ == most_.pairs) pairs_full_.store(true, std::memory_order_release);
  return id;
}

std::size_t Labels::add(std::string_view name_space, std::string_view resource) {
  const std::uint64_t hash = hash_of(name_space, resource);
  const std::size_t id = pairs_.size();
  const Pair& pair = pairs_.emplace_back(Pair{hash, std::string(name_space), std::string(resource), id});
  std::size_t at = hash & mask_;
  while (slots_[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask_;
  by_id_[id].store(&pair, std::memory_order_release);
  size_.store(id + 1, std::memory_order_release);
  slots_[at].store(&pair, std::memory_order_release);
  return id;
}

}  // namespace weir::telemetry
