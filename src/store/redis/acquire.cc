#include "store/redis/acquire.h"

#include <algorithm>

#include "base/text.h"
#include "decision/report.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"

namespace weir::redis {

using store::Progress;

Acquire::Acquire(RedisBuckets& buckets, const store::Plan& plan, Mode mode, Decision& decision,
                 store::Completion<Progress> done)
    : Operation(buckets, plan.request.name_space, plan.request.resource, done),
      plan_(plan),
      mode_(mode),
      decision_(decision) {
  command = base::SpareTexts::take();
}

Acquire::~Acquire() { base::SpareTexts::give(std::move(command)); }

void Acquire::start() {
  const store::Request& request = plan_.request;
  const std::string_view end = end_of_chain(request.entity, *plan_.resolution);
  const auto add = [&](std::string_view entity, const limits::Resolution* resolution) {
    // One without limits is not charged, and has no bucket.
    if (!resolution->limits || stops_.full()) return;
    stops_.add(entity, resolution);
    add_place(entity, resolution, end);
  };
  add(request.entity, plan_.resolution.get());
  for (const limits::Resolution* at = plan_.resolution.get(); at->parent_resolution;
       at = at->parent_resolution.get())
    add(at->parent, at->parent_resolution.get());
  if (auto checked = check(); !checked) return finish(checked.error());
  if (mode_ == Mode::peek) return load({});
  if (request.once != nullptr) marker_ = lease_key(end, *request.once);
  for (const decision::Link& stop : stops_) in_plan_.push_back(sets().get(stop.resolution->limits));
  if (!refuse_from_memory()) send_plan();
}

/// Fails on a limit that no bucket has and on one that is named twice.
Result<void> Acquire::check() {
  std::uint64_t known = 0;
  bool twice = false;
  for (decision::Link& stop : stops_) {
    const decision::Matched matched = decision::match(stop, plan_.request.consume);
    known |= matched.charges;
    twice = twice || matched.twice;
  }
  if (!twice && known == decision::all_of(plan_.request.consume)) return {};
  // In the words of every other store.
  return decision::match_all(stops_, plan_.request.consume);
}

void Acquire::pack(std::string& plan, Time now) const {
  append_number(plan, now);
  append_number(plan, 0);
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const limits::Resolution& resolution = *places_[k].resolution;
    const SetInPlan& set = *in_plan_[k];
    for (const std::int64_t number :
         {static_cast<std::int64_t>(set.set->size()), resolution.stamp, known(places_[k]), set.digest,
          to_redis(resolution.keep_for), to_redis(resolution.valid_until)})
      append_number(plan, number);
    const decision::Link& stop = stops_[k];
    for (std::size_t i = 0; i < set.set->size(); ++i) {
      plan.append(set.parameters, 24 * i, 24);
      append_number(plan, (stop.named >> i & 1U) != 0 ? stop.amount[i] : -1);
    }
  }
  std::string size;
  append_number(size, static_cast<std::int64_t>(plan.size()));
  plan.replace(size.size(), size.size(), size);
}

/// With a marker, no longer than what is exact as a double.
Time Acquire::lease_for() const { return std::min(plan_.request.lease_for, round_of_counter); }

std::string Acquire::marked_amounts() const {
  std::vector<decision::LeaseAmount> amounts;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const decision::Link& stop = stops_[k];
    const limits::LimitSet& set = *stop.resolution->limits;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if ((stop.named >> i & 1U) == 0) continue;
      auto amount = std::find_if(amounts.begin(), amounts.end(),
                                 [&](const auto& other) { return other.limit == set.name(i); });
      if (amount == amounts.end())
        amount = amounts.insert(amounts.end(), {std::string(set.name(i)), stop.amount[i], 0});
      amount->buckets = static_cast<std::uint8_t>(amount->buckets | 1U << k);
    }
  }
  return marker_behind_deadline(
      {.ending = decision::Ending::open, .amounts = std::move(amounts), .keys = {}});
}

