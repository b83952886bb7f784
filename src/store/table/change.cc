// Changes to leases: adjust, settle, rollback.
#include "base/text.h"
#include "store/table/locks.h"
#include "store/table/table.h"
#include "store/table/write.h"

namespace weir::table {
namespace {

using store::LeasePlan;
using store::Progress;

bucket::LeaseRecord first_record(const detail::LeaseData& lease) {
  return {.ending = lease.ending, .amounts = lease.amounts, .keys = {}};
}

/// One bucket of the lease and what it becomes.
struct Pending {
  std::size_t position = 0;  ///< in the chain of the lease
  Stop* stop = nullptr;
  bucket::State state;
  bool touched = false;
};

std::uint8_t without(std::uint8_t buckets, std::size_t position) {
  return static_cast<std::uint8_t>(buckets & ~(1U << position));
}

/// Takes over which buckets were really charged; fails where none was.
Result<void> settle_masks(bucket::LeaseStep& step) {
  for (const bucket::LeaseAmount& charge : step.charges) {
    if (charge.amount < 0) continue;
    if (charge.buckets == 0) {
      return base::error(ErrorCode::unknown_limit, "limit ", base::quoted(charge.limit),
                         " is not among the limits of the lease's buckets any more");
    }
    for (bucket::LeaseAmount& amount : step.next.amounts) {
      if (amount.limit == charge.limit) amount.buckets = charge.buckets;
    }
  }
  return {};
}

/// A charge applies to the limits that the bucket has. What is given back to a bucket that is not the one
/// that was charged is dropped: that one was full when it vanished.
Result<void> apply(Pending& bucket, std::span<bucket::LeaseAmount> charges, bool same_bucket) {
  for (bucket::LeaseAmount& charge : charges) {
    const bool charged_here = (charge.buckets >> bucket.position & 1U) != 0;
    if (!charged_here || (charge.amount < 0 && !same_bucket)) continue;
    bool found = false;
    for (bucket::LimitState& limit : bucket.state.limits) {
      if (limit.name != charge.limit) continue;
      limit.tokens = std::min(limit.tokens - charge.amount, limit.parameters.burst);
      limit.consumed = base::wrapping_add(limit.consumed, charge.amount);
      bucket.touched = true;
      found = true;
      if (limit.tokens < -Amount::max_millitokens) {
        return base::invalid("the debt of ", base::quoted(charge.limit), " would be too large; charge less");
      }
    }
    // What is not charged here must not be given back here later.
    if (!found && charge.amount > 0) charge.buckets = without(charge.buckets, bucket.position);
  }
  return {};
}

/// Puts the new balances where the report reads them.
void show(Stop& stop, const Pending& bucket, std::span<const bucket::LeaseAmount> charges) {
  const limits::LimitSet& set = *stop.resolution->limits;
  stop.named = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    stop.held[i] = bucket.state.find(set.name(i))->tokens;
    stop.amount[i] = 0;
    for (const bucket::LeaseAmount& charge : charges) {
      const bool charged_here = (charge.buckets >> bucket.position & 1U) != 0;
      if (charged_here && charge.limit == set.name(i)) stop.amount[i] = charge.amount;
    }
  }
}

/// The limits of a bucket that no level has limits for: those that were in force at its last decision go on.
/// The record itself may hold more than those, dormant ones.
limits::ResolutionRef resolve_as_is(const limits::Resolution& plan, const Record& record, Time now) {
  auto resolution = limits::resolve(plan.levels, record.resolution->limits, now);
  resolution->catalog_generation = plan.catalog_generation;
  resolution->parent = plan.parent;
  resolution->parent_resolution = plan.parent_resolution;
  return limits::ResolutionRef(resolution.get());
}

}  // namespace

const Marker* Markers::find(const Nonce& nonce) const {
  const auto found = markers_.find(nonce);
  return found == markers_.end() ? nullptr : &found->second;
}

const Marker& Markers::put(const Nonce& nonce, Marker marker, Time now) {
  while (!expiries_.empty() && expiries_.front().first < now) {
    // The clock may go back, and what is forgotten must not be asked for again.
    const auto& [deadline, expired] = expiries_.front();
    purged_to_ = std::max(purged_to_, deadline);
    // A key that was used again has a later one meanwhile.
    const auto found = markers_.find(expired);
    if (found != markers_.end() && found->second.deadline == deadline) markers_.erase(found);
    expiries_.pop_front();
  }
  const auto known = markers_.find(nonce);
  if (known == markers_.end() || known->second.deadline != marker.deadline)
    expiries_.emplace_back(marker.deadline, nonce);
  return markers_.insert_or_assign(nonce, std::move(marker)).first->second;
}

