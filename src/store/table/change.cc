// Changes to leases: adjust, extend, settle, rollback.
#include "base/text.h"
#include "decision/correction.h"
#include "decision/lease_change.h"
#include "store/table/locks.h"
#include "store/table/table.h"

namespace weir::table {

using store::LeasePlan;
using store::Progress;

const Marker* Markers::find(const Nonce& nonce) const {
  const auto found = markers_.find(nonce);
  return found == markers_.end() ? nullptr : &found->second;
}

const Marker& Markers::put(const Nonce& nonce, Marker marker, Time now) {
  while (!expiries_.empty() && expiries_.top().first < now) {
    // The clock may go back, and a lease whose marker was purged must not be changed again.
    const auto [deadline, expired] = expiries_.top();
    purged_to_ = std::max(purged_to_, deadline);
    // A key that was used again has a marker with a later deadline.
    const auto found = markers_.find(expired);
    if (found != markers_.end() && found->second.deadline == deadline) markers_.erase(found);
    expiries_.pop();
  }
  const auto known = markers_.find(nonce);
  if (known == markers_.end() || known->second.deadline != marker.deadline)
    expiries_.emplace(marker.deadline, nonce);
  return markers_.insert_or_assign(nonce, std::move(marker)).first->second;
}

void Table::change(const LeasePlan& plan, store::LeaseOutcome& outcome, store::Completion<Progress> done) {
  if (plan.lease.shared) return done(change_shared(plan, outcome));
  // Only the holder knows this lease, so its record is the only one.
  outcome.record = decision::record_of(plan.lease);
  outcome.deadline = plan.lease.deadline;
  done(change_lease(plan, outcome, clock_.now()));
}

Result<Progress> Table::change_shared(const LeasePlan& plan, store::LeaseOutcome& outcome) {
  const Time now = clock_.now();
  const base::Guard guard(markers_.mutex);
  auto found = find_marker(plan.lease.nonce, now);
  if (!found) return found.error();
  const Time deadline = decision::deadline_of(*found, plan.lease.deadline);
  const bool purged = *found == nullptr && markers_.purged(deadline);
  if (auto open = decision::check_open(purged ? now : deadline, now); !open) return open.error();
  Marker marker = *found != nullptr ? **found : decision::marker_of(plan.lease);
  outcome.record = std::move(marker.record);
  outcome.deadline = deadline;
  auto changed = change_lease(plan, outcome, now);
  if (changed && *changed == Progress::decided) {
    marker.record = outcome.record;
    decision::set_deadline(marker, outcome.deadline);
    keep_marker(plan.lease.nonce, std::move(marker), now);
  }
  return changed;
}

void Table::keep_marker(const Nonce& nonce, Marker marker, Time now) {
  markers_.put(nonce, std::move(marker), now);
  if (backing_ != nullptr) markers_.dirty.push_back(nonce);
}

/// Applies the change to the buckets and to outcome.record, or to neither.
Result<Progress> Table::change_lease(const LeasePlan& plan, store::LeaseOutcome& outcome, Time now) {
  store::Request request{
      .name_space = plan.name_space, .entity = {}, .resource = plan.lease.resource, .consume = {}};
  Slots slots;
  Locks locks;
  for (std::size_t i = 0; i < plan.resolutions.size(); ++i)
    add(request, plan.lease.buckets[i].entity, plan.resolutions[i].get(), slots);
  auto locked = lock(request, slots, locks, now);
  if (!locked) return locked.error();
  if (!*locked) return Progress::resolve_again;
  std::array<std::optional<bucket::State>, limits::max_chain> states;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].record != nullptr) states[i] = state_of(*slots[i].record);
  }
  auto changed = decision::change(
      slots.chain, {states.data(), slots.size()},
      {outcome.record, plan.change, plan.lease.buckets, request.resource, now, outcome.deadline},
      [this] { return next_generation(); }, outcome.report);
  if (!changed) return changed.error();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!changed->states[i]) continue;
    request.counts_usage = slots[i].record == nullptr || slots[i].record->counts_usage();
    put(request, slots.chain[i], slots[i], *changed->states[i], now);
  }
  outcome.record = std::move(changed->record);
  outcome.deadline = changed->deadline;
  return Progress::decided;
}

void Table::correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                    store::Completion<Progress> done) {
  std::optional<Marker> unused;
  if (plan.once == nullptr) return done(correct_now(plan, outcome, clock_.now(), nullptr, unused));
  done(correct_once(plan, outcome));
}

Result<Progress> Table::correct_once(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome) {
  const Time now = clock_.now();
  const base::Guard guard(markers_.mutex);
  auto found = find_marker(*plan.once, now);
  if (!found) return found.error();
  std::optional<Marker> next;
  auto corrected = correct_now(plan, outcome, now, *found, next);
  if (corrected && next) keep_marker(*plan.once, *std::move(next), now);
  return corrected;
}

Result<Progress> Table::correct_now(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                                    Time now, const Marker* marker, std::optional<Marker>& next) {
  store::Request request{
      .name_space = plan.name_space, .entity = plan.entity, .resource = plan.resource, .consume = {}};
  Slots slots;
  Locks locks;
  add(request, plan.entity, plan.resolution.get(), slots);
  auto locked = lock(request, slots, locks, now);
  if (!locked) return locked.error();
  if (!*locked) return Progress::resolve_again;
  const Record* const record = slots[0].record;
  auto answer = decision::correct(
      slots.chain, slots.chain[0], record != nullptr ? std::optional(state_of(*record)) : std::nullopt,
      {plan.correction, plan.resource, now, plan.once != nullptr, marker},
      [this] { return next_generation(); }, outcome.report);
  if (!answer) return answer.error();
  outcome.repeated = answer->repeated;
  if (!answer->state) return Progress::decided;
  request.counts_usage = record == nullptr || record->counts_usage();
  put(request, slots.chain[0], slots[0], *answer->state, now);
  next = std::move(answer->marker);
  return Progress::decided;
}

}  // namespace weir::table
