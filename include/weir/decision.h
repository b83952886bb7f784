// The answer to an acquire.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "weir/detail/export.h"
#include "weir/lease.h"
#include "weir/report.h"

namespace weir {

/// Why an operator's block refused a request (Limiter::set_access).
struct Block {
  std::string entity;              ///< the blocked one: the entity itself, or one of its ancestors
  std::optional<Time> until = {};  ///< nothing: until the block is removed
  std::string reason = {};
  std::string resource = {};  ///< that the block is for; empty: every one
};

/// The answer to an acquire: admitted or refused. A refused request has charged nothing.
/// Owns the lease and a copy of every text, so it does not depend on the arguments of the call. Movable; not
/// safe to use from several threads at once.
class WEIR_API Decision {
 public:
  Decision() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the room for the report

  /// Whether every limit of the chain was charged.
  bool admitted() const { return admitted_; }
  /// Whether a limit refused, so that nothing was charged.
  bool refused() const { return !admitted_; }
  /// Refused, and no wait will help: the request asks for more than a limit's burst.
  bool never_fits() const { return never_fits_; }
  /// The exact time from now after which the same request would be admitted if no other request takes tokens:
  /// 0 when admitted. Nothing when it can never fit, and when no wait can be promised: a bucket that was
  /// asked for more than its capacity may have expired by then.
  std::optional<std::chrono::milliseconds> retry_after() const {
    if (wait_ < 0) return std::nullopt;
    return std::chrono::milliseconds(wait_);
  }
  /// Refused from the cache of exhausted buckets, without asking the store: the bucket was empty when last
  /// read, and its refill since then is too small. The cache never admits a request. Only on DynamoDB, and on
  /// Redis with `refuse_ms` in the store's URL.
  bool from_memory() const { return refused() && from_memory_; }
  /// The block that refused the request, whatever it asked for; null: none did.
  const Block* block() const { return blocked_ ? lease_.data_->block.get() : nullptr; }
  /// How long the request waited for this decision: see AcquireOptions::max_wait.
  std::chrono::milliseconds waited() const { return std::chrono::milliseconds(waited_); }
  /// Every limit of every bucket of the chain.
  const LimitReport& limits() const { return lease_.grant_; }
  /// The lease of an admitted acquire. Move it out to keep it longer than the decision; limits() stays
  /// readable. The lease of a refused request, or of available(), is not open.
  Lease& lease() { return lease_; }

  /// @cond
  // The members below are for stores, which fill a decision with them; they are not part of the public API.
  void set_admitted() {
    admitted_ = true;
    never_fits_ = false;
    wait_ = 0;
    from_memory_ = false;
    blocked_ = false;
  }
  void set_refused(std::optional<Time> wait, bool never_fits) {
    admitted_ = false;
    never_fits_ = never_fits;
    wait_ = wait.value_or(-1);
    from_memory_ = false;
    blocked_ = false;
  }
  void set_from_memory() { from_memory_ = true; }
  /// Refused by a block, for as long as it lasts from `now` on.
  void set_blocked(Block block, Time now);
  void set_waited(std::chrono::milliseconds waited) { waited_ = static_cast<std::uint32_t>(waited.count()); }
  LimitReport& report() { return lease_.grant_; }
  /// The charge, in the form that lease changes need.
  detail::LeaseData& lease_data() { return lease_.data(); }
  /// For a repeated request: the charge that its first copy made.
  void set_lease_data(detail::LeaseData data) {
    lease_.data_ = std::make_unique<detail::LeaseData>(std::move(data));
  }
  /// The lease data, or null if it was not made yet.
  detail::LeaseData* made_lease_data() { return lease_.data_.get(); }
  void set_deadline(Time deadline) { lease_.deadline_ = deadline; }
  void open_lease(detail::LeaseKeeper& keeper) {
    lease_.keeper_ = &keeper;
    lease_.exceptions_ = std::uncaught_exceptions();
  }
  /// @endcond

 private:
  bool admitted_ = false;
  bool never_fits_ = false;
  bool from_memory_ = false;
  bool blocked_ = false;
  std::uint32_t waited_ = 0;  ///< milliseconds
  Time wait_ = 0;
  Lease lease_;  // holds the report, whether it is open or not
};

}  // namespace weir
