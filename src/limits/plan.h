// The record of a plan: sets of limits that entities refer to by one name.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "limits/record.h"

namespace weir::limits {

/// Each set is a record as a level has it, with its stamp and its earlier versions. Immutable; a change makes
/// a new record from the old one. Safe to share between threads.
struct PlanRecord : base::RefCounted<PlanRecord> {
  LimitsRecordRef limits;  ///< on every resource without a set of its own; may be empty
  /// By resource. A set that was removed stays as a tombstone, for buckets that have not followed yet.
  std::map<std::string, LimitsRecordRef, std::less<>> resources;
  bool from_file = false;  ///< written by applying a limits file
  /// A sentence that says why the record of the store cannot be used; empty: it is good. A bad record has no
  /// limits, so that the next level applies. A put replaces it.
  std::string bad = {};

  /// The set of a resource, deleted or not; may be empty.
  LimitsRecordRef on(std::string_view resource) const {
    const auto found = resources.find(resource);
    return found == resources.end() ? LimitsRecordRef() : found->second;
  }
};

/// Every check of a plan that needs no store.
Result<void> check_plan_record(const LimitsPlan& plan);

using PlanRecordRef = base::Ref<const PlanRecord>;

}  // namespace weir::limits