void Acquire::send_plan() {
  const std::size_t count = places_.size();
  const bool once = !marker_.empty();
  if (site().spent.used()) sent_at_ = site().time.here();
  writes_ = true;
  // A marker tells whether it was done.
  repeatable = once;
  begin(Script::acquire(), count + (once ? 1 : 0), count + (once ? 6 : 1));
  for (const Place& place : places_) key(key_of(place));
  if (once) key(marker_);
  Time now = site().time.for_scripts();
  // The nodes of a cluster have clocks of their own, and a marker needs the true time.
  const Time passed = now < 0 && !site().cluster && !once ? site().time.passed() : -1;
  asked_for_time_ = passed < 0;
  if (!asked_for_time_) now = -passed;
  thread_local std::string plan;
  plan.clear();
  pack(plan, now);
  plan.append(std::to_string(buckets_.next_generation())).append(" ").append(resource_);
  for (const auto& set : in_plan_) plan.append("\n").append(set->text);
  word(plan);
  if (once) {
    word(lease_for());
    word(marker_margin);
    word(marker_before_deadline());
    word(marked_amounts());
  }
  send();
}

void Acquire::replied(const Reply& reply) {
  if (mode_ == Mode::acquire) forget_spent();
  if (take(reply)) return;
  if (reply.is_text()) return admitted(reply.text());
  if (!reply.is_list()) return failed({ErrorCode::outcome_unknown, "Redis answers nonsense"});
  auto at = reply.children();
  const auto code = at.next().integer();
  const Time now = at.next().integer().value_or(0);
  // What is not plain has asked for it.
  if (asked_for_time_ || code != 1) site().time.learn(now);
  if (code == 1) return admitted(now, at);
  if (code == 0) return refused(now, at);
  if (code == 2) {
    const Time seen = at.next().integer().value_or(0);
    return resolve_again(seen, static_cast<std::size_t>(at.next().integer().value_or(1) - 1));
  }
  decide_here(now, at);
}

LimitReport::Line* Acquire::report(std::size_t place, std::uint64_t generation, bool charged) {
  const decision::Link& stop = stops_[place];
  return decision::report_lines(decision_.report(), stop, base::join(stop.entity, resource_), generation,
                                charged, stop.resolution->limits->size());
}

bool Acquire::show_charged(std::size_t place, std::string_view b) {
  decision::Link& stop = stops_[place];
  const auto state = read_state(b);
  if (!state || state->limits != stop.resolution->limits->size()) return false;
  for (std::size_t i = 0; i < state->limits; ++i) stop.held[i] = number_at(b, 2 * i) + stop.amount[i];
  report(place, static_cast<std::uint64_t>(state->generation), true);
  return true;
}

/// Admitted, in plain: the new states are all there is to say.
void Acquire::admitted(std::string_view states) {
  decision_.report().clear();
  Time now = 0;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const std::string_view state =
        states.substr(0, 8 * (State::words + 2 * stops_[k].resolution->limits->size()));
    if (!show_charged(k, state)) return failed({ErrorCode::outcome_unknown, "Redis answers nonsense"});
    now = read_state(state)->refilled_at;
    states.remove_prefix(state.size());
  }
  if (asked_for_time_) site().time.learn(now);
  decision_.set_admitted();
  decision_.set_deadline(base::saturating_add(now, lease_for()));
  finish(Progress::decided);
}

void Acquire::admitted(Time now, Reply::Children states) {
  decision_.report().clear();
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (!show_charged(k, states.next().text()))
      return failed({ErrorCode::outcome_unknown, "Redis answers nonsense"});
  }
  decision_.set_admitted();
  decision_.set_deadline(base::saturating_add(now, lease_for()));
  finish(Progress::decided);
}

/// A bucket that was left as it was: what it holds now.
bool Acquire::show_as_it_is(std::size_t place, std::string_view b, Time now) {
  decision::Link& stop = stops_[place];
  const limits::LimitSet& set = *stop.resolution->limits;
  stop.at = now;
  std::uint64_t generation = 0;
  if (!b.empty()) {
    const auto state = read_state(b);
    if (!state || state->limits != set.size()) return false;
    stop.at = std::max(now, state->refilled_at);
    generation = static_cast<std::uint64_t>(state->generation);
    for (std::size_t i = 0; i < set.size(); ++i) {
      stop.held[i] =
          bucket::claim(set[i].rate, set[i].burst, state->refilled_at, stop.at).held(number_at(b, 2 * i));
    }
  } else {
    for (std::size_t i = 0; i < set.size(); ++i) stop.held[i] = set[i].capacity;
  }
  LimitReport::Line* const lines = report(place, generation, false);
  for (std::size_t i = 0; i < set.size(); ++i) lines[i].wait = decision::wait_of(stop, i, now);
  return true;
}

