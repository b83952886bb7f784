#include "store/redis/acquire.h"

#include <algorithm>

#include "base/text.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"

namespace weir::redis {

using store::Progress;

namespace {

/// Whether the bucket has exactly these limits.
bool is_under(const bucket::State& state, const limits::Resolution& resolution) {
  const limits::LimitSet& set = *resolution.limits;
  std::size_t in_force = 0;
  for (const bucket::LimitState& limit : state.limits) {
    if (limit.dormant) continue;
    const int index = set.find(limit.name);
    if (index < 0 || set[static_cast<std::size_t>(index)] != limit.parameters) return false;
    ++in_force;
  }
  return in_force == set.size() && state.version >= resolution.stamp;
}

}  // namespace

Acquire::Acquire(RedisBuckets& buckets, const store::Plan& plan, decision::Verb verb, Decision& decision,
                 store::Completion<Progress> done)
    : Operation(buckets, plan.request.name_space, plan.request.resource, done),
      plan_(plan),
      verb_(verb),
      decision_(decision) {
  command = base::SpareTexts::take();
}

Acquire::~Acquire() { base::SpareTexts::give(std::move(command)); }

void Acquire::start() {
  const store::Request& request = plan_.request;
  const std::string_view end = end_of_chain(request.entity, *plan_.resolution);
  const auto add = [&](std::string_view entity, const limits::Resolution* resolution) {
    // An entity without limits is not charged, and has no bucket.
    if (resolution->limits && buckets_in_chain_.size() < limits::max_chain)
      add_bucket(entity, resolution, end);
  };
  add(request.entity, plan_.resolution.get());
  for (const limits::Resolution* at = plan_.resolution.get(); at->parent_resolution;
       at = at->parent_resolution.get())
    add(at->parent, at->parent_resolution.get());
  add_links(chain_);
  rest_on(*plan_.resolution);
  if (auto matched = decision::match_all(chain_, request.consume); !matched) return finish(matched.error());
  concurrent_ = decision::has_concurrent(chain_);
  // The script knows no shadow mode.
  in_process_ = verb_ == decision::Verb::look ||
                std::any_of(chain_.begin(), chain_.end(), [&](const decision::Link& link) {
                  return decision::shadows_of(link, request.shadow) != 0;
                });
  if (request.once != nullptr) marker_ = lease_key(end, *request.once);
  if (verb_ == decision::Verb::look) return load();
  if (context().exhausted.used()) sent_at_ = context().time.here();
  if (!refuse_from_memory()) in_process_ ? load() : send_plan();
}

/// Bounded, since the marker's deadline must be exact as a double.
Time Acquire::lease_for() const { return std::min(plan_.request.lease_for, round_of_counter); }

std::string Acquire::marker_text() const {
  decision::LeaseRecord record;
  std::vector<std::string_view> entities;
  for (std::size_t k = 0; k < chain_.size(); ++k) {
    const decision::Link& link = chain_[k];
    const limits::LimitSet& set = *link.resolution->limits;
    entities.push_back(link.entity);
    for (std::size_t i = 0; i < set.size(); ++i) {
      if ((link.named >> i & 1U) == 0) continue;
      auto amount = std::find_if(record.amounts.begin(), record.amounts.end(),
                                 [&](const auto& other) { return other.limit == set.name(i); });
      if (amount == record.amounts.end())
        amount = record.amounts.insert(amount, {std::string(set.name(i)), link.amount[i], 0});
      amount->buckets = static_cast<std::uint8_t>(amount->buckets | 1U << k);
      if ((set.concurrent() >> i & 1U) != 0)
        amount->holds = static_cast<std::uint8_t>(amount->holds | 1U << k);
    }
  }
  return encode_behind_generations(record, entities);
}

void Acquire::send_plan() {
  const bool once = !marker_.empty();
  step_ = Step::plain;
  writes_ = true;
  // Safe to repeat: the marker shows whether it was done.
  repeatable = once;
  const std::size_t keys = buckets_in_chain_.size() + (once ? 1 : 0);
  const bool ends = once || concurrent_;  // the deadline of the lease is written
  begin(concurrent_ ? Script::acquire_concurrent() : Script::acquire(), keys, keys + (ends ? 4 : 1));
  for (const ChainBucket& place : buckets_in_chain_) key(key_of(place));
  if (once) key(marker_);
  thread_local std::string plan;
  plan.clear();
  append_plan(plan, chain_, plan_.counts_usage());
  word(plan);
  if (ends) {
    word(once ? std::string_view() : without_marker);
    word(once ? marker_text() : std::string());
    word(lease_for());
  }
  send();
}

void Acquire::replied(const Reply& reply) {
  if (verb_ == decision::Verb::acquire) forget_exhausted();
  if (take(reply)) return;
  if (reply.is_text()) return admitted(reply.text(), 0);
  if (!reply.is_list()) return fail(unreadable());
  auto at = reply.children();
  const auto code = at.next().integer();
  const Time now = at.next().integer().value_or(0);
  context().time.learn(now);
  // A list with code 1: some bucket was refilled later than now.
  code == 1 ? admitted(joined_numbers(at), now) : decide_here(now, at);
}

bool Acquire::show_charged(std::size_t place, std::string_view& numbers, Time& moment) {
  decision::Link& link = chain_[place];
  const auto charged = take_charged(numbers, link.limit_count(), plan_.counts_usage());
  if (!charged) return false;
  for (std::size_t i = 0; i < link.limit_count(); ++i) link.held[i] = charged->tokens(i) + link.amount[i];
  decision::report(decision_.report(), link, resource_, charged->generation, true);
  moment = charged->refilled_at;
  return true;
}

void Acquire::admitted(std::string_view numbers, Time now) {
  decision_.report().clear();
  Time moment = 0;
  for (std::size_t k = 0; k < buckets_in_chain_.size(); ++k) {
    if (!show_charged(k, numbers, moment)) return fail(unreadable());
  }
  if (now == 0) context().time.learn(now = moment);
  decision_.set_admitted();
  decision_.set_deadline(deadline_from(now));
  finish(Progress::decided);
}

/// The deadline that holds.lua has computed. It leaves full lists, which would round it further, to C++.
Time Acquire::deadline_from(Time now) const {
  const bool takes = concurrent_ && std::any_of(chain_.begin(), chain_.end(), [](const decision::Link& link) {
                       return decision::concurrent_taken(link) != 0;
                     });
  return takes ? bucket::rounded_deadline(now, lease_for()) : base::saturating_add(now, lease_for());
}

Result<decision::Next> Acquire::decide(Time now, States& states, decision::Marker* marker) {
  const bool once = !marker_.empty();
  // An earlier attempt that lost to another writer may have left its lease here.
  if (decision_.made_lease_data() != nullptr) decision_ = Decision();
  decision::Chain chain;
  add_links(chain);
  return decision::acquire(chain, states, plan_.request.consume,
                           {verb_, resource_, now, lease_for(), plan_.request.shadow, plan_.request.asked},
                           once, marker, new_generation(), decision_);
}

void Acquire::unchanged(Time now, std::span<const ReadBucket> read) {
  if (!context().exhausted.used() || verb_ == decision::Verb::look || decision_.admitted()) return;
  const Time here = context().time.here();
  for (std::size_t k = 0; k < buckets_in_chain_.size(); ++k) {
    auto bucket = read[k].bucket ? std::make_shared<const StoredBucket>(*read[k].bucket) : nullptr;
    context().exhausted.remember(key_of(buckets_in_chain_[k]), {std::move(bucket), now, sent_at_, here});
  }
}

/// Buckets that were too empty a moment ago are not read again: their refill is known, and only a credit or a
/// change by another process can have added more.
bool Acquire::refuse_from_memory() {
  ExhaustedBuckets& exhausted = context().exhausted;
  if (!exhausted.used() || plan_.request.once != nullptr || !exhausted.any(sent_at_)) return false;
  std::array<ExhaustedBuckets::Seen, limits::max_chain> seen;
  Time now = 0;
  Time late = 0;
  for (std::size_t k = 0; k < buckets_in_chain_.size(); ++k) {
    auto known = exhausted.find(key_of(buckets_in_chain_[k]), sent_at_);
    if (!known) return false;
    seen[k] = *std::move(known);
    now = std::max(now, seen[k].at + sent_at_ - seen[k].heard);
    late = std::max(late, seen[k].heard - seen[k].sent);
  }
  States states;
  for (std::size_t k = 0; k < buckets_in_chain_.size(); ++k) {
    if (buckets_in_chain_[k].resolution->valid_until <= now) return false;
    if (!seen[k].bucket || seen[k].bucket->state.expires_at <= now) continue;
    if (seen[k].bucket->stamp > known(buckets_in_chain_[k])) return false;
    if (!is_under(seen[k].bucket->state, *buckets_in_chain_[k].resolution)) return false;
    states[k] = seen[k].bucket->state;
  }
  // An admission, or a refusal that writes, must be decided by Redis.
  const auto next = decide(now, states, nullptr);
  if (!next || next->any() || decision_.admitted()) {
    // Nor may the lease note grants that Redis does not take.
    decision_ = Decision();
    return false;
  }
  // The server's clock is ahead by the network delay of the answer, and rounding loses some milliseconds.
  const Time unsure = late + 3;
  const auto wait = decision_.retry_after();
  if (wait && wait->count() <= unsure) return false;
  exhausted.count_refusal();
  decision_.set_from_memory();
  finish(Progress::decided);
  return true;
}

void Acquire::restart() {
  if (!again_allowed()) return;
  in_process_ || contended() ? load() : send_plan();
}

}  // namespace weir::redis
