#include "store/conditional/change.h"

#include <algorithm>

#include "base/text.h"
#include "base/wide.h"
#include "decision/lease_change.h"

namespace weir::conditional {
namespace {

std::vector<LimitCharge> charges_in(std::size_t bucket, std::span<const decision::LeaseAmount> amounts) {
  std::vector<LimitCharge> charges;
  for (const decision::LeaseAmount& amount : amounts) {
    if ((amount.buckets >> bucket & 1U) != 0)
      charges.push_back({amount.limit, amount.amount, amount.holds != 0});
  }
  return charges;
}

/// Whether every charge is covered; fails where that is required.
Result<bool> check_debts(const Evaluation& evaluation, Debt debt) {
  const limits::LimitSet& set = *evaluation.plan->resolution->limits;
  bool covered = true;
  for (const bucket::LimitClaim& limit : evaluation.claims().limits) {
    const std::int64_t amount = charge_of(evaluation, limit.name, limit.parameters.kind()).value_or(0);
    if (amount <= 0) continue;
    const std::int64_t left =
        base::saturating_add(limit.held(evaluation.item), bucket::total(limit.grants)) - amount;
    if (auto checked = decision::check_debt(set, limit.name, left, debt); !checked) return checked.error();
    covered = covered && left >= 0;
  }
  return covered;
}

}  // namespace

Change::Change(ChangePlan plan, const Settings& settings)
    : plan_(std::move(plan)), settings_(&settings), snapshot_(plan_.buckets.size()) {}

Action Change::start(std::span<const Image> images, Time now, std::optional<Marker> marker) {
  snapshot_.remember(images);
  marker_.item = std::move(marker);
  if (is_replaced()) marker_.item.reset();
  return attempt(now);
}

Action Change::resume(const Event& event, Time now) {
  snapshot_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return attempt(now);
  if (event.kind == Event::Kind::applied) return finish(ChangeOutcome::Kind::changed);
  if (event.kind == Event::Kind::unknown) {
    // The marker ensures that at most one of the copies happens.
    if (!plan_.once || !decision::is_idempotent(plan_.verb, plan_.key))
      return finish(ChangeOutcome::Kind::unknown);
    in_doubt_ = true;
  }
  if (event.link_failed) {
    outcome_.chain = true;
    return finish(ChangeOutcome::Kind::stale);
  }
  if (++failures_ >= settings_->attempts) {
    return finish(in_doubt_ ? ChangeOutcome::Kind::unknown : ChangeOutcome::Kind::contention);
  }
  return attempt(now);
}

Result<decision::LeaseStep> Change::step() const {
  std::vector<Charge> charges;
  charges.reserve(plan_.amounts.size());
  for (const LimitCharge& amount : plan_.amounts)
    charges.push_back({amount.limit, Amount::milli(amount.amount)});
  std::vector<limits::LimitSetRef> sets;
  sets.reserve(plan_.buckets.size());
  for (const BucketPlan& bucket : plan_.buckets) sets.push_back(bucket.resolution->limits);
  const decision::LeaseRecord& lease = marker_.item && plan_.once ? marker_.item->lease : plan_.lease;
  return decision::step(lease, {plan_.verb, plan_.key, charges, plan_.lease_for, plan_.debt, plan_.only_held},
                        sets);
}

bool Change::is_replaced() const {
  const auto& marker = marker_.item;
  return plan_.once && marker && (marker->fence || !decision::marks(*marker, plan_.deadline));
}

Time Change::deadline() const {
  return marker_.item && plan_.once ? std::max(marker_.item->deadline, plan_.deadline) : plan_.deadline;
}

Result<bool> Change::extend(Time now) {
  if (plan_.verb != decision::LeaseVerb::extend) return true;
  std::vector<bucket::Holds> lists;
  Time from = now;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    BucketPlan& plan = plan_.buckets[i];
    for (const decision::LeaseAmount& amount : outcome_.lease.amounts) {
      if ((amount.holds >> i & 1U) == 0 || amount.amount == 0) continue;
      if (!snapshot_[i].known) return false;
      const Record* const item = snapshot_.alive(i, now);
      const bucket::LimitState* const limit = item != nullptr ? item->find(amount.limit) : nullptr;
      const bool held = limit != nullptr && item->generation == plan.generation;
      if (!held || limit->parameters.kind() != Kind::concurrent) {
        // An image from before the lease does not show what it holds.
        if (!snapshot_.seen_here(i)) return false;
        continue;
      }
      const Time at = std::max(now, item->refilled_at);
      if (auto open = decision::check_open(deadline(), at); !open) return open.error();
      plan.charges.push_back({amount.limit, 0, true, amount.amount});
      from = std::max(from, at);
      bucket::Holds& holds = lists.emplace_back(bucket::live(limit->holds, at));
      bucket::release(holds, deadline(), amount.amount, at);
    }
  }
  std::vector<const bucket::Holds*> all;
  for (const bucket::Holds& holds : lists) all.push_back(&holds);
  outcome_.deadline =
      decision::next_deadline({.verb = plan_.verb, .lease_for = plan_.lease_for}, deadline(), from, all);
  return true;
}

