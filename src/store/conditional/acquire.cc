#include "store/conditional/acquire.h"

#include <algorithm>

namespace weir::conditional {
namespace {

using bucket::LimitClaim;

LimitStanding standing_of(const Stand& stand, const LimitClaim& limit, const Rules& rules) {
  LimitStanding standing{.limit = limit.name, .held = limit.held(stand.item)};
  const auto amount = charge_of(*stand.plan, limit.name);
  if (!amount || (*amount == 0 && !rules.zero_checked)) return standing;
  standing.requested = *amount;
  standing.exceeded = *amount > standing.held;
  standing.never_fits = *amount > limit.parameters.burst;
  if (standing.exceeded && !standing.never_fits) {
    const std::int64_t missing = *amount - standing.held;
    standing.wait = bucket::moment_granted(limit.parameters.rate, stand.claims.at, missing) - stand.now;
  }
  return standing;
}

std::vector<BucketStanding> standings_of(const std::vector<Stand>& stands, const Rules& rules,
                                         std::uint64_t created) {
  std::vector<BucketStanding> buckets;
  for (const Stand& stand : stands) {
    BucketStanding& bucket = buckets.emplace_back();
    bucket.generation = stand.item != nullptr ? stand.item->generation : created;
    for (const LimitClaim& limit : stand.claims.limits) {
      if (limit.in_force) bucket.limits.push_back(standing_of(stand, limit, rules));
    }
  }
  return buckets;
}

bool exceeded(const BucketStanding& bucket) {
  return std::any_of(bucket.limits.begin(), bucket.limits.end(),
                     [](const LimitStanding& limit) { return limit.exceeded; });
}

}  // namespace

Acquire::Acquire(AcquirePlan plan, const Settings& settings, const Rules& rules)
    : plan_(std::move(plan)), settings_(&settings), rules_(&rules), sight_(plan_.buckets.size()) {}

Action Acquire::start(std::span<const Image> images, Time now) {
  sight_.remember(images);
  return attempt(now);
}

Action Acquire::restart(std::vector<BucketPlan> buckets, Time now) {
  plan_.buckets = std::move(buckets);
  sight_.outdate();
  return attempt(now);
}

Action Acquire::resume(const Event& event, Time now) {
  sight_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return admitted_before() ? repeat() : attempt(now);
  if (event.kind == Event::Kind::applied) {
    return finish(fencing_ ? AcquireOutcome::Kind::refused : AcquireOutcome::Kind::admitted);
  }
  if (event.kind == Event::Kind::unknown) {
    // Whatever is decided from here on, the copy that was sent may still arrive.
    if (!plan_.once && rules_->resend_needs_marker) return finish(AcquireOutcome::Kind::unknown);
    in_doubt_ = true;
  }
  fencing_ = false;
  if (admitted_before()) return repeat();
  if (++failures_ >= settings_->attempts) {
    return finish(in_doubt_ ? AcquireOutcome::Kind::unknown : AcquireOutcome::Kind::contention);
  }
  return attempt(now);
}

Action Acquire::attempt(Time now) {
  if (!sight_.complete()) return {Action::Kind::read, {}};
  const Maker maker{*settings_, *rules_, true, plan_.new_generation};
  std::vector<Stand> stands;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    stands.push_back(maker.stand(i, plan_.buckets[i], sight_.alive(i, now), now));
    if (is_stale(stands.back()) && rules_->stale_resolves) {
      outcome_ = {.version = stands.back().item->version};
      return finish(AcquireOutcome::Kind::stale);
    }
  }
  outcome_ = {.buckets = standings_of(stands, *rules_, plan_.new_generation)};
  const auto& buckets = outcome_.buckets;
  return std::any_of(buckets.begin(), buckets.end(), exceeded) ? refuse(stands) : charge(stands);
}

Action Acquire::charge(const std::vector<Stand>& stands) {
  Transaction transaction;
  for (const Stand& stand : stands) transaction.writes.push_back(write_for(stand));
  if (plan_.once) {
    const auto& fence = marker_.item;
    transaction.marker.emplace();
    if (fence) transaction.marker->sequence = fence->sequence;
    transaction.marker->next = {(fence ? fence->sequence : 0) + 1, false, *plan_.once, {}};
    for (const BucketStanding& bucket : outcome_.buckets)
      transaction.marker->next.generations.push_back(bucket.generation);
  }
  return send(std::move(transaction));
}

Write Acquire::write_for(const Stand& stand) const {
  const Maker maker{*settings_, *rules_, true, plan_.new_generation};
  if (stand.item == nullptr) return maker.create(stand);
  const bool unchanged = !stand.claims.changed && stand.claims.version == stand.item->version;
  if (unchanged) {
    // The first time an old image says little about whether Retry will do; after a failure it is up to date.
    Write retry = maker.retry(stand);
    const bool first = failures_ == 0 && !sight_.current(stand.bucket);
    if (first ? settings_->retry_first : failures_ > 0 && holds(stand.item, retry)) return retry;
  }
  return maker.normal(stand);
}

Action Acquire::refuse(const std::vector<Stand>& stands) {
  outcome_.wait = 0;
  for (std::size_t i = 0; i < stands.size(); ++i) {
    const BucketStanding& bucket = outcome_.buckets[i];
    // An old image may refuse what the bucket holds by now.
    if (exceeded(bucket) && !sight_.current(i) && rules_->refuse_when_current)
      return {Action::Kind::read, {}};
    for (const LimitStanding& limit : bucket.limits) {
      outcome_.never_fits = outcome_.never_fits || limit.never_fits;
      outcome_.wait = std::max(outcome_.wait, limit.wait);
    }
  }
  // An earlier copy may have been admitted and be the reason for the refusal.
  if (plan_.once && !marker_.known) return {Action::Kind::read, {}};
  if (!in_doubt_ || !rules_->fence_refusals || !plan_.once) return finish(AcquireOutcome::Kind::refused);
  fencing_ = true;
  Transaction fence;
  fence.marker.emplace();
  if (marker_.item) fence.marker->sequence = marker_.item->sequence;
  fence.marker->next = {(marker_.item ? marker_.item->sequence : 0) + 1, true, {}, {}};
  return send(std::move(fence));
}

Action Acquire::repeat() {
  outcome_ = {.repeated = true};
  for (const std::uint64_t generation : marker_.item->generations)
    outcome_.buckets.push_back({generation, {}});
  return finish(AcquireOutcome::Kind::admitted);
}

Action Acquire::send(Transaction transaction) {
  sent_ = std::move(transaction);
  return {Action::Kind::write, sent_};
}

Action Acquire::finish(AcquireOutcome::Kind kind) {
  outcome_.kind = kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
