#include "store/redis/lease.h"

#include <algorithm>

#include "base/text.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"

namespace weir::redis {

using store::Progress;

namespace {

bool took_grants(const std::vector<decision::LeaseAmount>& amounts) {
  return std::any_of(amounts.begin(), amounts.end(),
                     [](const decision::LeaseAmount& amount) { return !amount.granted.empty(); });
}

}  // namespace

LeaseChange::LeaseChange(RedisBuckets& buckets, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                         store::Completion<Progress> done)
    : Operation(buckets, plan.name_space, plan.lease.resource, done), plan_(plan), outcome_(outcome) {}

void LeaseChange::start() {
  const auto& buckets = plan_.lease.buckets;
  const std::string_view end = end_of_chain(buckets.back().entity, *plan_.resolutions.back());
  for (std::size_t i = 0; i < buckets.size(); ++i)
    add_bucket(buckets[i].entity, plan_.resolutions[i].get(), end);
  for (const limits::ResolutionRef& resolution : plan_.resolutions) rest_on(*resolution);
  if (plan_.request_limits) {
    const limits::Resolution& resolved = *plan_.resolutions[0];
    const auto made = limits::resolve_with(resolved, plan_.request_limits, resolved.resolved_at);
    with_request_ = limits::ResolutionRef(made.get());
    buckets_in_chain_[0].resolution = with_request_.get();
  }
  add_links(chain_);
  if (plan_.lease.shared) marker_ = lease_key(end, plan_.lease.nonce);
  idempotent_ = plan_.lease.shared && decision::is_idempotent(plan_.change.verb, plan_.change.key);
  // The script knows no grants, and no other deadline than the one in the id.
  const bool extends = plan_.change.verb == decision::LeaseVerb::extend;
  if (extends || took_grants(plan_.lease.amounts)) return load();
  concurrent_ = decision::has_concurrent(chain_);
  send_differences(decision::marker_of(plan_.lease),
                   plan_.lease.shared ? std::string() : std::string(without_marker));
}

decision::Marker LeaseChange::marker_of(decision::LeaseRecord record, Time deadline,
                                        Time first_deadline) const {
  return {std::move(record), deadline, plan_.lease.buckets, first_deadline};
}

bool LeaseChange::match_differences() {
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    decision::Link& link = chain_[i];
    if (!link.resolution->limits) return false;
    link.named = 0;
    link.amount.fill(0);
    for (const decision::LeaseAmount& charge : next_.charges) {
      if ((charge.buckets >> i & 1U) == 0) continue;
      const int limit = link.resolution->limits->find(charge.limit);
      if (limit < 0) return false;
      // A limit that has changed its kind since it was charged is another limit.
      const bool concurrent = (link.resolution->limits->concurrent() >> limit & 1) != 0;
      if (concurrent != (charge.holds != 0)) return false;
      link.named |= 1U << static_cast<unsigned>(limit);
      link.amount[static_cast<std::size_t>(limit)] = charge.amount;
    }
  }
  return true;
}

void LeaseChange::send_differences(const decision::Marker& marker, const std::string& text) {
  std::vector<limits::LimitSetRef> sets;
  for (const ChainBucket& place : buckets_in_chain_) sets.push_back(place.resolution->limits);
  auto step = decision::step(marker.record, plan_.change, sets);
  // An error, or a repetition: only the stored marker and buckets can confirm it.
  if (!step || step->repeated) return load();
  next_ = *std::move(step);
  expected_ = text;
  if (!match_differences()) return load();
  step_ = Step::plain;
  writes_ = true;
  // Otherwise a copy would charge a second time.
  repeatable = idempotent_;
  const std::size_t keys = buckets_in_chain_.size() + (marker_.empty() ? 0 : 1);
  begin(concurrent_ ? Script::acquire_concurrent() : Script::acquire(), keys,
        keys + buckets_in_chain_.size() + 5);
  for (const ChainBucket& place : buckets_in_chain_) key(key_of(place));
  if (!marker_.empty()) key(marker_);
  std::string plan;
  append_plan(plan, chain_, resource_counts() ? std::nullopt : std::optional(false));
  word(plan);
  word(text);
  word(plan_.lease.shared ? encode(marker_of(next_.next, plan_.lease.deadline, marker.first_deadline))
                          : std::string());
  word(std::string_view());
  word(to_redis(plan_.lease.deadline));
  for (const auto& bucket : plan_.lease.buckets) word(static_cast<std::int64_t>(bucket.generation));
  send();
}

