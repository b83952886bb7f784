// Buckets: the central operation of a store. A plan goes in, a decision comes out, and it is carried out
// whole or not at all.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "decision/correction.h"
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
  /// Of an exempt entity: everything that was asked for, where `consume` leaves out names that no limit has.
  /// The lease of a repeated acquire may hold them. Empty: `consume` is everything.
  std::span<const Charge> asked = {};
  /// The nonce of the lease, for an acquire that is charged once however often it is sent. Not for
  /// acquire_carried() and start_carried(). An admission writes the lease's marker in the same step. Where a
  /// marker exists, nothing is charged and the answer is admitted, with the present balances and the marker's
  /// deadline.
  const std::array<std::uint64_t, 2>* once = nullptr;
  bool shadow = false;       ///< no limit refuses; those that would are left out of the charge, and reported
  bool counts_usage = true;  ///< false: the charge does not count as usage, whatever the resource's setting
};

/// Everything that was asked for, whether a limit has the name or not.
inline std::span<const Charge> asked_of(const Request& request) {
  return request.asked.empty() ? request.consume : request.asked;
}

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
  /// The limits that the acquire was sent with, if the caller still has them. The change does not put them in
  /// force. A store may check whether the first bucket still has them, which saves a read.
  limits::LimitSetRef request_limits = {};
};

/// A correction of one bucket, and the limits in force in it.
struct CorrectionPlan {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
  decision::Correction correction;
  limits::ResolutionRef resolution;  ///< has limits
  /// For a correction that happens once however often it is sent: the nonce of its key. A marker is written
  /// in the same step, as for Request::once.
  const std::array<std::uint64_t, 2>* once = nullptr;
};

/// How far an operation got that did not fail.
enum class Progress {
  decided,        ///< the answer is in the output
  resolve_again,  ///< the plan is out of date; nothing was changed
};

/// The result of a correction.
struct CorrectionOutcome {
  LimitReport report;     ///< the balances after it
  bool repeated = false;  ///< it happened before: an earlier copy of it had the same key
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
  /// The decision of an acquire, without the charge. With Request::once, a repetition is answered as acquire
  /// does.
  virtual void peek(const Plan& plan, Decision& decision, Completion<Progress> done) = 0;
  /// Adjusts, extends, settles or rolls back a lease, once.
  virtual void change(const LeasePlan& plan, LeaseOutcome& outcome, Completion<Progress> done) = 0;
  /// Corrects the balances of one bucket. Counts as no consumption.
  virtual void correct(const CorrectionPlan& plan, CorrectionOutcome& outcome, Completion<Progress> done) = 0;

  /// A caller that serves many requests announces the begin and the end of a batch of them. Within a round
  /// the store may delay an operation for a moment, so that several share a write. For threads with an
  /// executor (executor.h); rounds of several threads may overlap.
  virtual void begin_round() {}
  virtual void end_round() {}

  /// The buckets of an entity, by resource. `in_force`: whether a limit was when the bucket was last written.
  virtual void list(std::string_view name_space, std::string_view entity, const Paging& paging,
                    Completion<Page<Bucket>> done) = 0;
  /// The buckets on a resource, or all of the namespace if it is empty, in the order of place_of(), which is
  /// the cursor. A page may have fewer buckets than there is room for although another one follows.
  virtual void list_on(std::string_view name_space, std::string_view resource, const Paging& paging,
                       Completion<Page<Bucket>> done) = 0;
};

/// The place of a bucket in list_on(): by entity, then by resource. No name has a space, and every character
/// of a name comes after it.
inline std::string place_of(std::string_view entity, std::string_view resource) {
  return std::string(entity).append(1, ' ').append(resource);
}

/// The entity and the resource of place_of(), or of an empty cursor.
inline std::pair<std::string_view, std::string_view> names_of(std::string_view place) {
  const std::size_t space = place.find(' ');
  if (space == std::string_view::npos) return {place, {}};
  return {place.substr(0, space), place.substr(space + 1)};
}

/// Keeps the first places after a cursor, for stores that find buckets in no order. Bounded by the page.
template <class T>
class FirstPlaces {
 public:
  explicit FirstPlaces(const Paging& paging) : after_(paging.cursor), limit_(paging.limit) {}
  /// `make` is called if the place is one of the first so far.
  template <class Make>
  void offer(std::string place, Make&& make) {
    if (!after_.empty() && place <= after_) return;
    if (places_.size() > limit_ && place >= places_.rbegin()->first) return;
    places_.try_emplace(std::move(place), make());
    if (places_.size() > limit_ + 1) places_.erase(std::prev(places_.end()));
  }
  /// Leaves a page of them; returns the cursor of the next one, empty if there is none.
  std::string cut() {
    if (places_.size() <= limit_) return {};
    places_.erase(std::prev(places_.end()));
    return places_.empty() ? std::string() : places_.rbegin()->first;
  }
  std::map<std::string, T>& places() { return places_; }

 private:
  const std::string after_;
  const std::size_t limit_;
  std::map<std::string, T> places_;  ///< at most one more than a page
};

}  // namespace weir::store
