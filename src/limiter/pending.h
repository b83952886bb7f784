// Asynchronous operations: a service starts them on one thread, and the completion may be called on another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/acquire_operation.h"
#include "limiter/core.h"
#include "limiter/correction_operation.h"
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

  using Mode = AcquireOperation::Mode;
  /// Mode::peek: decides without charging, as available() does; but a repetition of an admitted request has
  /// its lease.
  void start(std::string_view entity, std::string_view resource, std::span<const Charge> consume,
             const AcquireOptions& options, store::Completion<void> done, Mode mode = Mode::acquire);
  /// Charges every limit of the chain. The options have no idempotency key. `costs` must stay valid until the
  /// completion was called.
  void start_every(std::string_view entity, std::string_view resource, const CostOfEvery& costs,
                   const AcquireOptions& options, store::Completion<void> done);
  /// Decides as if the entity were exempt, such as a replay of a decision for one. Before the start.
  void treat_as_exempt() { treated_as_exempt_ = true; }
  /// After success.
  Decision& decision() { return decision_; }
  /// After success: whether the entity was exempt from limits. The fast path knows no exempt entity.
  bool exempt() const { return deciding_ && deciding_->exempt(); }
  /// After success: whether it is admitted and repeats a keyed acquire, or is one.
  bool repeats() { return nonce_ && decision_.admitted() && decision_.made_lease_data() != nullptr; }

 private:
  bool start_carried(const store::Request& request);
  void decide(const store::Request& request);
  void finish(Result<void> result);

  Core& core_;
  Decision decision_;
  std::optional<Core::Nonce> nonce_;            ///< of a keyed acquire
  std::unique_ptr<AcquireOperation> deciding_;  ///< on the slow path
  Mode mode_ = Mode::acquire;
  bool treated_as_exempt_ = false;
  std::optional<store::Completion<void>> done_;
};

/// A change to a lease, by its id or by its decision. The same lifetimes hold.
class PendingChange {
 public:
  explicit PendingChange(Core& core) : core_(core) {}
  PendingChange(const PendingChange&) = delete;
  PendingChange& operator=(const PendingChange&) = delete;

  void start(std::string_view id, const decision::LeaseChange& change, store::Completion<void> done);
  /// Takes the lease of an admitted decision of the same core. `limits`: those that the request was sent
  /// with; null: none.
  void take(Decision& decision, const RequestLimits* limits);
  /// Changes the lease that was taken. May be called again after the completion was called, and by it.
  void start_taken(const decision::LeaseChange& change, store::Completion<void> done);
  /// After success.
  const LimitReport& report() { return changing_->report(); }
  Time deadline() const { return lease_.deadline; }
  /// The lease as it was when the change started; empty if its id cannot be used.
  const detail::LeaseData& lease() const { return lease_; }

 private:
  Core& core_;
  detail::LeaseData lease_;
  limits::LimitSetRef request_limits_;
  std::optional<LeaseOperation> changing_;
};

/// Lowers balances (Limiter::lower). The same lifetimes hold, and the amounts are checked by the caller.
class PendingCorrection {
 public:
  explicit PendingCorrection(Core& core)
      : core_(core), correcting_(core.buckets_, core.store_.catalog(), core.shared_) {}
  PendingCorrection(const PendingCorrection&) = delete;
  PendingCorrection& operator=(const PendingCorrection&) = delete;

  void lower(std::string_view entity, std::string_view resource, std::span<const Charge> at_most,
             store::Completion<void> done);

 private:
  Core& core_;
  CorrectionOperation correcting_;
};

}  // namespace weir::limiter
