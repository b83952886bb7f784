#include "store/dynamodb/acquire.h"

#include <algorithm>

#include "base/text.h"
#include "decision/acquire.h"

namespace weir::dynamodb {

using conditional::Action;
using conditional::Event;
using conditional::Image;
using store::Progress;

Acquire::Acquire(Context& context, const store::Plan& plan, Mode mode, Decision& decision,
                 store::Completion<Progress> done)
    : Operation(context, plan.request.name_space, plan.request.resource, done),
      plan_(plan),
      mode_(mode),
      decision_(decision) {}

void Acquire::start() {
  const store::Request& request_of_it = plan_.request;
  const auto add = [&](std::string_view entity, const limits::ResolutionRef& resolution) {
    if (chain_.full()) return;
    add_link(entity);
    // An entity without limits is not charged, and has no bucket.
    if (!resolution->limits) return bare_.push_back({links_.size() - 1, resolution->parent});
    chain_.add(entity, resolution.get());
    add_bucket(resolution);
  };
  add(request_of_it.entity, plan_.resolution);
  for (const limits::Resolution* at = plan_.resolution.get(); at->parent_resolution;
       at = at->parent_resolution.get())
    add(at->parent, at->parent_resolution);
  now_ = context_.now();
  if (plan_.resolution->valid_until <= now_) return finish(Progress::resolve_again);
  if (auto checked = context_.check_clock(); !checked) return finish(checked.error());
  // Checks the names of limits, which does not depend on stored state.
  if (auto checked = decision::match_all(chain_, request_of_it.consume); !checked)
    return finish(checked.error());
  if (request_of_it.once != nullptr)
    marker_key_ = lease_key(name_space_, request_of_it.entity, *request_of_it.once);
  if (mode_ == Mode::peek) {
    step_ = Step::looking;
    return request_of_it.once == nullptr ? read_to_show() : read_all();
  }
  context_.counts.decisions.fetch_add(1, std::memory_order_relaxed);
  // Below 2^53, so that it is exact as a double too, and never 0.
  new_generation_ = (context_.entropy.next() >> 11U) | 1U;
  begin(images());
}

bool Acquire::charged(std::size_t place, std::string_view limit) const {
  const limits::LimitSet& set = *buckets_in_chain_[place].resolution->limits;
  const int index = set.find(limit);
  return index >= 0 && set.mode(static_cast<std::size_t>(index)) != weir::Mode::off;
}

bool Acquire::is_concurrent(std::size_t place, std::string_view limit) const {
  const limits::LimitSet& set = *buckets_in_chain_[place].resolution->limits;
  const int index = set.find(limit);
  return index >= 0 && set[static_cast<std::size_t>(index)].kind() == Kind::concurrent;
}

std::vector<conditional::BucketPlan> Acquire::plans() const {
  std::vector<conditional::BucketPlan> plans;
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    conditional::BucketPlan& plan = plans.emplace_back(plan_of(i));
    plan.counts_usage = plan_.counts_usage();
    for (const Charge& charge : plan_.request.consume) {
      if (charged(i, charge.limit))
        plan.charges.push_back(
            {std::string(charge.limit), charge.amount.millitokens(), is_concurrent(i, charge.limit)});
    }
  }
  return plans;
}

void Acquire::begin(std::vector<Image> images) {
  if (refuse_from_memory(images)) return;
  conditional::AcquirePlan plan{.buckets = plans(), .new_generation = new_generation_, .bare = bare_};
  plan.shadow = plan_.request.shadow;
  plan.lease_for = plan_.request.lease_for;
  if (plan_.request.once != nullptr) plan.once = lease_record();
  // Where other processes write too, a cached image is rarely current.
  plan.read_first =
      std::any_of(buckets_in_chain_.begin(), buckets_in_chain_.end(),
                  [&](const ChainBucket& place) { return context_.memory.better_read(place.id); });
  machine_.emplace(std::move(plan), context_.settings);
  step_ = Step::deciding;
  writes_ = 0;
  now_ = context_.now();
  act(machine_->start(images, now_));
}