void LeaseChange::replied(const Reply& reply) {
  forget_exhausted();
  if (take(reply)) return;
  if (reply.is_text()) return changed(std::string(reply.text()));
  if (!reply.is_list()) return fail(unreadable());
  auto at = reply.children();
  const auto code = at.next().integer();
  const Time now = at.next().integer().value_or(0);
  context().time.learn(now);
  if (code == 1) return changed(joined_numbers(at));
  if (!plan_.lease.shared) return decide_here(now, at);
  // Another caller has changed the lease: start over from its present marker. Every other case is decided in
  // this process.
  constexpr int most_overtaken = 20;
  auto last = at;
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) last.next();
  const std::string text(last.at_end() ? std::string_view() : last.next().text());
  const auto marker = text == expected_ ? std::nullopt : decode_marker(text);
  const bool extended = marker && marker->deadline != plan_.lease.deadline;
  const bool plain = marker && !extended && !took_grants(marker->record.amounts);
  if (plain && ++overtaken_ <= most_overtaken) return send_differences(*marker, text);
  decide_here(now, at);
}

/// Reports the buckets after the change.
void LeaseChange::changed(const std::string& all) {
  outcome_.report.clear();
  std::string_view numbers = all;
  // Either all buckets count usage or none does.
  std::size_t without = 0;
  for (const decision::Link& link : chain_) without += 8 * (Charged::words + 2 * link.limit_count());
  const bool counts = all.size() > without;
  for (decision::Link& link : chain_) {
    const auto charged = take_charged(numbers, link.limit_count(), counts);
    if (!charged) return fail(unreadable());
    for (std::size_t i = 0; i < link.limit_count(); ++i) link.held[i] = charged->tokens(i);
    link.named = 0;
    decision::report(outcome_.report, link, resource_, charged->generation, false);
  }
  outcome_.record = std::move(next_.next);
  outcome_.deadline = plan_.lease.deadline;
  finish(Progress::decided);
}

/// Where the outcome is unknown, the marker shows whether the change happened.
void LeaseChange::failed(Error error) {
  constexpr int most_doubts = 3;
  const bool in_doubt = error.code == ErrorCode::outcome_unknown && writes_ && idempotent_;
  if (in_doubt && ++doubts_ < most_doubts) return load();
  Operation::failed(std::move(error));
}

Result<decision::Next> LeaseChange::decide(Time now, States& states, decision::Marker* marker) {
  const Time deadline = decision::deadline_of(marker, plan_.lease.deadline);
  if (plan_.lease.shared) {
    if (auto open = decision::check_open(deadline, now); !open) return open.error();
  }
  const decision::LeaseRecord record =
      marker != nullptr ? std::move(marker->record) : decision::record_of(plan_.lease);
  decision::Chain chain;
  // Without the limits of the request: this change does not put them in force.
  for (std::size_t i = 0; i < plan_.resolutions.size(); ++i)
    chain.add(plan_.lease.buckets[i].entity, plan_.resolutions[i].get());
  auto answer =
      decision::change(chain, states, {record, plan_.change, plan_.lease.buckets, resource_, now, deadline},
                       new_generation(), outcome_.report);
  if (!answer) return answer.error();
  decision::Next next;
  next.states = std::move(answer->states);
  outcome_.record = std::move(answer->record);
  outcome_.deadline = answer->deadline;
  if (plan_.lease.shared) {
    next.marker = marker_of(outcome_.record, deadline, marker != nullptr ? marker->first_deadline : 0);
    decision::set_deadline(*next.marker, outcome_.deadline);
  }
  return next;
}

void LeaseChange::restart() {
  if (again_allowed()) load();
}

}  // namespace weir::redis
