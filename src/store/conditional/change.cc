#include "store/conditional/change.h"

#include <algorithm>

#include "base/text.h"

namespace weir::conditional {
namespace {

std::vector<LimitCharge> charges_in(std::size_t bucket, std::span<const decision::LeaseAmount> amounts) {
  std::vector<LimitCharge> charges;
  for (const decision::LeaseAmount& amount : amounts) {
    if ((amount.buckets >> bucket & 1U) != 0) charges.push_back({amount.limit, amount.amount});
  }
  return charges;
}

/// Balances stay in the range that every store computes exactly.
std::optional<Error> debt_error(const Stand& stand) {
  for (const bucket::LimitClaim& limit : stand.claims.limits) {
    const std::int64_t amount = charge_of(*stand.plan, limit.name).value_or(0);
    if (amount > 0 && limit.held(stand.item) - amount < -Amount::max_millitokens) {
      return base::invalid("the debt of ", base::quoted(limit.name), " would be too large; charge less");
    }
  }
  return std::nullopt;
}

}  // namespace

Change::Change(ChangePlan plan, const Settings& settings, const Rules& rules)
    : plan_(std::move(plan)), settings_(&settings), rules_(&rules), sight_(plan_.buckets.size()) {}

Action Change::start(std::span<const Image> images, Time now) {
  sight_.remember(images);
  return attempt(now);
}

Action Change::restart(std::vector<BucketPlan> buckets, Time now) {
  plan_.buckets = std::move(buckets);
  sight_.outdate();
  return attempt(now);
}

Action Change::resume(const Event& event, Time now) {
  sight_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return attempt(now);
  if (event.kind == Event::Kind::applied) return finish(ChangeOutcome::Kind::changed);
  if (event.kind == Event::Kind::unknown) {
    // With the marker in it, at most one of the copies can happen.
    if (!plan_.once && rules_->resend_needs_marker) return finish(ChangeOutcome::Kind::unknown);
    in_doubt_ = true;
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
  return decision::step(lease, {plan_.verb, plan_.key, charges}, sets);
}

Action Change::attempt(Time now) {
  auto next = step();
  if (!next) {
    outcome_.error = next.error();
    return finish(ChangeOutcome::Kind::refused);
  }
  outcome_.lease = next->next;
  outcome_.repeated = next->repeated;
  if (next->repeated) return finish(ChangeOutcome::Kind::changed);

  Transaction transaction;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    plan_.buckets[i].charges = charges_in(i, next->charges);
    if (!add_write(i, now, transaction)) return {Action::Kind::read, {}};
    if (outcome_.error) {
      if (!sight_.current(i)) return {Action::Kind::read, {}};
      return finish(in_doubt_ ? ChangeOutcome::Kind::unknown : ChangeOutcome::Kind::refused);
    }
    if (outcome_.version != 0) return finish(ChangeOutcome::Kind::stale);
  }
  if (plan_.once) {
    MarkerWrite& marker = transaction.marker.emplace();
    marker.unconditional = !rules_->marker_sequence;
    if (marker_.item) marker.sequence = marker_.item->sequence;
    marker.next = {(marker_.item ? marker_.item->sequence : 0) + 1, false, std::move(next->next), {}};
    for (const BucketPlan& bucket : plan_.buckets) marker.next.generations.push_back(bucket.generation);
  } else if (transaction.writes.empty()) {
    return finish(ChangeOutcome::Kind::changed);
  }
  sent_ = std::move(transaction);
  return {Action::Kind::write, sent_};
}

bool Change::add_write(std::size_t bucket, Time now, Transaction& transaction) {
  const BucketPlan& plan = plan_.buckets[bucket];
  outcome_.error.reset();
  outcome_.version = 0;
  if (plan.charges.empty()) return true;
  const Maker maker{*settings_, *rules_, false, plan_.new_generation};
  const bucket::State* const item = sight_.alive(bucket, now);
  const bool gives_only = std::all_of(plan.charges.begin(), plan.charges.end(),
                                      [](const LimitCharge& charge) { return charge.amount < 0; });
  if (gives_only) {
    // Another generation, seen since the lease was made, means that the charged bucket was full and is gone.
    const bool gone = sight_.seen_here(bucket) && (item == nullptr || item->generation != plan.generation);
    if (gone && rules_->credit_generation && rules_->credit_exists) return true;
    Write credit = maker.credit({bucket, &plan, sight_.seen_here(bucket) ? item : nullptr, now, {}});
    if (!credit.limits.empty()) transaction.writes.push_back(std::move(credit));
    return true;
  }
  if (!sight_[bucket].known) return false;
  const Stand stand = maker.stand(bucket, plan, item, now);
  outcome_.error = debt_error(stand);
  if (outcome_.error) return true;
  if (is_stale(stand) && rules_->stale_resolves) {
    outcome_.version = stand.item->version;
    return true;
  }
  transaction.writes.push_back(stand.item == nullptr ? maker.create(stand) : maker.normal(stand));
  return true;
}

Action Change::finish(ChangeOutcome::Kind kind) {
  outcome_.kind = kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