namespace {

/// Whether a bucket still has a limit that left the set: it is dropped once it is full.
bool keeps(const Record& item, const limits::Resolution& resolution, std::string_view limit, Kind kind,
           Time now) {
  const bucket::Claims claims = bucket::claims_of(&item, resolution, now);
  return std::any_of(claims.limits.begin(), claims.limits.end(), [&](const bucket::LimitClaim& claim) {
    return claim.name == limit && claim.parameters.kind() == kind &&
           !bucket::forgettable(claim, claim.held(&item));
  });
}

/// Whether a limit that was in force at the last write is not in the set any more.
bool leaves_any(const Record& item, const limits::LimitSet& set) {
  return std::any_of(item.limits.begin(), item.limits.end(), [&](const bucket::LimitState& limit) {
    return !limit.dormant && set.find(limit.name) < 0;
  });
}

/// Whether a charge of the plan concerns a limit that the bucket still has: one that left the set is dropped
/// once it is full, and nothing is written for it.
bool reaches_any(const Evaluation& evaluation) {
  const auto& limits = evaluation.claims().limits;
  return std::any_of(limits.begin(), limits.end(), [&](const bucket::LimitClaim& limit) {
    return charge_of(evaluation, limit.name, limit.parameters.kind()) &&
           !bucket::forgettable(limit, limit.held(evaluation.item));
  });
}

bool names(const limits::LimitSet& set, std::string_view limit, Kind kind) {
  const int index = set.find(limit);
  return index >= 0 && set[static_cast<std::size_t>(index)].kind() == kind;
}

}  // namespace

Result<bool> Change::leave_out_missing(decision::LeaseStep& step, Time now) const {
  for (decision::LeaseAmount& charge : step.charges) {
    if (charge.amount < 0) continue;
    for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
      if ((charge.buckets >> i & 1U) == 0) continue;
      if (!snapshot_[i].known) return false;
      const Record* const item = snapshot_.alive(i, now);
      const limits::Resolution& resolution = *plan_.buckets[i].resolution;
      const Kind kind = charge.holds != 0 ? Kind::concurrent : Kind::rate;
      // What a lease holds must be found again when it is extended, so it is held in its own bucket only.
      const bool own = item != nullptr && item->generation == plan_.buckets[i].generation;
      if (kind == Kind::concurrent && !own && !snapshot_.seen_here(i)) return false;
      const bool has = names(*resolution.limits, charge.limit, kind) ||
                       (item != nullptr && keeps(*item, resolution, charge.limit, kind, now));
      const bool kept = has && (kind == Kind::rate || own);
      if (!kept) charge.buckets = static_cast<std::uint8_t>(charge.buckets & ~(1U << i));
    }
  }
  if (auto settled = decision::settle_masks(step); !settled) return settled.error();
  return true;
}

Action Change::attempt(Time now) {
  // By the clock of the process that replaced its marker, the deadline of the lease had passed.
  if (is_replaced()) return refuse_for_good(decision::check_open(0, now).error());
  auto next = step();
  if (!next) {
    if (plan_.once && !marker_.known) return look();
    // No copy can be applied: the marker has changed.
    outcome_.error = next.error();
    return finish(ChangeOutcome::Kind::refused);
  }
  outcome_ = {
      .repeated = next->repeated, .error = {}, .lease = next->next, .deadline = deadline(), .charges = {}};
  // A remembered marker may be out of date, and is no answer.
  if (next->repeated && plan_.once && marker_.item && !marker_.known) return look();
  if (next->repeated) return finish(ChangeOutcome::Kind::changed);
  // The deadline may have passed since the last attempt.
  if (auto open = decision::check_open(deadline(), now); !open) return refuse(open.error());
  const auto known = leave_out_missing(*next, now);
  if (!known) return refuse(known.error());
  if (!*known) return look();

  Transaction transaction;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    plan_.buckets[i].charges = charges_in(i, next->charges);
  if (!return_granted(*next, now)) return look();
  const auto extended = extend(now);
  if (!extended) return refuse(extended.error());
  if (!*extended) return look();
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    plan_.buckets[i].held_until = deadline();
    plan_.buckets[i].hold_until = outcome_.deadline;
    const auto added = add_write(i, now, *next, transaction);
    if (!added) return refuse(added.error());
    if (*added == Step::look) return look();
    if (*added == Step::stale) return finish(ChangeOutcome::Kind::stale);
  }
  outcome_.lease = next->next;
  outcome_.charges = std::move(next->charges);
  if (plan_.once) {
    MarkerWrite& marker = transaction.marker.emplace();
    marker.require(marker_.item);
    marker.next = {(marker_.item ? marker_.item->sequence : 0) + 1,
                   false,
                   std::move(next->next),
                   plan_.entities,
                   {},
                   deadline(),
                   marker_.item ? marker_.item->first_deadline : 0};
    decision::set_deadline(marker.next, outcome_.deadline);
    for (const BucketPlan& bucket : plan_.buckets) marker.next.generations.push_back(bucket.generation);
  } else if (transaction.writes.empty()) {
    return finish(ChangeOutcome::Kind::changed);
  }
  sent_ = std::move(transaction);
  return {Action::Kind::write, sent_};
}