bool Acquire::show_refused(Time now, const States& states) {
  decision_.report().clear();
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (!show_as_it_is(k, states[k], now)) return false;
  }
  const decision::Wait wait = decision::wait_of(stops_, now);
  decision_.set_refused(wait.time, wait.never_fits);
  return true;
}

void Acquire::refused(Time now, Reply::Children children) {
  States states;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const Reply state = children.next();
    if (state.is_text()) states[k] = state.text();
  }
  if (!show_refused(now, states)) return failed({ErrorCode::unavailable, "Redis answers nonsense"});
  if (site().spent.used()) remember_spent(now, states);
  finish(Progress::decided);
}

void Acquire::remember_spent(Time now, const States& states) {
  const Time here = site().time.here();
  const Time kept =
      base::saturating_add(now, decision_.retry_after().value_or(std::chrono::milliseconds(0)).count());
  for (std::size_t k = 0; k < places_.size(); ++k) {
    // One that is not there and has to be, to grow, is there from now on.
    if (states[k].empty() && !decision::fits(stops_[k], stops_[k].limit_count())) continue;
    site().spent.remember(key_of(places_[k]), {std::string(states[k]), now, sent_at_, here, kept});
  }
}

bool Acquire::counts(std::size_t place, std::string_view b, Time now) const {
  const limits::Resolution& resolution = *places_[place].resolution;
  if (resolution.valid_until <= now) return false;
  if (b.empty()) return true;
  const auto state = read_state(b);
  return state && state->digest == in_plan_[place]->digest && state->version >= resolution.stamp &&
         state->stamp <= known(places_[place]) && from_redis(state->expires_at) > now;
}

/// Buckets that were too empty a moment ago are not asked again: what they refill is known, and nothing but a
/// credit or a change by another process can have filled them otherwise.
bool Acquire::refuse_from_memory() {
  SpentBuckets& spent = site().spent;
  if (!spent.used() || plan_.request.once != nullptr) return false;
  const Time here = site().time.here();
  if (!spent.any(here)) return false;
  std::array<SpentBuckets::Seen, limits::max_chain> seen;
  States states;
  Time kept = limits::never;
  Time now = 0;
  Time late = 0;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    auto known = spent.find(key_of(places_[k]), here);
    if (!known) return false;
    now = std::max(now, known->at + here - known->heard);
    late = std::max(late, known->heard - known->sent);
    if (!counts(k, known->state, now)) return false;
    seen[k] = *std::move(known);
    states[k] = seen[k].state;
    kept = std::min(kept, seen[k].kept);
  }
  if (!show_refused(now, states)) return false;
  // One that is not there and has to be, to grow, has to be made.
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (states[k].empty() && !decision::fits(stops_[k], stops_[k].limit_count())) return false;
  }
  // By the server's clock it is later by the way of the answer, and some milliseconds are lost in rounding;
  // who has to wait no longer than that asks. So does who would be told of a moment that no refusal has
  // promised yet.
  const Time unsure = late + 3;
  const auto wait = decision_.retry_after();
  if (wait && (wait->count() <= unsure || base::saturating_add(now, wait->count()) > kept)) return false;
  spent.count_refusal();
  decision_.set_from_memory();
  finish(Progress::decided);
  return true;
}

Result<Progress> Acquire::decide(Workbench& bench) {
  return mode_ == Mode::acquire ? bench.acquire(plan_, decision_) : bench.peek(plan_, decision_);
}

void Acquire::restart() {
  if (!again_allowed()) return;
  mode_ == Mode::peek ? load({}) : send_plan();
}

}  // namespace weir::redis
