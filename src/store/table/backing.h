// The persistent storage behind a table. The memory store has none.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "decision/marker.h"
#include "store/catalog.h"
#include "store/table/draft.h"
#include "store/table/record.h"
#include "store/table/usage_ledger.h"

namespace weir::table {

using decision::Marker;
using decision::Nonce;

/// Read when a record is not in memory. Memory drops only records that have expired or were deleted, except
/// by Table::let_go(). Safe to use from any thread; called without the table's locks.
class Backing {
 public:
  virtual ~Backing() = default;

  /// A bucket as it was last written, expired or not; null if there is none.
  virtual Result<RecordPtr> load(const Key& key) = 0;
  /// Every bucket of an entity.
  virtual Result<std::vector<RecordPtr>> load_all(std::string_view name_space, std::string_view entity) = 0;
  virtual Result<std::optional<Marker>> load_marker(const Nonce& nonce) = 0;
  virtual Result<store::Page<store::AuditEvent>> audit(std::string_view name_space, std::string_view subject,
                                                       const store::Paging& paging, Time oldest) = 0;

  /// Stores the whole draft with these events, or nothing and fails. Once it is stored, and before anything
  /// else can be written, calls `kept`.
  virtual Result<void> keep(std::string_view name_space, const Draft& draft,
                            const std::vector<store::AuditEvent>& events,
                            const std::function<void()>& kept) = 0;
  /// Deletes everything of a namespace, or nothing and fails. Then calls `erased` as keep() calls `kept`.
  virtual Result<void> erase_namespace(std::string_view name_space, const std::function<void()>& erased) = 0;
};

/// Receives the records that changed in memory since the last capture.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void put(const Record& record) = 0;
  virtual void put(const Nonce& nonce, const Marker& marker) = 0;
  virtual void put(const ClosedSegment& closed) = 0;
};

}  // namespace weir::table