/// Sets what each charge returns to grants. False: an image is missing.
bool Change::return_granted(decision::LeaseStep& step, Time now) {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    for (LimitCharge& charge : plan_.buckets[i].charges) {
      if (charge.amount >= 0 || charge.holds) continue;
      decision::LeaseAmount& amount = decision::amount_in(step.next.amounts, charge.limit);
      const bool noted = std::any_of(amount.granted.begin(), amount.granted.end(),
                                     [i](const auto& use) { return use.bucket == i; });
      if (!noted) continue;
      const Record* const item = snapshot_.alive(i, now);
      if (item != nullptr && item->generation == plan_.buckets[i].generation) {
        charge.returned = decision::take_granted(amount, i, -charge.amount);
      } else if (!snapshot_.seen_here(i)) {
        return false;
      }
    }
  }
  return true;
}

Action Change::refuse(Error error) {
  bool current = !plan_.once || marker_.known;
  for (std::size_t i = 0; i < snapshot_.size(); ++i)
    current = current && (snapshot_.current(i) || !snapshot_[i].known);
  return current ? refuse_for_good(std::move(error)) : look();
}

Action Change::refuse_for_good(Error error) {
  outcome_.error = std::move(error);
  return finish(in_doubt_ ? ChangeOutcome::Kind::unknown : ChangeOutcome::Kind::refused);
}

Result<Change::Step> Change::add_write(std::size_t bucket, Time now, decision::LeaseStep& step,
                                       Transaction& transaction) {
  const BucketPlan& plan = plan_.buckets[bucket];
  if (plan.charges.empty()) return Step::ready;
  WriteBuilder builder{*settings_, false, plan_.new_generation};
  const Record* const item = snapshot_.alive(bucket, now);
  const bool gives_only =
      std::all_of(plan.charges.begin(), plan.charges.end(), [](const LimitCharge& charge) {
        return charge.amount < 0 && !charge.holds && charge.returned.empty();
      });
  const bool takes_nothing = std::all_of(plan.charges.begin(), plan.charges.end(),
                                         [](const LimitCharge& charge) { return charge.amount <= 0; });
  if (takes_nothing) {
    // Another generation, seen since the lease was made, means that the charged bucket was full and is gone.
    const bool gone = snapshot_.seen_here(bucket) && (item == nullptr || item->generation != plan.generation);
    if (gone) return Step::ready;
  }
  if (gives_only) {
    // A limit that came with a request is in the resolution only if that was made from the bucket. Otherwise
    // it may have left the set, which only Normal records.
    const limits::Resolution& resolution = *plan.resolution;
    const bool may_leave = resolution.depends_on_request && !resolution.request_in_force;
    if (may_leave && !snapshot_.seen_here(bucket)) return Step::look;
    const bool must_adopt =
        item != nullptr && item->generation == plan.generation &&
        (item->version < plan.resolution->stamp || leaves_any(*item, *plan.resolution->limits));
    if (!must_adopt) {
      Write credit =
          builder.credit({bucket, &plan, snapshot_.seen_here(bucket) ? item : nullptr, now, nullptr});
      if (!credit.limits.empty()) transaction.writes.push_back(std::move(credit));
      return Step::ready;
    }
  }
  if (!snapshot_[bucket].known) return Step::look;
  // An old image without the charged bucket does not show that it is gone.
  if (takes_nothing && (item == nullptr || item->generation != plan.generation)) return Step::look;
  decision::Chain chain;
  const Evaluation evaluation = evaluate(chain, bucket, plan, item, now);
  const auto covered = check_debts(evaluation, plan_.debt);
  if (!covered) return covered.error();
  // A limit that may go into debt, since it is in shadow mode, lets the others of its bucket do so in a race.
  builder.admitting = plan_.debt == Debt::refused && *covered;
  if (is_stale(evaluation)) {
    outcome_.version = evaluation.item->version;
    return Step::stale;
  }
  if (takes_nothing && !reaches_any(evaluation)) {
    // An old image may show a limit as full that was charged since.
    return snapshot_.seen_here(bucket) ? Step::ready : Step::look;
  }
  // A bucket without limits is not created.
  if (evaluation.claims().limits.empty()) return Step::ready;
  if (item != nullptr && item->generation == plan.generation) {
    for (const decision::GrantedCharge& charge : granted_charges(evaluation)) {
      decision::note_granted(decision::amount_in(step.next.amounts, charge.limit), bucket, charge.pieces);
    }
  }
  transaction.writes.push_back(item == nullptr ? builder.create(evaluation) : builder.normal(evaluation));
  if (checks_link(evaluation)) transaction.links.push_back({plan.entity, plan.parent});
  return Step::ready;
}

Action Change::finish(ChangeOutcome::Kind kind) {
  // A copy may still arrive, and a restarted change would not know of it.
  outcome_.kind = kind == ChangeOutcome::Kind::stale && in_doubt_ ? ChangeOutcome::Kind::unknown : kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
