#include "store/redis/lease.h"

#include "base/text.h"
#include "decision/report.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"

namespace weir::redis {

using store::Progress;

LeaseChange::LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                         store::Completion<Progress> done)
    : Operation(buckets, plan.name_space, plan.lease.resource, done), plan_(plan), outcome_(outcome) {}

void LeaseChange::start() {
  const auto& buckets = plan_.lease.buckets;
  const std::string_view end = end_of_chain(buckets.back().entity, *plan_.resolutions.back());
  for (std::size_t i = 0; i < buckets.size(); ++i)
    add_place(buckets[i].entity, plan_.resolutions[i].get(), end);
  if (!plan_.lease.shared) return load({});
  marker_ = lease_key(end, plan_.lease.nonce);
  send_differences({.ending = plan_.lease.ending, .amounts = plan_.lease.amounts, .keys = {}}, {});
}

void LeaseChange::send_differences(const decision::LeaseRecord& record, std::string marker) {
  std::vector<limits::LimitSetRef> sets;
  for (const Place& place : places_) sets.push_back(place.resolution->limits);
  auto step = decision::step(record, plan_.change, sets);
  // A mistake, or nothing to do: only with everything at hand can that be said for certain.
  if (!step || step->repeated) return load(marker_);
  next_ = *std::move(step);
  for (const decision::LeaseAmount& charge : next_.charges) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const bool here = (charge.buckets >> i & 1U) != 0;
      if (here && sets[i] && sets[i]->find(charge.limit) < 0) return load(marker_);
    }
  }
  const std::string marker_after = encode(table::Marker{next_.next, plan_.lease.deadline});
  step_ = Step::plain;
  writes_ = true;
  repeatable = true;
  begin(Script::lease(), places_.size() + 1, places_.size() * 2 + 4);
  key(marker_);
  for (const Place& place : places_) key(key_of(place));
  word(packed());
  word(marker);
  word(marker_after);
  for (std::size_t i = 0; i < places_.size(); ++i) word(differences_of(i));
  send();
}

std::string LeaseChange::packed() const {
  std::string plan;
  for (const std::int64_t number : {site().time.for_scripts(), to_redis(plan_.lease.deadline), marker_margin})
    append_number(plan, number);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const limits::Resolution& resolution = *places_[i].resolution;
    const bool as_it_is = !resolution.limits;
    for (const std::int64_t number :
         {resolution.stamp, known(places_[i]), as_it_is ? 0 : sets().get(resolution.limits)->digest,
          as_it_is ? 0 : to_redis(resolution.keep_for), to_redis(resolution.valid_until),
          static_cast<std::int64_t>(plan_.lease.buckets[i].generation)})
      append_number(plan, number);
  }
  return plan;
}

std::string LeaseChange::differences_of(std::size_t place) const {
  Words words;
  for (const decision::LeaseAmount& charge : next_.charges) {
    if ((charge.buckets >> place & 1U) != 0) words.name(charge.limit).number(charge.amount);
  }
  return std::move(words.str());
}

void LeaseChange::replied(const Reply& reply) {
  forget_spent();
  if (take(reply)) return;
  if (!reply.is_list()) return failed({ErrorCode::outcome_unknown, "Redis answers nonsense"});
  auto at = reply.children();
  const auto code = at.next().integer();
  const Time now = at.next().integer().value_or(0);
  site().time.learn(now);
  if (code == 1) return changed(now, at);
  if (code == 2) {
    const Time seen = at.next().integer().value_or(0);
    return resolve_again(seen, static_cast<std::size_t>(at.next().integer().value_or(1) - 1));
  }
  if (code == 4) {
    return finish(base::error(ErrorCode::expired, "the lease is past its deadline; its charge stands"));
  }
  constexpr int most_overtaken = 20;
  const std::string text(code == 5 ? at.next().text() : std::string_view());
  const auto marker = decode_marker(text);
  if (!marker || ++overtaken_ > most_overtaken) return load(marker_);
  send_differences(marker->record, text);
}

void LeaseChange::changed(Time now, Reply::Children states) {
  outcome_.report.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Reply state = states.next();
    const Reply parameters = states.next();
    if (!show(i, state, parameters, now))
      return failed({ErrorCode::outcome_unknown, "Redis answers nonsense"});
  }
  outcome_.record = std::move(next_.next);
  finish(Progress::decided);
}

/// Adds the lines of one bucket as it is after the change.
bool LeaseChange::show(std::size_t place, const Reply& reply, const Reply& parameters, Time now) {
  decision::Link stop{};
  stop.entity = places_[place].entity;
  stop.resolution = places_[place].resolution;
  if (!stop.resolution->limits) {
    // No level has limits any more: those that were in force at its last decision go on.
    if (!reply.is_text()) return true;
    auto set = decode_set(parameters.text());
    if (!set) return false;
    made_.emplace_back(
        limits::resolve(stop.resolution->levels, *set, now, stop.resolution->configured_multiplier).get());
    stop.resolution = made_.back().get();
  }
  const limits::LimitSet& set = *stop.resolution->limits;
  std::uint64_t generation = 0;
  const auto state = reply.is_text() ? read_state(reply.text()) : State();
  if (!state || (reply.is_text() && state->limits != set.size())) return false;
  stop.at = std::max(now, state->refilled_at);
  for (std::size_t i = 0; i < set.size(); ++i) {
    stop.held[i] = reply.is_text() ? bucket::claim(set[i].rate, set[i].burst, state->refilled_at, stop.at)
                                         .held(number_at(reply.text(), 2 * i))
                                   : set[i].capacity;
    stop.amount[i] = 0;
    for (const decision::LeaseAmount& charge : next_.charges) {
      const bool here = (charge.buckets >> place & 1U) != 0;
      if (here && charge.limit == set.name(i)) stop.amount[i] = charge.amount;
    }
  }
  generation = static_cast<std::uint64_t>(state->generation);
  decision::report_lines(outcome_.report, stop, base::join(stop.entity, resource_), generation, false,
                         set.size());
  return true;
}

/// What is in doubt is looked up: the marker tells whether it happened.
void LeaseChange::failed(Error error) {
  constexpr int most_doubts = 3;
  const bool in_doubt = error.code == ErrorCode::outcome_unknown && plan_.lease.shared;
  if (in_doubt && ++doubts_ < most_doubts) return load(marker_);
  if (doubts_ > 0) error.code = ErrorCode::outcome_unknown;
  Operation::failed(std::move(error));
}

Result<Progress> LeaseChange::decide(Workbench& bench) { return bench.change(plan_, outcome_); }

void LeaseChange::restart() {
  if (again_allowed()) load(marker_);
}

}  // namespace weir::redis
