// `memory:`: everything in this process, lost when it ends. The reference for every other store.
#pragma once

#include "store/table/table_store.h"

namespace weir::memory {

/// Safe to use from any thread. The clock must outlive the store.
class MemoryStore final : public table::TableStore {
 public:
  using TableStore::TableStore;
};

}  // namespace weir::memory
