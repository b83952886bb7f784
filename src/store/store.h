// A store: where buckets, limits, entities and leases live.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "store/buckets.h"
#include "store/catalog.h"
#include "store/counter.h"

namespace weir::store {

/// The secret under which lease ids are signed. Kept in the store, so that every process on it agrees.
using LeaseKey = std::array<std::byte, 32>;

/// One store, by noun. Safe to use from any thread.
class Store {
 public:
  virtual ~Store() = default;
  virtual Buckets& buckets() = 0;
  virtual Catalog& catalog() = 0;
  virtual const LeaseKey& lease_key() const = 0;
  /// Whether the lease key is known: a store that is elsewhere may have been opened before it could be
  /// reached. An error says what is wrong.
  virtual Result<void> opened() const { return {}; }
  /// Whether it can decide, as far as it knows without asking anybody: cheap, and as good as its last
  /// attempt. An error says what is wrong. Once it says that all is well after a failure, operations work
  /// again.
  virtual Result<void> health() const = 0;
  /// Whether asking it means to wait for another process: then nobody should who serves others.
  virtual bool is_elsewhere() const { return false; }
  /// The clock that deadlines of leases are measured by.
  virtual Time now() const = 0;
  /// Whether every change to a lease must leave a marker, also where nobody but its holder knows it: in
  /// stores whose answer can get lost on the way, so that asking again is safe.
  virtual bool every_change_is_marked() const { return false; }
  /// What it counts beyond what its callers can see, those of one name in a row. From any thread.
  virtual std::vector<Counter> counters() const { return {}; }
  /// What whoever runs the program should know and do nothing about in a hurry, such as a clock that was
  /// wrong: found when the store was opened, or since. Grows, in the same order. From any thread.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// How long events of the audit are kept, for every namespace; remembered by the store.
  virtual Result<void> keep_audit_for(Time duration) = 0;
};

}  // namespace weir::store
