// Operations for callers that do not block: a service starts them on one thread and is told on another.
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

/// An acquire. Stays where it is from start() until its completion was called; so do the texts and the
/// charges that it was given, and the core.
class PendingAcquire {
 public:
  explicit PendingAcquire(Core& core) : core_(core) {}
  PendingAcquire(const PendingAcquire&) = delete;
  PendingAcquire& operator=(const PendingAcquire&) = delete;

  void start(std::string_view entity, std::string_view resource, std::span<const Charge> consume,
             const AcquireOptions& options, store::Completion<void> done);
  /// Charges every limit there is with `amount`. `believed`: what they are probably called, in order, each
  /// with that amount; right, it is faster. May be empty.
  void start_every(std::string_view entity, std::string_view resource, const Amount& amount,
                   std::span<const Charge> believed, const RequestLimits* limits,
                   store::Completion<void> done);
  /// After success.
  Decision& decision() { return decision_; }

 private:
  bool start_carried(const store::Request& request);
  void decide(const store::Request& request);
  void finish(Result<void> result);

  Core& core_;
  Decision decision_;
  std::optional<Core::Nonce> nonce_;            ///< of an acquire that may be sent again
  std::unique_ptr<AcquireOperation> deciding_;  ///< once the fast way was closed
  std::optional<store::Completion<void>> done_;
};

/// A change to a lease by its id. As above.
class PendingChange {
 public:
  explicit PendingChange(Core& core) : core_(core) {}
  PendingChange(const PendingChange&) = delete;
  PendingChange& operator=(const PendingChange&) = delete;

  void start(std::string_view id, const decision::LeaseChange& change, store::Completion<void> done);
  /// After success.
  const LimitReport& report() { return changing_->report(); }

 private:
  Core& core_;
  detail::LeaseData lease_;
  std::optional<LeaseOperation> changing_;
};

}  // namespace weir::limiter
