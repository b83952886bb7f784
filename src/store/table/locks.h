// The locks of one operation on a chain.
#pragma once

#include <algorithm>

#include "limits/names.h"
#include "store/table/table.h"

namespace weir::table {

/// Holds the locks of a chain's shards. Which shards those are is known only at run time, so the compiler
/// cannot check them; this class confines the unchecked code. Shards are locked in the order of their
/// addresses, so that there is no deadlock.
class Table::Locks {
 public:
  Locks() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the storage
  ~Locks() { release(); }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  /// Requires that none is held.
  void lock_all(Slots& slots) WEIR_NOT_ANALYSED {
    for (const Slot& slot : slots) held_[size_++] = slot.shard;
    std::sort(held_, held_ + size_);
    size_ = static_cast<std::size_t>(std::unique(held_, held_ + size_) - held_);
    for (std::size_t i = 0; i < size_; ++i) held_[i]->lock.lock();
  }
  void release() WEIR_NOT_ANALYSED {
    while (size_ > 0) held_[--size_]->lock.unlock();
  }
  /// The map of a shard that is held.
  static BucketMap& map_of(Shard& shard) WEIR_NOT_ANALYSED { return shard.map; }

 private:
  std::size_t size_ = 0;
  Shard* held_[limits::max_chain];
};

}  // namespace weir::table