/// A bucket that was empty a moment ago is not read again: its refill is known, and only a credit by another
/// process can have added more.
bool Acquire::refuse_from_memory(const std::vector<Image>& images) {
  if (context_.refuse_for == 0 || plan_.request.once != nullptr) return false;
  const auto enforces = [&](const decision::Link& link) {
    return decision::shadows_of(link, plan_.request.shadow) == 0 && link.resolution->limits->off() == 0;
  };
  if (!std::all_of(chain_.begin(), chain_.end(), enforces)) return false;
  bool exceeded = false;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto& item = images[i].item;
    const limits::Resolution& resolution = *buckets_in_chain_[i].resolution;
    const Time age = now_ - buckets_in_chain_[i].seen_at;
    if (!item || item->expires_at <= now_ || age < 0 || age > context_.refuse_for) return false;
    if (item->version > std::max(resolution.stamp,
                                 context_.memory.resolved_after(buckets_in_chain_[i].id, resolution.levels)))
      return false;
    const bucket::Claims claims = bucket::claims_of(&*item, resolution, now_);
    if (claims.changed) return false;
    for (const bucket::LimitClaim& limit : claims.limits) {
      for (const Charge& charge : plan_.request.consume) {
        const std::int64_t held = base::saturating_add(limit.held(&*item), bucket::total(limit.grants));
        if (charge.limit == limit.name && limit.in_force && charge.amount.millitokens() > held)
          exceeded = true;
      }
    }
  }
  if (!exceeded) return false;
  seen_ = images;
  from_memory_ = true;
  report(false);
  context_.counts.refused_from_memory.fetch_add(1, std::memory_order_relaxed);
  const decision::Wait wait = decision::wait_of(chain_, now_);
  decision_.set_refused(wait.time, wait.never_fits);
  decision_.set_from_memory();
  finish(Progress::decided);
  return true;
}

void Acquire::act(const Action& action) {
  switch (action.kind) {
    case Action::Kind::read:
      context_.counts.reads.fetch_add(1, std::memory_order_relaxed);
      return read_all();
    case Action::Kind::write:
      if (auto checked = check_sizes(); !checked) return finish(checked.error());
      if (machine_->charges() && writes_++ == 0)
        context_.counts.first_writes.fetch_add(1, std::memory_order_relaxed);
      return write(action.transaction, now_);
    default:
      return conclude();
  }
}

/// Fails if a record would have to keep too many limits at once.
Result<void> Acquire::check_sizes() {
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    show(chain_, chain_[i], alive(i), now_);
    if (auto checked = decision::check_size(chain_[i]); !checked) return checked;
  }
  return {};
}

const conditional::Record* Acquire::alive(std::size_t place) const {
  if (machine_ && step_ != Step::looking && !from_memory_) return machine_->snapshot().alive(place, now_);
  const auto& item = seen_[place].item;
  return item && item->expires_at > now_ ? &*item : nullptr;
}

void Acquire::on_event(const Event& event) {
  if (step_ == Step::looking) return looked(event);
  if (writes_ == 1 && event.kind != Event::Kind::seen && machine_->charges()) {
    const bool failed = event.kind == Event::Kind::failed;
    if (failed) context_.counts.failed_first_writes.fetch_add(1, std::memory_order_relaxed);
    for (const ChainBucket& place : buckets_in_chain_) context_.memory.wrote_first(place.id, failed);
  }
  now_ = context_.now();
  act(machine_->resume(event, now_));
}

bool Acquire::maybe_written() const {
  // The looking of an acquire reads the balances for the report of one that was admitted before.
  const bool admitted = step_ == Step::looking && mode_ == Mode::acquire;
  return admitted || (machine_ && machine_->in_doubt());
}

Purpose Acquire::purpose(bool decided) const {
  if (mode_ == Mode::peek) return Purpose::available;
  if (!decided) return Purpose::undecided;
  return decision_.admitted() ? Purpose::admitted : Purpose::refused;
}

void Acquire::conclude() {
  remember(machine_->snapshot());
  const conditional::AcquireOutcome& outcome = machine_->outcome();
  switch (outcome.kind) {
    case conditional::AcquireOutcome::Kind::admitted:
      return admitted();
    case conditional::AcquireOutcome::Kind::refused:
      return refused();
    case conditional::AcquireOutcome::Kind::stale:
      if (outcome.chain) distrust_chain();
      for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
        if (const bucket::State* const state = alive(i)) distrust(i, state->version);
      }
      return finish(Progress::resolve_again);
    case conditional::AcquireOutcome::Kind::contention:
      context_.counts.contended.fetch_add(1, std::memory_order_relaxed);
      return finish(base::error(ErrorCode::contention, "too many others charge ",
                                base::quoted(plan_.request.entity),
                                " at once; nothing was charged, try again"));
    default:
      return finish(base::error(ErrorCode::outcome_unknown,
                                "DynamoDB did not answer; the charge may or may not have happened"));
  }
}

void Acquire::report(bool charged) {
  decision_.report().clear();
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    decision::Link& link = chain_[i];
    if (!charged) {
      show(chain_, link, alive(i), now_);
      decision::decide(link, plan_.request.shadow);
      decision::report_refused(decision_.report(), link, resource_, now_);
      continue;
    }
    // The image is from after the charge, which counts even if the bucket has expired since.
    const auto& item = machine_->snapshot()[i].item;
    show(chain_, link, item ? &*item : nullptr, now_);
    decision::leave_out(link, machine_->outcome().left_out[i]);
    for (std::size_t j = 0; j < link.limit_count(); ++j) link.held[j] += link.amount[j];
    decision::report(decision_.report(), link, resource_, link.generation, true);
    if (!machine_->snapshot().exact(i)) decision_.report().mark_remaining_at_most();
  }
}

