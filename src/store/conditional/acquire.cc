#include "store/conditional/acquire.h"

#include <algorithm>

#include "decision/next_state.h"
#include "decision/repair.h"

namespace weir::conditional {
Acquire::Acquire(AcquirePlan plan, const Settings& settings)
    : plan_(std::move(plan)), settings_(&settings), snapshot_(plan_.buckets.size()) {}

Action Acquire::start(std::span<const Image> images, Time now) {
  snapshot_.remember(images);
  if (plan_.read_first && snapshot_.complete()) {
    decision::Chain chain;
    const std::vector<Evaluation> all = evaluations(chain, now);
    if (!std::all_of(all.begin(), all.end(),
                     [this](const Evaluation& evaluation) { return retry_will_do(evaluation); }))
      return {Action::Kind::read, {}};
  }
  return attempt(now);
}

Action Acquire::resume(const Event& event, Time now) {
  snapshot_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return admitted_before() ? repeat() : attempt(now);
  if (event.kind == Event::Kind::applied) {
    if (sent_kind_ == Sent::repair) return attempt(now);
    return finish(sent_kind_ == Sent::charge ? AcquireOutcome::Kind::admitted
                                             : AcquireOutcome::Kind::refused);
  }
  if (event.kind == Event::Kind::unknown) {
    // A write that charges nothing is harmless even if it arrives late.
    const bool harmless = sent_kind_ != Sent::charge && !sent_.marker;
    if (harmless && sent_kind_ == Sent::refusal) return finish(AcquireOutcome::Kind::refused);
    // The copy that was sent may still arrive, after every later decision.
    if (!harmless && !plan_.once) return finish(AcquireOutcome::Kind::unknown);
    in_doubt_ = in_doubt_ || !harmless;
  }
  if (admitted_before()) return repeat();
  if (event.link_failed) return stale(0, true);
  if (++failures_ >= settings_->attempts) {
    return finish(in_doubt_ ? AcquireOutcome::Kind::unknown : AcquireOutcome::Kind::contention);
  }
  return attempt(now);
}

std::vector<Evaluation> Acquire::evaluations(decision::Chain& chain, Time now) const {
  std::vector<Evaluation> all;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    all.push_back(evaluate(chain, i, plan_.buckets[i], snapshot_.alive(i, now), now));
    decision::decide(*all.back().link, plan_.shadow);
  }
  return all;
}

Action Acquire::attempt(Time now) {
  if (!snapshot_.complete()) return {Action::Kind::read, {}};
  decision::Chain chain;
  const std::vector<Evaluation> all = evaluations(chain, now);
  for (const Evaluation& evaluation : all) {
    if (is_stale(evaluation)) return stale(evaluation.item->version, false);
    // A process whose clock was ahead has claimed refill of the future: nothing would refill until the clock
    // has caught up.
    const bool ahead = settings_->most_ahead > 0 && evaluation.item != nullptr &&
                       decision::is_ahead(evaluation.item->refilled_at, now, settings_->most_ahead);
    if (ahead) return send(Sent::repair, {.writes = {WriteBuilder::repair(evaluation)}});
  }
  const bool fits = std::all_of(chain.begin(), chain.end(), [](const auto& link) { return link.fits; });
  return fits ? charge(chain, all) : refuse(chain, all);
}

Action Acquire::charge(const decision::Chain& chain, const std::vector<Evaluation>& evaluations) {
  // An old image may leave out a limit that holds its amount by now.
  for (const Evaluation& evaluation : evaluations) {
    if (evaluation.link->left_out != 0 && !snapshot_.current(evaluation.bucket))
      return {Action::Kind::read, {}};
  }
  outcome_ = {};
  outcome_.deadline = decision::lease_deadline(chain, evaluations.front().now, plan_.lease_for);
  for (BucketPlan& bucket : plan_.buckets) bucket.hold_until = outcome_.deadline;
  Transaction transaction;
  transaction.links = plan_.bare;
  for (const Evaluation& evaluation : evaluations) {
    outcome_.generations.push_back(evaluation.item != nullptr ? evaluation.item->generation
                                                              : plan_.new_generation);
    outcome_.left_out.push_back(evaluation.link->left_out);
    for (decision::GrantedCharge& charge : granted_charges(evaluation))
      outcome_.granted.push_back({evaluation.bucket, std::string(charge.limit), std::move(charge.pieces)});
    transaction.writes.push_back(write_for(evaluation));
    if (checks_link(evaluation))
      transaction.links.push_back({evaluation.plan->entity, evaluation.plan->parent});
  }
  if (plan_.once) {
    const auto& fence = marker_.item;
    transaction.marker.emplace();
    transaction.marker->require(fence);
    transaction.marker->next = {(fence ? fence->sequence : 0) + 1,
                                false,
                                lease_of(evaluations),
                                plan_.once->entities,
                                outcome_.generations,
                                outcome_.deadline};
  }
  return send(Sent::charge, std::move(transaction));
}

