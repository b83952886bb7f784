#include "decision/lease_change.h"

#include <bitset>

#include "base/text.h"
#include "base/wide.h"
#include "decision/report.h"

namespace weir::decision {
namespace {

std::uint8_t without(std::uint8_t buckets, std::size_t position) {
  return static_cast<std::uint8_t>(buckets & ~(1U << position));
}

/// Holds more of a concurrent limit, or less.
void hold(bucket::LimitState& limit, Time deadline, std::int64_t amount, Time now) {
  amount > 0 ? bucket::take(limit.holds, deadline, amount)
             : bucket::release(limit.holds, deadline, -amount, now);
  limit.tokens = limit.parameters.capacity - bucket::total(limit.holds);
}

/// Charges a rate limit, or gives back to it. `noted`: the lease's amount, which notes what is taken of
/// grants; null in a bucket to which nothing is given back.
void charge_rate(bucket::LimitState& limit, std::size_t position, std::int64_t amount, LeaseAmount* noted,
                 Time now) {
  limit.consumed = base::wrapping_add(limit.consumed, amount);
  if (amount > 0) {
    const bucket::Grants pieces = bucket::spend(limit.grants, amount);
    amount -= bucket::total(pieces);
    if (noted != nullptr) note_granted(*noted, position, pieces);
  } else if (noted != nullptr) {
    const bucket::Grants pieces = take_granted(*noted, position, -amount);
    amount += bucket::total(pieces);
    bucket::give_back(limit.grants, pieces, now);
  }
  limit.tokens = std::min(limit.tokens - amount, limit.parameters.burst);
}

bool charged_in(const LeaseAmount& charge, std::size_t position) {
  return (charge.buckets >> position & 1U) != 0;
}

/// Charges the limits that the bucket has, or gives back to them; returns whether anything changed. A limit
/// that has changed its kind since it was charged is another limit. Sets `lacking` where a balance is too
/// low.
bool apply(bucket::State& state, std::size_t position, LeaseStep& step, bool same_bucket,
           const limits::LimitSet& set, const LeaseQuestion& question, std::optional<Error>& lacking) {
  bool touched = false;
  for (LeaseAmount& charge : step.charges) {
    if (!charged_in(charge, position) || (charge.amount < 0 && !same_bucket)) continue;
    bool found = false;
    for (bucket::LimitState& limit : state.limits) {
      const bool concurrent = limit.parameters.kind() == Kind::concurrent;
      if (limit.name != charge.limit || concurrent != (charge.holds != 0)) continue;
      // What a lease holds must be found again when it is extended, so it is held in its own bucket only.
      if (concurrent && !same_bucket) continue;
      found = true;
      if (concurrent) {
        hold(limit, question.deadline, charge.amount, state.refilled_at);
      } else {
        charge_rate(limit, position, charge.amount,
                    same_bucket ? &amount_in(step.next.amounts, charge.limit) : nullptr, state.refilled_at);
      }
      if (charge.amount <= 0 || lacking) continue;
      auto checked =
          check_debt(set, limit.name, limit.tokens + bucket::total(limit.grants), question.change.debt);
      if (!checked) lacking = checked.error();
    }
    touched = touched || found;
    // A limit that was not charged in this bucket must not be given back to it later.
    if (!found && charge.amount > 0) charge.buckets = without(charge.buckets, position);
  }
  return touched;
}

/// The concurrent limits of a bucket that the lease holds an amount of.
struct HeldLimit {
  bucket::LimitState* limit;
  std::int64_t amount;
};

std::vector<HeldLimit> held_limits(bucket::State& state, std::size_t position, const LeaseRecord& lease) {
  std::vector<HeldLimit> held;
  for (const LeaseAmount& amount : lease.amounts) {
    if ((amount.holds >> position & 1U) == 0 || amount.amount == 0) continue;
    for (bucket::LimitState& limit : state.limits) {
      const bool concurrent = limit.parameters.kind() == Kind::concurrent;
      if (limit.name == amount.limit && concurrent) held.push_back({&limit, amount.amount});
    }
  }
  return held;
}

/// Puts the new balances and the differences where the report reads them.
void show(Link& link, const bucket::State& state, std::size_t position,
          std::span<const LeaseAmount> charges) {
  const limits::LimitSet& set = *link.resolution->limits;
  link.named = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bucket::LimitState& limit = *state.find(set.name(i));
    link.held[i] = limit.tokens + bucket::total(limit.grants);
    link.amount[i] = 0;
    for (const LeaseAmount& charge : charges) {
      if (charged_in(charge, position) && charge.limit == set.name(i)) link.amount[i] = charge.amount;
    }
  }
}

/// The limits of every link, one per bucket; empty where there are none.
std::vector<limits::LimitSetRef> sets_of(Chain& chain, std::span<std::optional<bucket::State>> states,
                                         Time now, LeaseAnswer& answer) {
  std::vector<limits::LimitSetRef> sets;
  sets.reserve(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (states[i]) {
      if (auto as_stored = resolve_as_stored(*chain[i].resolution, *states[i], now)) {
        chain[i].resolution = as_stored.get();
        answer.made.push_back(std::move(as_stored));
      }
    }
    sets.push_back(chain[i].resolution->limits);
  }
  return sets;
}

/// Claims and charges every bucket that has limits. Sets the states of the answer, and for each link whether
/// it was touched. Fails where a balance is too low, or where a charge reached no bucket, which comes first.
Result<std::bitset<limits::max_chain>> charge_all(Chain& chain,
                                                  std::span<std::optional<bucket::State>> states,
                                                  const LeaseQuestion& question,
                                                  const NewGeneration& new_generation, LeaseStep& step,
                                                  LeaseAnswer& answer) {
  std::bitset<limits::max_chain> touched;
  std::optional<Error> lacking;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    Link& link = chain[i];
    if (!link.resolution->limits) {
      for (LeaseAmount& charge : step.charges) {
        if (charge.amount > 0) charge.buckets = without(charge.buckets, i);
      }
      continue;
    }
    chain.claim(link, std::move(states[i]), question.now);
    if (auto checked = check_size(link); !checked) return checked.error();
    answer.states[i] = claimed_state(link, new_generation());
    const bool same_bucket = link.generation != 0 && link.generation == question.buckets[i].generation;
    touched[i] = apply(*answer.states[i], i, step, same_bucket, *link.resolution->limits, question, lacking);
  }
  if (auto settled = settle_masks(step); !settled) return settled.error();
  if (lacking) return *lacking;
  return touched;
}

