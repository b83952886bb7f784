// Buckets: the central operation of a store. A plan goes in, a decision comes out, and it is carried out
// whole or not at all.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "decision/lease.h"
#include "limits/resolution.h"
#include "store/completion.h"
#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/decision.h"

namespace weir::store {

using weir::Page;
using weir::Paging;

/// A request for one entity on one resource. The texts and spans must stay valid until the operation
/// completes.
struct Request {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
  std::span<const Charge> consume;                   ///< amounts checked: 0 or more, in range
  const limits::LimitSet* request_limits = nullptr;  ///< the lowest level; may be null
  Time lease_for = 0;                                ///< how long the lease can be changed
  std::uint64_t name_space_token = 0;                ///< token_of() of the namespace; 0: not known
  /// Charges every limit of every bucket: with the amount that `named` has for it, concurrent limits with 1,
  /// and all others with this amount. `consume` is then the caller's guess of their names and amounts:
  /// acquire_carried() and start_carried() decide only if it is right; the plan of acquire() names all
  /// limits.
  const Amount* every = nullptr;
  std::span<const Charge> named = {};
  /// The nonce of the lease, for an acquire that is charged once however often it is sent. Not for
  /// acquire_carried() and start_carried(). An admission writes the lease's marker in the same step. Where a
  /// marker exists, nothing is charged and the answer is admitted, with the present balances and the marker's
  /// deadline.
  const std::array<std::uint64_t, 2>* once = nullptr;
  bool shadow = false;       ///< no limit refuses; those that would are left out of the charge, and reported
  bool counts_usage = true;  ///< false: the charge does not count as usage, whatever the resource's setting
};

/// Whether charges of this request on a bucket with this resolution count as usage.
inline bool counts_usage(const Request& request, const limits::Resolution& resolution) {
  return (request.counts_usage & resolution.counts_usage) != 0;  // without a branch
}

/// A request and the resolved limits of its bucket, linked to those of the rest of the chain.
struct Plan {
  Request request;
  limits::ResolutionRef resolution;
  bool counts_usage() const { return store::counts_usage(request, *resolution); }
};

/// A change to a lease, and the limits in force in each of its buckets.
struct LeasePlan {
  std::string_view name_space;
  const detail::LeaseData& lease;
  decision::LeaseChange change;
  std::span<const limits::ResolutionRef> resolutions;  ///< one per bucket of the lease
};

/// How far an operation got that did not fail.
enum class Progress {
  decided,        ///< the answer is in the output
  resolve_again,  ///< the plan is out of date; nothing was changed
};

/// The result of a change to a lease.
struct LeaseOutcome {
  LimitReport report;
  decision::LeaseRecord record;  ///< the lease after the change
  Time deadline = 0;             ///< the same
};

/// The buckets of a store. Safe to call from any thread. Outputs must stay valid until completion; they
/// are unspecified after an error.
class Buckets {
 public:
  virtual ~Buckets() = default;

  /// A value that the store would otherwise compute from the namespace on every request; callers with one
  /// namespace keep it.
  virtual std::uint64_t token_of(std::string_view /*name_space*/) const { return 0; }
  /// The fast path of in-process stores: decides with the resolution that the bucket keeps from an earlier
  /// call. False, with nothing changed, if there is none, if it is out of date, or if the call is not plain;
  /// the caller then resolves and calls acquire. Allocates nothing where the bucket has no ancestors and
  /// needs no change but the charge.
  virtual bool acquire_carried(const Request& /*request*/, Decision& /*decision*/) { return false; }

  /// Whether acquire_carried() and start_carried() support Request::every. If not, they are not called for
  /// it.
  virtual bool carries_every() const { return false; }
  /// The same for stores that answer later. False: nothing was done, and `done` will not be called.
  virtual bool start_carried(const Request& request, Decision& decision, Completion<Progress> done) {
    if (!acquire_carried(request, decision)) return false;
    done(Progress::decided);
    return true;
  }

  /// Admits the whole plan and charges it, or refuses it and changes nothing.
  virtual void acquire(const Plan& plan, Decision& decision, Completion<Progress> done) = 0;
  /// The decision of an acquire, without the charge.
  virtual void peek(const Plan& plan, Decision& decision, Completion<Progress> done) = 0;
  /// Adjusts, extends, settles or rolls back a lease, once.
  virtual void change(const LeasePlan& plan, LeaseOutcome& outcome, Completion<Progress> done) = 0;

  /// A caller that serves many requests announces the begin and the end of a batch of them. Within a round
  /// the store may delay an operation for a moment, so that several share a write. For threads with an
  /// executor (executor.h); rounds of several threads may overlap.
  virtual void begin_round() {}
  virtual void end_round() {}

  /// The buckets of an entity, by resource. `in_force`: whether a limit was when the bucket was last written.
  virtual void list(std::string_view name_space, std::string_view entity, const Paging& paging,
                    Completion<Page<Bucket>> done) = 0;
};

}  // namespace weir::store