/// The lease without the limits that are left out.
decision::LeaseRecord Acquire::lease_of(const std::vector<Evaluation>& evaluations) const {
  decision::LeaseRecord lease = plan_.once->lease;
  for (const Evaluation& evaluation : evaluations) {
    if (evaluation.link->left_out == 0) continue;
    for (decision::LeaseAmount& amount : lease.amounts) {
      const auto bit = static_cast<std::uint8_t>(1U << evaluation.bucket);
      const Kind kind = (amount.holds & bit) != 0 ? Kind::concurrent : Kind::rate;
      if (charge_of(evaluation, amount.limit, kind)) continue;
      amount.buckets = static_cast<std::uint8_t>(amount.buckets & ~bit);
      amount.holds = static_cast<std::uint8_t>(amount.holds & ~bit);
    }
  }
  std::erase_if(lease.amounts, [](const decision::LeaseAmount& amount) { return amount.buckets == 0; });
  for (const AcquireOutcome::Granted& one : outcome_.granted)
    decision::note_granted(decision::amount_in(lease.amounts, one.limit), one.bucket, one.pieces);
  return lease;
}

bool Acquire::retry_will_do(const Evaluation& evaluation) const {
  if (evaluation.item == nullptr || checks_link(evaluation)) return false;
  if (evaluation.claims().changed || evaluation.claims().version != evaluation.item->version) return false;
  // A limit that leaves the set must be recorded as dormant, which Retry cannot do.
  const auto leaves = [&](const bucket::LimitClaim& limit) {
    return !limit.in_force && !evaluation.item->limits[static_cast<std::size_t>(limit.index)].dormant;
  };
  if (std::any_of(evaluation.claims().limits.begin(), evaluation.claims().limits.end(), leaves)) return false;
  const auto& stored = evaluation.item->limits;
  if (std::any_of(stored.begin(), stored.end(), [](const auto& limit) { return !limit.grants.empty(); }))
    return false;
  const auto& charges = evaluation.plan->charges;
  if (std::any_of(charges.begin(), charges.end(), [](const auto& charge) { return charge.holds; }))
    return false;
  return holds(evaluation.item, builder(true).retry(evaluation));
}

Write Acquire::write_for(const Evaluation& evaluation) const {
  if (evaluation.item == nullptr) return builder(true).create(evaluation);
  // With an image that was just read Normal succeeds too, and its claim makes room for further Retries.
  const bool just_read = failures_ == 0 && snapshot_.current(evaluation.bucket);
  if (!just_read && retry_will_do(evaluation)) return builder(true).retry(evaluation);
  return builder(true).normal(evaluation);
}

/// Writes the bucket uncharged, if it must exist.
void Acquire::add_uncharged(const Evaluation& evaluation, Transaction& transaction) const {
  if (!decision::must_exist(*evaluation.link)) return;
  BucketPlan plan = *evaluation.plan;
  plan.charges.clear();
  Evaluation uncharged = evaluation;
  uncharged.plan = &plan;
  const Write write =
      evaluation.item == nullptr ? builder(false).create(uncharged) : builder(false).normal(uncharged);
  evaluation.link->expires_at =
      write.item ? write.item->expires_at : write.set_expires_at.value_or(evaluation.link->expires_at);
  transaction.writes.push_back(write);
  if (checks_link(evaluation)) transaction.links.push_back({plan.entity, plan.parent});
}

Action Acquire::refuse(decision::Chain& chain, const std::vector<Evaluation>& evaluations) {
  // An old image may refuse an amount that the bucket holds by now.
  for (const Evaluation& evaluation : evaluations) {
    if (!evaluation.link->fits && !snapshot_.current(evaluation.bucket)) return {Action::Kind::read, {}};
  }
  // An earlier copy may have been admitted and be the reason for the refusal.
  if (plan_.once && !marker_.known) return {Action::Kind::read, {}};
  Transaction transaction;
  for (const Evaluation& evaluation : evaluations) add_uncharged(evaluation, transaction);
  outcome_ = {.wait = decision::wait_of(chain, evaluations.front().now)};
  // Where the request never fits, the bucket need not refill for it.
  if (outcome_.wait.never_fits) transaction = {};
  if (in_doubt_) {
    // A copy that arrives late must not charge after the refusal.
    transaction.marker.emplace();
    transaction.marker->require(marker_.item);
    const Time deadline = decision::lease_deadline(chain, evaluations.front().now, plan_.lease_for);
    transaction.marker->next = {(marker_.item ? marker_.item->sequence : 0) + 1, true, {}, {}, {}, deadline};
  }
  if (transaction.writes.empty() && !transaction.marker) return finish(AcquireOutcome::Kind::refused);
  return send(Sent::refusal, std::move(transaction));
}

Action Acquire::repeat() {
  outcome_ = {.repeated = true, .generations = marker_.item->generations};
  return finish(AcquireOutcome::Kind::admitted);
}

Action Acquire::stale(std::int64_t version, bool chain) {
  outcome_ = {.version = version, .chain = chain};
  // A copy may still arrive, and a restarted acquire would not know of it.
  return finish(in_doubt_ ? AcquireOutcome::Kind::unknown : AcquireOutcome::Kind::stale);
}

Action Acquire::send(Sent kind, Transaction transaction) {
  sent_kind_ = kind;
  sent_ = std::move(transaction);
  return {Action::Kind::write, sent_};
}

Action Acquire::finish(AcquireOutcome::Kind kind) {
  outcome_.kind = kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
