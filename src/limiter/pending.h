// Asynchronous operations: a service starts them on one thread, and the completion may be called on another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/acquire_operation.h"
#include "limiter/core.h"
#include "limiter/lease_operation.h"

namespace weir::limiter {

/// What a request costs of limits that it does not know. Concurrent limits cost 1.
struct CostOfEvery {
  Amount amount = 1;  ///< of each limit that has no other below
  std::span<const Charge> named =
      {};  ///< limits that cost something else; those that do not exist are left out
  std::span<const Charge> believed = {};  ///< the probable limits in order; a right guess is faster
};

/// An acquire. Must not be moved or destroyed from start() until its completion was called; its texts and
/// charges and the core must stay valid as long.
class PendingAcquire {
 public:
  explicit PendingAcquire(Core& core) : core_(core) {}
  PendingAcquire(const PendingAcquire&) = delete;
  PendingAcquire& operator=(const PendingAcquire&) = delete;

  void start(std::string_view entity, std::string_view resource, std::span<const Charge> consume,
             const AcquireOptions& options, store::Completion<void> done);
  /// Charges every limit of the chain. The options have no idempotency key. `costs` must stay valid until the
  /// completion was called.
  void start_every(std::string_view entity, std::string_view resource, const CostOfEvery& costs,
                   const AcquireOptions& options, store::Completion<void> done);
  /// After success.
  Decision& decision() { return decision_; }

 private:
  bool start_carried(const store::Request& request);
  void decide(const store::Request& request);
  void finish(Result<void> result);

  Core& core_;
  Decision decision_;
  std::optional<Core::Nonce> nonce_;            ///< of a keyed acquire
  std::unique_ptr<AcquireOperation> deciding_;  ///< on the slow path
  std::optional<store::Completion<void>> done_;
};

/// A change to a lease, by its id or by its decision. The same lifetimes hold.
class PendingChange {
 public:
  explicit PendingChange(Core& core) : core_(core) {}
  PendingChange(const PendingChange&) = delete;
  PendingChange& operator=(const PendingChange&) = delete;

  void start(std::string_view id, const decision::LeaseChange& change, store::Completion<void> done);
  /// Takes the lease of an admitted decision of the same core.
  void take(Decision& decision);
  /// Changes the lease that was taken. May be called again after the completion was called, and by it.
  void start_taken(const decision::LeaseChange& change, store::Completion<void> done);
  /// After success.
  const LimitReport& report() { return changing_->report(); }
  Time deadline() const { return lease_.deadline; }

 private:
  Core& core_;
  detail::LeaseData lease_;
  std::optional<LeaseOperation> changing_;
};

}  // namespace weir::limiter
