// The pairs of namespace and resource that have their own counters. Names are untrusted, so their number is
// bounded: later pairs are counted as `other`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/lock.h"

namespace weir::telemetry {

/// The label of pairs without their own.
inline constexpr std::string_view other = "other";

/// A table that only grows. Looking up takes no lock; safe to use from any thread.
class Labels {
 public:
  struct Pair {
    std::uint64_t hash = 0;
    std::string name_space;
    std::string resource;
    std::size_t id = 0;  ///< from 0, without gaps
  };
  struct Most {
    std::size_t pairs = 500;
    std::size_t namespaces = 100;
  };

  Labels(const Most& most, base::HashSeed seed);

  /// The pair's id; that of (namespace, other) or (other, other) beyond the bound, and with `known_only` for
  /// an unknown pair.
  std::size_t id_of(std::string_view name_space, std::string_view resource, bool known_only = false) {
    const std::uint64_t hash = hash_of(name_space, resource);
    if (const Pair* const found = find(hash, name_space, resource)) [[likely]]
      return found->id;
    return id_of_new(hash, name_space, resource, known_only);
  }

  /// All ids are smaller.
  std::size_t most_ids() const { return most_.pairs + most_.namespaces + 1; }
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  const Pair& operator[](std::size_t id) const { return *by_id_[id].load(std::memory_order_acquire); }

 private:
  std::uint64_t hash_of(std::string_view name_space, std::string_view resource) const {
    return base::hash(resource, seed_, base::hash(name_space, seed_));
  }
  const Pair* find(std::uint64_t hash, std::string_view name_space, std::string_view resource) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Pair* const pair = slots_[at].load(std::memory_order_acquire);
      if (pair == nullptr) return nullptr;
      if (pair->hash == hash && base::same(pair->resource, resource) &&
          base::same(pair->name_space, name_space))
        return pair;
    }
  }
  std::size_t id_of_new(std::uint64_t hash, std::string_view name_space, std::string_view resource,
                        bool known_only);
  std::size_t add_new(std::string_view name_space, std::string_view resource) WEIR_REQUIRES(mutex_);
  std::size_t add(std::string_view name_space, std::string_view resource) WEIR_REQUIRES(mutex_);

  const Most most_;
  const base::HashSeed seed_;
  const std::size_t mask_;
  const std::unique_ptr<std::atomic<const Pair*>[]> slots_;
  const std::unique_ptr<std::atomic<const Pair*>[]> by_id_;
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> pairs_full_{false};
  std::atomic<bool> namespaces_full_{false};
  base::Mutex mutex_;
  std::deque<Pair> pairs_ WEIR_GUARDED_BY(mutex_);  ///< readers use its elements, which never move
  std::size_t own_ WEIR_GUARDED_BY(mutex_) = 0;
  std::size_t namespaces_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::telemetry