/// Moves what the lease holds to its next deadline, which is set. Fails where a bucket was written by a clock
/// that is past the lease's deadline, since its slots may have been taken by others.
Result<void> move_holds(const LeaseQuestion& question, const Chain& chain, LeaseAnswer& answer,
                        std::bitset<limits::max_chain>& touched) {
  std::vector<HeldLimit> held;
  std::vector<const bucket::Holds*> lists;
  Time from = question.now;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!answer.states[i] || chain[i].generation != question.buckets[i].generation) continue;
    for (const HeldLimit& one : held_limits(*answer.states[i], i, question.record)) {
      if (auto open = check_open(question.deadline, chain[i].at); !open) return open.error();
      bucket::release(one.limit->holds, question.deadline, one.amount, chain[i].at);
      held.push_back(one);
      lists.push_back(&one.limit->holds);
      touched[i] = true;
      from = std::max(from, answer.states[i]->refilled_at);
    }
  }
  answer.deadline = next_deadline(question.change, question.deadline, from, lists);
  for (const HeldLimit& one : held) {
    bucket::take(one.limit->holds, answer.deadline, one.amount);
    // The limit may have forgotten what the lease held, since it was a rate in between.
    one.limit->tokens = one.limit->parameters.capacity - bucket::total(one.limit->holds);
  }
  return {};
}

}  // namespace

Time next_deadline(const LeaseChange& change, Time deadline, Time from,
                   std::span<const bucket::Holds* const> lists) {
  if (change.verb != LeaseVerb::extend) return deadline;
  if (lists.empty()) return std::max(deadline, base::saturating_add(from, change.lease_for));
  return bucket::common_deadline(lists, std::max(deadline, bucket::rounded_deadline(from, change.lease_for)));
}

Result<void> check_open(Time deadline, Time now) {
  if (now < deadline) return {};
  return base::error(ErrorCode::expired, "the lease is past its deadline; its charge stands");
}

limits::ResolutionRef resolve_as_stored(const limits::Resolution& resolution, const bucket::State& state,
                                        Time now) {
  if (!resolution.open) return {};
  limits::LimitSetRef left;
  if (resolution.limits && resolution.stamp > state.version)
    left = resolution.missed_since(state.version).lowest;
  const auto has = [](const limits::LimitSetRef& set, std::string_view name) {
    return set && set->find(name) >= 0;
  };
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : state.limits) {
    if (!limit.dormant && !has(resolution.limits, limit.name) && !has(left, limit.name))
      named.push_back({limit.name, limit.parameters});
  }
  if (named.empty()) return {};
  auto made =
      limits::resolve_with(resolution, limits::LimitSetRef(new limits::LimitSet(std::move(named))), now);
  // The stamp is never older than the bucket's version.
  made->stamp = std::max(made->stamp, state.version);
  return limits::ResolutionRef(made.get());
}

Result<LeaseAnswer> change(Chain& chain, std::span<std::optional<bucket::State>> states,
                           const LeaseQuestion& question, const NewGeneration& new_generation,
                           LimitReport& report_of) {
  // The deadline may have passed since the caller looked.
  if (auto open = check_open(question.deadline, question.now); !open) return open.error();
  LeaseAnswer answer;
  auto next = step(question.record, question.change, sets_of(chain, states, question.now, answer));
  if (!next) return next.error();
  auto touched = charge_all(chain, states, question, new_generation, *next, answer);
  if (!touched) return touched.error();
  answer.deadline = question.deadline;
  if (question.change.verb == LeaseVerb::extend) {
    if (auto moved = move_holds(question, chain, answer, *touched); !moved) return moved.error();
  }
  report_of.clear();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    std::optional<bucket::State>& state = answer.states[i];
    if (!state) continue;
    Link& link = chain[i];
    show(link, *state, i, next->charges);
    report(report_of, link, question.resource, (*touched)[i] ? state->generation : link.generation, false);
    if ((*touched)[i]) {
      set_expiry(*state, *link.resolution);
    } else {
      state.reset();
    }
  }
  answer.record = std::move(next->next);
  return answer;
}

}  // namespace weir::decision
