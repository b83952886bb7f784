#include "store/dynamodb/lease.h"

#include <algorithm>

#include "base/text.h"
#include "decision/lease_change.h"
#include "decision/report.h"

namespace weir::dynamodb {

using conditional::Action;
using conditional::Event;
using conditional::Image;
using store::Progress;

LeaseChange::LeaseChange(Context& context, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                         store::Completion<Progress> done)
    : Operation(context, plan.name_space, plan.lease.resource, done), plan_(plan), outcome_(outcome) {}

void LeaseChange::start() {
  const detail::LeaseData& lease = plan_.lease;
  for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
    add_link(lease.buckets[i].entity);
    add_bucket(plan_.resolutions[i]);
  }
  now_ = context_.now();
  if (auto checked = context_.check_clock(); !checked) return finish(checked.error());
  for (const ChainBucket& place : buckets_in_chain_) {
    if (place.resolution->valid_until <= now_) return finish(Progress::resolve_again);
  }
  new_generation_ = (context_.entropy.next() >> 11U) | 1U;
  const bool has_nonce = lease.nonce[0] != 0 || lease.nonce[1] != 0;
  // What returns to a grant is not bounded by the burst, so a repetition must never return it again.
  const bool took_grants = std::any_of(lease.amounts.begin(), lease.amounts.end(),
                                       [](const auto& amount) { return !amount.granted.empty(); });
  if (has_nonce && (took_grants || !context_.settle_single)) {
    marker_key_ =
        lease_key(name_space_, lease.marker_entity.empty() ? lease.buckets[0].entity : lease.marker_entity,
                  lease.nonce);
  }
  if (marker_key_.pk.empty() && plan_.change.verb == detail::LeaseVerb::extend)
    return finish(base::invalid("a lease cannot be extended with settle=single in the store's URL"));
  // Extending a lease changes the deadline of its marker.
  if (lease.shared && !decision::check_open(lease.deadline, now_)) {
    if (marker_key_.pk.empty()) return finish(decision::check_open(lease.deadline, now_).error());
    step_ = Step::opening;
    return read_all();
  }
  look_for_limits();
}

/// Whether an image shows the charged bucket with every limit that the lease or the change names in it.
bool LeaseChange::shows_limits(std::size_t place, const Image& image) const {
  const detail::LeaseData& lease = plan_.lease;
  const bool charged = image.item && image.item->expires_at > now_ &&
                       image.item->generation == lease.buckets[place].generation;
  if (!charged) return false;
  const auto has = [&](std::string_view limit) {
    const bucket::LimitState* const stored = image.item->find(limit);
    return stored != nullptr && !stored->dormant;
  };
  const auto knows = [&](const Charge& charge) {
    return std::any_of(lease.amounts.begin(), lease.amounts.end(),
                       [&](const decision::LeaseAmount& amount) { return amount.limit == charge.limit; });
  };
  const auto& charges = plan_.change.charges;
  return std::all_of(lease.amounts.begin(), lease.amounts.end(),
                     [&](const decision::LeaseAmount& amount) {
                       return (amount.buckets >> place & 1U) == 0 || has(amount.limit);
                     }) &&
         std::all_of(charges.begin(), charges.end(),
                     [&](const Charge& charge) { return knows(charge) || has(charge.limit); });
}

/// Buckets that may have limits of the last request are read first, unless the remembered images show the
/// limits of the lease.
void LeaseChange::look_for_limits() {
  std::vector<Image> remembered = images();
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    if (!buckets_in_chain_[i].resolution->open) continue;
    if (!shows_limits(i, remembered[i])) return find_limits();
    as_remembered_ = true;
  }
  begin_as_is(std::move(remembered));
}

void LeaseChange::find_limits() {
  as_remembered_ = false;
  step_ = Step::finding;
  read_all();
}

/// Whether a write has failed since limits were taken from a remembered image that is out of date.
bool LeaseChange::must_find_again(const Event& event) const {
  return as_remembered_ && event.kind == Event::Kind::failed && !machine_->in_doubt() &&
         std::any_of(event.images.begin(), event.images.end(),
                     [](const Image& image) { return image.known; });
}

/// Begins with images that show the limits which came with the last request.
void LeaseChange::begin_as_is(std::vector<Image> images) {
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    if (plan_.resolutions[i]->open) resolve_as_is(i, images[i]);
  }
  begin(std::move(images));
}

void LeaseChange::resolve_as_is(std::size_t place, const Image& image) {
  const limits::Resolution& resolved = *plan_.resolutions[place];
  const bool there = image.item && image.item->expires_at > now_;
  limits::ResolutionRef resolution;
  if (there) resolution = decision::resolve_as_stored(resolved, *image.item, now_);
  if (!resolution && resolved.limits) resolution = plan_.resolutions[place];
  if (!resolution) {
    const auto none = limits::resolve({}, limits::LimitSetRef(new limits::LimitSet({})), now_,
                                      resolved.configured_multiplier);
    resolution = limits::ResolutionRef(none.get());
  }
  buckets_in_chain_[place].resolution = std::move(resolution);
}

