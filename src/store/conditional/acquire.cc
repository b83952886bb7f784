#include "store/conditional/acquire.h"

#include <algorithm>

#include "decision/next_state.h"
#include "decision/repair.h"

namespace weir::conditional {
Acquire::Acquire(AcquirePlan plan, const Settings& settings)
    : plan_(std::move(plan)), settings_(&settings), sight_(plan_.buckets.size()) {}

Action Acquire::start(std::span<const Image> images, Time now) {
  sight_.remember(images);
  if (plan_.read_first && sight_.complete()) {
    decision::Chain chain;
    const std::vector<Stand> all = stands(chain, now);
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

std::vector<Stand> Acquire::stands(decision::Chain& chain, Time now) const {
  std::vector<Stand> all;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    all.push_back(evaluate(chain, i, plan_.buckets[i], sight_.alive(i, now), now));
  return all;
}

Action Acquire::attempt(Time now) {
  if (!sight_.complete()) return {Action::Kind::read, {}};
  decision::Chain chain;
  const std::vector<Stand> all = stands(chain, now);
  for (const Stand& stand : all) {
    if (is_stale(stand)) return stale(stand.item->version, false);
    // A process whose clock was ahead has claimed refill of the future: until then nothing would refill.
    const bool ahead = settings_->most_ahead > 0 && stand.item != nullptr &&
                       decision::is_ahead(stand.item->refilled_at, now, settings_->most_ahead);
    if (ahead) return send(Sent::repair, {.writes = {Maker::repair(stand)}});
  }
  const bool fits = std::all_of(chain.begin(), chain.end(), [](const auto& link) { return link.fits; });
  return fits ? charge(all) : refuse(chain, all);
}

Action Acquire::charge(const std::vector<Stand>& stands) {
  outcome_ = {};
  Transaction transaction;
  transaction.links = plan_.bare;
  for (const Stand& stand : stands) {
    outcome_.generations.push_back(stand.item != nullptr ? stand.item->generation : plan_.new_generation);
    transaction.writes.push_back(write_for(stand));
    if (checks_link(stand)) transaction.links.push_back({stand.plan->entity, stand.plan->parent});
  }
  if (plan_.once) {
    const auto& fence = marker_.item;
    transaction.marker.emplace();
    if (fence) transaction.marker->sequence = fence->sequence;
    transaction.marker->next = {(fence ? fence->sequence : 0) + 1, false, plan_.once->lease,
                                plan_.once->entities, outcome_.generations};
  }
  return send(Sent::charge, std::move(transaction));
}

bool Acquire::retry_will_do(const Stand& stand) const {
  if (stand.item == nullptr || checks_link(stand)) return false;
  if (stand.claims().changed || stand.claims().version != stand.item->version) return false;
  // A limit that leaves the set is taken down as dormant, which Retry cannot do.
  const auto leaves = [&](const bucket::LimitClaim& limit) {
    return !limit.in_force && !stand.item->limits[static_cast<std::size_t>(limit.index)].dormant;
  };
  if (std::any_of(stand.claims().limits.begin(), stand.claims().limits.end(), leaves)) return false;
  return holds(stand.item, maker(true).retry(stand));
}

Write Acquire::write_for(const Stand& stand) const {
  if (stand.item == nullptr) return maker(true).create(stand);
  // An image that was just read is as good for Normal, which leaves room for more of them.
  const bool just_read = failures_ == 0 && sight_.current(stand.bucket);
  if (!just_read && retry_will_do(stand)) return maker(true).retry(stand);
  return maker(true).normal(stand);
}

/// The bucket as it is, if it has to be there.
void Acquire::add_uncharged(const Stand& stand, Transaction& transaction) const {
  if (!decision::must_exist(*stand.link)) return;
  BucketPlan plan = *stand.plan;
  plan.charges.clear();
  Stand uncharged = stand;
  uncharged.plan = &plan;
  const Write write = stand.item == nullptr ? maker(false).create(uncharged) : maker(false).normal(uncharged);
  stand.link->expires_at =
      write.item ? write.item->expires_at : write.set_expires_at.value_or(stand.link->expires_at);
  transaction.writes.push_back(write);
  if (checks_link(stand)) transaction.links.push_back({plan.entity, plan.parent});
}

Action Acquire::refuse(decision::Chain& chain, const std::vector<Stand>& stands) {
  // An old image may refuse what the bucket holds by now.
  for (const Stand& stand : stands) {
    if (!stand.link->fits && !sight_.current(stand.bucket)) return {Action::Kind::read, {}};
  }
  // An earlier copy may have been admitted and be the reason for the refusal.
  if (plan_.once && !marker_.known) return {Action::Kind::read, {}};
  Transaction transaction;
  for (const Stand& stand : stands) add_uncharged(stand, transaction);
  outcome_ = {.wait = decision::wait_of(chain, stands.front().now)};
  // What can never fit need not grow.
  if (outcome_.wait.never_fits) transaction = {};
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
  outcome_ = {.repeated = true, .generations = marker_.item->generations};
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