void Table::change(const LeasePlan& plan, store::LeaseOutcome& outcome, store::Completion<Progress> done) {
  if (!plan.lease.shared) {
    // Nobody else knows this lease, so its holder's record is the only one.
    outcome.record = first_record(plan.lease);
    return done(change_lease(plan, outcome));
  }
  done(change_shared(plan, outcome));
}

Result<Progress> Table::change_shared(const LeasePlan& plan, store::LeaseOutcome& outcome) {
  const Time now = clock_.now();
  const base::Guard guard(markers_.mutex);
  if (now >= plan.lease.deadline || markers_.purged(plan.lease.deadline)) {
    return base::error(ErrorCode::expired, "the lease is past its deadline; its charge stands");
  }
  auto marker = find_marker(plan.lease.nonce, now);
  if (!marker) return marker.error();
  outcome.record = *marker != nullptr ? (*marker)->record : first_record(plan.lease);
  auto changed = change_lease(plan, outcome);
  if (changed && *changed == Progress::decided) {
    markers_.put(plan.lease.nonce, {outcome.record, plan.lease.deadline}, now);
    if (backing_ != nullptr) markers_.dirty.push_back(plan.lease.nonce);
  }
  return changed;
}

/// Finds the buckets of the lease and their limits. Requires the locks.
Table::LeaseBuckets Table::find_lease_buckets(const LeasePlan& plan, Stops& stops, Time now) {
  const store::Request request{
      .name_space = plan.name_space, .entity = {}, .resource = plan.lease.resource, .consume = {}};
  LeaseBuckets buckets;
  for (Stop& stop : stops) {
    find(request, stop, now);
    if (!stop.resolution->limits && stop.record != nullptr && stop.record->resolution) {
      buckets.made.push_back(resolve_as_is(*stop.resolution, *stop.record, now));
      stop.resolution = buckets.made.back().get();
    }
    buckets.sets.push_back(stop.resolution->limits);
  }
  return buckets;
}

/// Applies the change to the buckets and to outcome.record, or to neither.
Result<Progress> Table::change_lease(const LeasePlan& plan, store::LeaseOutcome& outcome) {
  const Time now = clock_.now();
  const store::Request request{
      .name_space = plan.name_space, .entity = {}, .resource = plan.lease.resource, .consume = {}};
  Stops stops;
  Locks locks;
  for (std::size_t i = 0; i < plan.resolutions.size(); ++i) {
    place(request, stops.add(plan.lease.buckets[i].entity, plan.resolutions[i].get()));
  }
  auto locked = lock(request, stops, locks, now);
  if (!locked) return locked.error();
  if (!*locked) return Progress::resolve_again;
  const LeaseBuckets buckets = find_lease_buckets(plan, stops, now);
  auto step = bucket::step(outcome.record, plan.change, buckets.sets);
  if (!step) return step.error();

  std::vector<Pending> pending;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    Stop& stop = stops[i];
    // A bucket that is gone and has no limits any more has nothing to charge or to give back.
    if (!stop.resolution->limits) continue;
    take_detour(stops, stop, now);
    pending.push_back({i, &stop, claimed_state(stop, next_generation_), false});
    const bool same_bucket =
        stop.record != nullptr && stop.record->generation == plan.lease.buckets[i].generation;
    if (auto checked = check_size(stop); !checked) return checked.error();
    if (auto applied = apply(pending.back(), step->charges, same_bucket); !applied) return applied.error();
  }
  for (bucket::LeaseAmount& charge : step->charges) {
    for (std::size_t i = 0; i < stops.size(); ++i) {
      if (!stops[i].resolution->limits && charge.amount > 0) charge.buckets = without(charge.buckets, i);
    }
  }
  if (auto settled = settle_masks(*step); !settled) return settled.error();
  outcome.report.clear();
  for (Pending& bucket : pending) {
    Stop& stop = *bucket.stop;
    show(stop, bucket, step->charges);
    report_stop(outcome.report, request.resource, stop, false, now);
    if (bucket.touched) put({request.name_space, stop.entity, request.resource}, stop, bucket.state, now);
  }
  outcome.record = std::move(step->next);
  return Progress::decided;
}

}  // namespace weir::table