void LeaseChange::begin(std::vector<Image> images) {
  const detail::LeaseData& lease = plan_.lease;
  conditional::ChangePlan plan;
  plan.lease = decision::record_of(lease);
  plan.verb = plan_.change.verb;
  plan.key = plan_.change.key;
  for (const Charge& charge : plan_.change.charges)
    plan.amounts.push_back({std::string(charge.limit), charge.amount.millitokens()});
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    plan.buckets.push_back(plan_of(i));
    plan.buckets.back().generation = lease.buckets[i].generation;
    if (!buckets_in_chain_[i].resolution->counts_usage) plan.buckets.back().counts_usage = false;
    plan.entities.push_back(lease.buckets[i].entity);
  }
  plan.new_generation = new_generation_;
  const bool once = !marker_key_.pk.empty();
  plan.once = once;
  plan.deadline = lease.deadline;
  plan.lease_for = plan_.change.lease_for;
  plan.debt = plan_.change.debt;
  plan.only_held = plan_.change.only_held;
  machine_.emplace(std::move(plan), context_.settings);
  step_ = Step::changing;
  now_ = context_.now();
  act(machine_->start(images, now_, once ? context_.memory.marker(marker_key_) : std::nullopt));
}

void LeaseChange::on_event(const Event& event) {
  if (step_ == Step::opening) {
    const auto& marker = event.marker.item;
    const Time deadline =
        decision::deadline_of(marker && !marker->fence ? &*marker : nullptr, plan_.lease.deadline);
    if (auto open = decision::check_open(deadline, context_.now()); !open) return finish(open.error());
    return look_for_limits();
  }
  if (step_ == Step::finding) return begin_as_is(event.images);
  if (step_ == Step::looking) {
    now_ = context_.now();
    seen_ = event.images;
    for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i)
      context_.memory.remember(buckets_in_chain_[i].id, {seen_[i], asked_at_});
    report();
    return finish(Progress::decided);
  }
  if (must_find_again(event)) return find_limits();
  now_ = context_.now();
  act(machine_->resume(event, now_));
}

void LeaseChange::act(const Action& action) {
  switch (action.kind) {
    case Action::Kind::read:
      context_.counts.reads.fetch_add(1, std::memory_order_relaxed);
      return read_all();
    case Action::Kind::write:
      return write(action.transaction, now_);
    default:
      return conclude();
  }
}

bool LeaseChange::maybe_written() const {
  return step_ == Step::looking || (machine_ && machine_->in_doubt());
}

Purpose LeaseChange::purpose(bool /*decided*/) const {
  switch (plan_.change.verb) {
    case detail::LeaseVerb::settle:
      return Purpose::settle;
    case detail::LeaseVerb::rollback:
      return Purpose::rollback;
    default:
      return Purpose::adjust;
  }
}

void LeaseChange::conclude() {
  remember(machine_->snapshot());
  const conditional::ChangeOutcome& outcome = machine_->outcome();
  switch (outcome.kind) {
    case conditional::ChangeOutcome::Kind::changed: {
      for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
        if (const auto& item = machine_->snapshot()[i].item)
          context_.memory.wrote_version(buckets_in_chain_[i].id, buckets_in_chain_[i].resolution->levels,
                                        item->version);
      }
      outcome_.record = outcome.lease;
      outcome_.deadline = outcome.deadline;
      bool all_known = !outcome.repeated;
      for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i)
        all_known = all_known && machine_->snapshot()[i].known;
      if (!all_known) {
        step_ = Step::looking;
        return read_all();
      }
      report();
      return finish(Progress::decided);
    }
    case conditional::ChangeOutcome::Kind::refused:
      return finish(*outcome.error);
    case conditional::ChangeOutcome::Kind::stale:
      if (outcome.chain) distrust_chain();
      for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
        if (const auto* const state = machine_->snapshot().alive(i, now_)) distrust(i, state->version);
      }
      return finish(Progress::resolve_again);
    case conditional::ChangeOutcome::Kind::contention:
      context_.counts.contended.fetch_add(1, std::memory_order_relaxed);
      return finish(base::error(ErrorCode::contention,
                                "too many others charge the buckets of the lease at once; "
                                "nothing was changed, try again"));
    default:
      return finish(base::error(ErrorCode::outcome_unknown,
                                "DynamoDB did not answer; the change may or may not have happened"));
  }
}

const conditional::Record* LeaseChange::alive(std::size_t place) const {
  if (step_ != Step::looking) return machine_->snapshot().alive(place, now_);
  const auto& item = seen_[place].item;
  return item && item->expires_at > now_ ? &*item : nullptr;
}

void LeaseChange::report() {
  outcome_.report.clear();
  decision::Chain chain;
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    const limits::LimitSet& set = *buckets_in_chain_[i].resolution->limits;
    if (set.size() == 0) continue;
    decision::Link& link = chain.add(buckets_in_chain_[i].name.entity, buckets_in_chain_[i].resolution.get());
    show(chain, link, alive(i), now_);
    link.named = 0;
    for (std::size_t j = 0; j < set.size(); ++j) {
      link.amount[j] = 0;
      for (const decision::LeaseAmount& charge : machine_->outcome().charges) {
        if ((charge.buckets >> i & 1U) != 0 && charge.limit == set.name(j)) link.amount[j] = charge.amount;
      }
    }
    decision::report(outcome_.report, link, resource_, link.generation, false);
    if (step_ != Step::looking && !machine_->snapshot().exact(i)) outcome_.report.mark_remaining_at_most();
  }
}

}  // namespace weir::dynamodb
