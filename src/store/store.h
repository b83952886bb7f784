// A store: where buckets, limits, entities and leases live.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/buckets.h"
#include "store/catalog.h"
#include "store/counter.h"
#include "store/usage.h"

namespace weir::store {

/// The secret that signs lease ids. Kept in the store, so that all processes on it use the same one.
using LeaseKey = std::array<std::byte, 32>;

/// One store, by noun. Safe to use from any thread.
class Store {
 public:
  virtual ~Store() = default;
  virtual Buckets& buckets() = 0;
  virtual Catalog& catalog() = 0;
  virtual UsageReader& usage() = 0;
  virtual const LeaseKey& lease_key() const = 0;
  /// Whether the lease key is known: a remote store may have been opened while it was unavailable. The error
  /// names the cause.
  virtual Result<void> opened() const { return {}; }
  /// Whether the store can decide, by the result of its last attempt: cheap, and never waits for I/O. The
  /// error names the cause. Once it is well again after a failure, operations succeed again.
  virtual Result<void> health() const = 0;
  /// Whether operations wait for another process, so that a thread that serves others must not block on them.
  virtual bool is_elsewhere() const { return false; }
  /// The clock that deadlines of leases are measured by.
  virtual Time now() const = 0;
  /// Whether every change to a lease must write a marker, even where only its holder knows the lease: for
  /// stores whose answer can get lost, so that a retry is safe.
  virtual bool every_change_is_marked() const { return false; }
  /// Counters of the store's internals, grouped by name. Safe to call from any thread.
  virtual std::vector<Counter> counters() const { return {}; }
  /// Warnings for the operator that need no immediate action, such as a clock that was wrong. New ones are
  /// appended. Safe to call from any thread.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// Stores how this process can be reached, for other processes that try to open a store that only one may
  /// have open.
  virtual void announce(const std::string& /*how*/) {}
  /// Sets a function that is called with the duration of each commit, from any thread, where the store
  /// commits in this process.
  virtual void observe_commits(const std::function<void(std::chrono::nanoseconds)>& /*observer*/) {}
  /// The namespaces that have limits, plans, entities or buckets, by name. May read all keys of the store.
  virtual Result<std::vector<std::string>> namespaces() {
    return Error{ErrorCode::invalid_argument, "this store cannot list its namespaces"};
  }
  /// Deletes everything that a namespace has: limits, plans, entities, buckets, leases (in a file they end by
  /// their deadlines), usage and audit. Blocks, and can be repeated. Requests that processes with outdated
  /// limits decide meanwhile may leave buckets behind.
  virtual Result<void> erase_namespace(std::string_view name_space) = 0;
  /// Sets how long events of the audit are kept, for every namespace; the store remembers it.
  virtual Result<void> keep_audit_for(Time duration) = 0;
  /// Sets how long usage is kept; the store remembers it.
  virtual Result<void> keep_usage(const UsageKept& kept) = 0;
};

}  // namespace weir::store
