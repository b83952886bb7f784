// The usage that a store has counted.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/completion.h"
#include "usage/retention.h"
#include "weir/catalog.h"
#include "weir/usage.h"

namespace weir::store {

using weir::Page;
using weir::Paging;

/// Which usage to read. The texts must stay valid until the operation completes.
struct UsageQuery {
  std::string_view name_space;
  std::string_view entity;    ///< empty: every entity; then the resource is given
  std::string_view resource;  ///< empty: every resource; then the entity is given
  Time from = 0;              ///< the start of an hour
  Time to = 0;                ///< windows that start here or later are left out
};

/// What a collection of usage found.
struct UsageCollected {
  std::int64_t segments = 0;  ///< that were handed over
  std::int64_t lost = 0;      ///< hours of a bucket that were not collected in time
};

/// Safe to call from any thread.
class UsageReader {
 public:
  virtual ~UsageReader() = default;
  /// The usage as it is stored: hours, and whole days where the hours are not kept any more. Each window of
  /// an entity and a resource is one row. Order: with an entity by resource and start, otherwise by start and
  /// entity. A page may have fewer rows than asked for; it is the last one only if it has no `next`.
  virtual void read(const UsageQuery& query, const Paging& paging, Completion<Page<Usage>> done) = 0;
  /// Stores in which a bucket keeps the usage of its present hour: hands over hours that are over, before the
  /// buckets expire, and folds and deletes old usage. They do this by themselves in every process that runs
  /// for long; others need not. Blocks.
  virtual Result<UsageCollected> collect() { return UsageCollected(); }
};

using UsageKept = usage::Kept;

}  // namespace weir::store
