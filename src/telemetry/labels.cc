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
  const Pair* const others = find(hash_of(name_space, other), name_space, other);
  const std::size_t id_of_others = others == nullptr ? 0 : others->id;
  // Beyond the bound without the lock: a client may send a new name with every request.
  const auto& full = others == nullptr ? namespaces_full_ : pairs_full_;
  if (known_only || full.load(std::memory_order_acquire)) return id_of_others;
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
  if (++own_ == most_.pairs) pairs_full_.store(true, std::memory_order_release);
  return add(name_space, resource);
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