void Acquire::admitted() {
  const conditional::AcquireOutcome& outcome = machine_->outcome();
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    if (const auto& item = machine_->snapshot()[i].item)
      context_.memory.wrote_version(buckets_in_chain_[i].id, buckets_in_chain_[i].resolution->levels,
                                    item->version);
  }
  if (outcome.repeated) {
    // The present balances have to be read.
    step_ = Step::looking;
    return read_all();
  }
  report(true);
  decision_.set_admitted();
  decision_.set_deadline(outcome.deadline);
  set_marker_entity();
  // The lease of a keyed acquire leaves them to its marker.
  if (plan_.request.once == nullptr) {
    for (const conditional::AcquireOutcome::Granted& one : outcome.granted) {
      auto& amounts = decision_.lease_data().amounts;
      decision::note_granted(decision::amount_in(amounts, one.limit), one.bucket, one.pieces);
    }
  }
  finish(Progress::decided);
}

/// Beside the entity of the request, even if that has no limits, and so no bucket, today: tomorrow it may.
void Acquire::set_marker_entity() {
  const std::string_view entity = plan_.request.entity;
  if (plan_.request.once != nullptr && decision_.lease_data().buckets[0].entity != entity)
    decision_.lease_data().marker_entity = entity;
}

void Acquire::looked(const Event& event) {
  now_ = context_.now();
  seen_ = event.images;
  const bool repeated = mode_ == Mode::acquire || (event.marker.item && !event.marker.item->fence);
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    const bucket::State* const state = alive(i);
    const limits::Resolution& resolution = *buckets_in_chain_[i].resolution;
    const std::int64_t known = std::max(
        resolution.stamp, context_.memory.resolved_after(buckets_in_chain_[i].id, resolution.levels));
    if (state != nullptr && state->version > known && !repeated) {
      distrust(i, state->version);
      return finish(Progress::resolve_again);
    }
    context_.memory.remember(buckets_in_chain_[i].id, {seen_[i], asked_at_});
  }
  if (repeated) return repeat(mode_ == Mode::acquire ? *machine_->marker().item : *event.marker.item);
  report(false);
  const bool fits =
      std::all_of(chain_.begin(), chain_.end(), [](const decision::Link& link) { return link.fits; });
  if (fits) {
    decision_.set_admitted();
    decision_.set_deadline(base::saturating_add(now_, plan_.request.lease_for));
  } else {
    const decision::Wait wait = decision::wait_of(chain_, now_);
    decision_.set_refused(wait.time, wait.never_fits);
  }
  finish(Progress::decided);
}

void Acquire::repeat(const conditional::Marker& seen) {
  decision::Marker marker{seen.lease, seen.deadline, {}};
  // A marker of format 1 has no entities. They are those of the chain, if it has the same length.
  for (std::size_t i = 0; i < seen.generations.size(); ++i) {
    const bool known = !seen.entities.empty() || seen.generations.size() == buckets_in_chain_.size();
    if (!known) break;
    const std::string_view entity =
        seen.entities.empty() ? buckets_in_chain_[i].name.entity : seen.entities[i];
    marker.buckets.push_back({std::string(entity), seen.generations[i]});
  }
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) show(chain_, chain_[i], alive(i), now_);
  decision::answer_repeated(chain_, marker, store::asked_of(plan_.request), resource_, decision_);
  set_marker_entity();
  finish(Progress::decided);
}

void Acquire::refused() {
  report(false);
  const decision::Wait& wait = machine_->outcome().wait;
  decision_.set_refused(wait.time, wait.never_fits);
  finish(Progress::decided);
}

conditional::Once Acquire::lease_record() const {
  conditional::Once once;
  for (const ChainBucket& place : buckets_in_chain_) once.entities.emplace_back(place.name.entity);
  for (const Charge& charge : plan_.request.consume) {
    decision::LeaseAmount amount{std::string(charge.limit), charge.amount.millitokens(), 0};
    for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
      if (!charged(i, charge.limit)) continue;
      amount.buckets = static_cast<std::uint8_t>(amount.buckets | 1U << i);
      if (is_concurrent(i, charge.limit)) amount.holds = static_cast<std::uint8_t>(amount.holds | 1U << i);
    }
    if (amount.buckets != 0) once.lease.amounts.push_back(std::move(amount));
  }
  return once;
}

}  // namespace weir::dynamodb
