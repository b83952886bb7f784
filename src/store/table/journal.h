// Where a table writes through to, if anywhere. The memory store has none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/catalog.h"
#include "store/table/draft.h"

namespace weir::table {

/// What a store behind the table keeps of the catalog.
class CatalogJournal {
 public:
  virtual ~CatalogJournal() = default;
  /// Keeps everything in the draft, with these events, or nothing. Called with the catalog's lock held,
  /// before anything is in place in memory.
  virtual Result<void> keep(std::string_view name_space, const Draft& draft,
                            const std::vector<store::AuditEvent>& events) = 0;
};

}  // namespace weir::table
