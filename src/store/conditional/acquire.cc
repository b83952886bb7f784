#include "store/conditional/acquire.h"

#include <algorithm>

namespace weir::conditional {
namespace {

using bucket::LimitClaim;

LimitStanding standing_of(const Stand& stand, const LimitClaim& limit) {
  LimitStanding standing{.limit = limit.name, .held = limit.held(stand.item)};
  const auto amount = charge_of(*stand.plan, limit.name);
  if (!amount) return standing;
  standing.requested = *amount;
  standing.exceeded = *amount > standing.held;
  standing.never_fits = *amount > limit.parameters.burst;
  if (standing.exceeded && !standing.never_fits) {
    const std::int64_t missing = *amount - standing.held;
    standing.wait = bucket::moment_granted(limit.parameters.rate, stand.claims.at, missing) - stand.now;
  }
  return standing;
}

std::vector<BucketStanding> standings_of(const std::vector<Stand>& stands, std::uint64_t created) {
  std::vector<BucketStanding> buckets;
  for (const Stand& stand : stands) {
    BucketStanding& bucket = buckets.emplace_back();
    bucket.generation = stand.item != nullptr ? stand.item->generation : created;
    for (const LimitClaim& limit : stand.claims.limits) {
      if (limit.in_force) bucket.limits.push_back(standing_of(stand, limit));
    }
  }
  return buckets;
}

bool exceeded(const BucketStanding& bucket) {
  return std::any_of(bucket.limits.begin(), bucket.limits.end(),
                     [](const LimitStanding& limit) { return limit.exceeded; });
}

/// Whether a bucket that refuses has to be written before it can grow: it does not exist, or lacks a limit
/// that refuses, or stands under other limits than the request has brought along.
bool must_exist(const Stand& stand, const BucketStanding& standing) {
  if (stand.item == nullptr) return true;
  if (stand.plan->resolution->source == Source::request && stand.claims.changed) return true;
  return std::any_of(standing.limits.begin(), standing.limits.end(), [&](const LimitStanding& limit) {
    return limit.exceeded && stand.item->find(limit.limit) == nullptr;
  });
}

}  // namespace

Acquire::Acquire(AcquirePlan plan, const Settings& settings)
    : plan_(std::move(plan)), settings_(&settings), sight_(plan_.buckets.size()) {}

Action Acquire::start(std::span<const Image> images, Time now) {
  sight_.remember(images);
  if (plan_.read_first && sight_.complete()) {
    const std::vector<Stand> all = stands(now);
    if (!std::all_of(all.begin(), all.end(), [this](const Stand& stand) { return retry_will_do(stand); }))
      return {Action::Kind::read, {}};
  }
  return attempt(now);
}

Action Acquire::resume(const Event& event, Time now) {
  sight_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return admitted_before() ? repeat() : attempt(now);
  if (event.kind == Event::Kind::applied) {
    if (sent_kind_ == Sent::repair) return attempt(now);
    return finish(sent_kind_ == Sent::charge ? AcquireOutcome::Kind::admitted
                                             : AcquireOutcome::Kind::refused);
  }
  if (event.kind == Event::Kind::unknown) {
    // A write that charges nothing may arrive whenever it likes.
    const bool harmless = sent_kind_ != Sent::charge && !sent_.marker;
    if (harmless && sent_kind_ == Sent::refusal) return finish(AcquireOutcome::Kind::refused);
    // Whatever is decided from here on, the copy that was sent may still arrive.
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

std::vector<Stand> Acquire::stands(Time now) const {
  std::vector<Stand> all;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    all.push_back(Maker::stand(i, plan_.buckets[i], sight_.alive(i, now), now));
  return all;
}

Action Acquire::attempt(Time now) {
  if (!sight_.complete()) return {Action::Kind::read, {}};
  const std::vector<Stand> all = stands(now);
  for (const Stand& stand : all) {
    if (is_stale(stand)) return stale(stand.item->version, false);
    // Somebody whose clock was wrong has claimed refill of the future: nobody would get any until then.
    const bool ahead = settings_->most_ahead > 0 && stand.item != nullptr &&
                       stand.item->refilled_at > base::saturating_add(now, settings_->most_ahead);
    if (ahead) return send(Sent::repair, {.writes = {Maker::repair(stand)}});
  }
  outcome_ = {.buckets = standings_of(all, plan_.new_generation)};
  const auto& buckets = outcome_.buckets;
  return std::any_of(buckets.begin(), buckets.end(), exceeded) ? refuse(all) : charge(all);
}

Action Acquire::charge(const std::vector<Stand>& stands) {
  Transaction transaction;
  transaction.links = plan_.bare;
  for (const Stand& stand : stands) {
    transaction.writes.push_back(write_for(stand));
    if (checks_link(stand)) transaction.links.push_back({stand.plan->entity, stand.plan->parent});
  }
  if (plan_.once) {
    const auto& fence = marker_.item;
    transaction.marker.emplace();
    if (fence) transaction.marker->sequence = fence->sequence;
    transaction.marker->next = {
        (fence ? fence->sequence : 0) + 1, false, plan_.once->lease, plan_.once->entities, {}};
    for (const BucketStanding& bucket : outcome_.buckets)
      transaction.marker->next.generations.push_back(bucket.generation);
  }
  return send(Sent::charge, std::move(transaction));
}

bool Acquire::retry_will_do(const Stand& stand) const {
  if (stand.item == nullptr || checks_link(stand)) return false;
  if (stand.claims.changed || stand.claims.version != stand.item->version) return false;
  return holds(stand.item, maker(true).retry(stand));
}

Write Acquire::write_for(const Stand& stand) const {
  if (stand.item == nullptr) return maker(true).create(stand);
  // An image that was just read is as good for Normal, which leaves room for more of them.
  const bool just_read = failures_ == 0 && sight_.current(stand.bucket);
  if (!just_read && retry_will_do(stand)) return maker(true).retry(stand);
  return maker(true).normal(stand);
}

/// The bucket as it is, charged nothing.
void Acquire::add_establishing(const Stand& stand, const BucketStanding& standing,
                               Transaction& transaction) const {
  if (!must_exist(stand, standing)) return;
  BucketPlan plan = *stand.plan;
  plan.charges.clear();
  Stand uncharged = stand;
  uncharged.plan = &plan;
  transaction.writes.push_back(stand.item == nullptr ? maker(false).create(uncharged)
                                                     : maker(false).normal(uncharged));
  if (checks_link(stand)) transaction.links.push_back({plan.entity, plan.parent});
}

Action Acquire::refuse(const std::vector<Stand>& stands) {
  Transaction transaction;
  for (std::size_t i = 0; i < stands.size(); ++i) {
    const BucketStanding& bucket = outcome_.buckets[i];
    // An old image may refuse what the bucket holds by now.
    if (exceeded(bucket) && !sight_.current(i)) return {Action::Kind::read, {}};
    for (const LimitStanding& limit : bucket.limits) {
      outcome_.never_fits = outcome_.never_fits || limit.never_fits;
      outcome_.wait = std::max(outcome_.wait, limit.wait);
    }
  }
  // An earlier copy may have been admitted and be the reason for the refusal.
  if (plan_.once && !marker_.known) return {Action::Kind::read, {}};
  for (std::size_t i = 0; i < stands.size() && !outcome_.never_fits; ++i) {
    if (exceeded(outcome_.buckets[i])) add_establishing(stands[i], outcome_.buckets[i], transaction);
  }
  if (in_doubt_) {
    // A copy that arrives late must not charge what is refused now.
    transaction.marker.emplace();
    if (marker_.item) transaction.marker->sequence = marker_.item->sequence;
    transaction.marker->next = {(marker_.item ? marker_.item->sequence : 0) + 1, true, {}, {}, {}};
  }
  if (transaction.writes.empty() && !transaction.marker) return finish(AcquireOutcome::Kind::refused);
  return send(Sent::refusal, std::move(transaction));
}

Action Acquire::repeat() {
  outcome_ = {.repeated = true};
  for (const std::uint64_t generation : marker_.item->generations)
    outcome_.buckets.push_back({generation, {}});
  return finish(AcquireOutcome::Kind::admitted);
}

Action Acquire::stale(std::int64_t version, bool chain) {
  outcome_ = {.version = version, .chain = chain};
  // A copy may still arrive, and an acquire that starts again would not know of it.
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
