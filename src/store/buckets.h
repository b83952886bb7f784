// Buckets: the one verb at the centre. A plan goes in, a decision comes out, and nothing in between can
// be half done.
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

/// Who asks for what. The texts and spans must stay valid until the operation completes.
struct Request {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
  std::span<const Charge> consume;                   ///< amounts checked: 0 or more, in range
  const limits::LimitSet* request_limits = nullptr;  ///< the lowest level; may be null
  Time lease_for = 0;                                ///< how long the lease can be changed
  std::uint64_t name_space_token = 0;                ///< what token_of() said of the namespace; 0: not asked
  /// Charges every limit of every bucket with this much, whatever they are called; `consume` is then what the
  /// caller takes them to be, each with this amount. The carried doors decide only if that is right; the plan
  /// of acquire() names them all.
  const Amount* every = nullptr;
  /// Of an acquire that is charged once however often it is sent, the nonce of its lease. Not for the carried
  /// doors. An admission leaves the lease's marker behind in the same step; where one is found, nothing is
  /// charged, and the answer is admitted, with what the buckets hold now and the marker's deadline.
  const std::array<std::uint64_t, 2>* once = nullptr;
};

/// A request and the resolved limits of its bucket and, behind them, of the chain's.
struct Plan {
  Request request;
  limits::ResolutionRef resolution;
};

/// A change to a lease: what it concerns, and the limits in force in each of its buckets.
struct LeasePlan {
  std::string_view name_space;
  const detail::LeaseData& lease;
  decision::LeaseChange change;
  std::span<const limits::ResolutionRef> resolutions;  ///< one per bucket of the lease
};

/// What became of an operation that could not be refused outright.
enum class Progress {
  decided,        ///< the answer is in the output
  resolve_again,  ///< the plan is out of date; nothing was changed
};

/// What came of a change to a lease.
struct LeaseOutcome {
  LimitReport report;
  decision::LeaseRecord record;  ///< the lease after the change
};

/// The buckets of a store. Safe to call from any thread. Outputs must stay valid until completion; they
/// are unspecified after an error.
class Buckets {
 public:
  virtual ~Buckets() = default;

  /// What the store would have to find out about a namespace on every request, for callers that keep to one.
  virtual std::uint64_t token_of(std::string_view /*name_space*/) const { return 0; }
  /// The fast door of in-process stores: decides with the resolution that the bucket carries from an
  /// earlier call. False, with nothing changed, if there is none, if it is out of date, or if the call is
  /// not plain; the caller then resolves and calls acquire. Allocates nothing where a bucket
  /// stands alone and needs no change but the charge.
  virtual bool acquire_carried(const Request& /*request*/, Decision& /*decision*/) { return false; }

  /// Whether the carried doors heed Request::every. Those that do not are passed by.
  virtual bool carries_every() const { return false; }
  /// The same for stores that answer later. False: nothing was done, and `done` will not be called.
  virtual bool start_carried(const Request& request, Decision& decision, Completion<Progress> done) {
    if (!acquire_carried(request, decision)) return false;
    done(Progress::decided);
    return true;
  }

  /// Admits the whole plan and charges it, or refuses it and changes nothing.
  virtual void acquire(const Plan& plan, Decision& decision, Completion<Progress> done) = 0;
  /// What acquire would decide; charges nothing.
  virtual void peek(const Plan& plan, Decision& decision, Completion<Progress> done) = 0;
  /// Adjusts, settles or rolls back a lease, once.
  virtual void change(const LeasePlan& plan, LeaseOutcome& outcome, Completion<Progress> done) = 0;

  /// A caller that serves many at once says when it begins to work through what has come and when there is
  /// nothing left. What is asked for in between may wait a moment for what follows it, so that they share a
  /// write. For threads with an executor (executor.h); rounds of several may overlap.
  virtual void begin_round() {}
  virtual void end_round() {}

  /// The buckets of an entity, by resource. `in_force`: whether a limit was when the bucket was last written.
  virtual void list(std::string_view name_space, std::string_view entity, const Paging& paging,
                    Completion<Page<Bucket>> done) = 0;
};

}  // namespace weir::store
