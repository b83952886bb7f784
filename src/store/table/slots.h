// The slots of a chain's buckets in the table.
#pragma once

#include "decision/chain.h"
#include "store/table/record.h"

namespace weir::table {

struct Shard;

struct Slot {
  Shard* shard;
  std::uint64_t hash;
  Record* record;  ///< null: none, or expired
};

/// A chain, and the slot of each link.
struct Slots {
  decision::Chain chain;
  Slot slots[limits::max_chain];

  std::size_t size() const { return chain.size(); }
  bool full() const { return chain.full(); }
  Slot* begin() { return slots; }
  Slot* end() { return slots + chain.size(); }
  Slot& operator[](std::size_t index) { return slots[index]; }
  /// The slot of a link of the chain.
  Slot& of(const decision::Link& link) { return slots[&link - chain.begin()]; }
};

}  // namespace weir::table
