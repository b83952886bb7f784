#include "decision/lease_change.h"

#include "base/text.h"
#include "base/wide.h"
#include "decision/report.h"

namespace weir::decision {
namespace {

/// One bucket of the lease and what it becomes.
struct Pending {
  std::size_t position = 0;  ///< in the chain of the lease
  bucket::State state;
  bool touched = false;
};

std::uint8_t without(std::uint8_t buckets, std::size_t position) {
  return static_cast<std::uint8_t>(buckets & ~(1U << position));
}

bool charged_in(const LeaseAmount& charge, std::size_t position) {
  return (charge.buckets >> position & 1U) != 0;
}

/// Takes over which buckets were really charged; fails where none was.
Result<void> settle_masks(LeaseStep& step) {
  for (const LeaseAmount& charge : step.charges) {
    if (charge.amount < 0) continue;
    if (charge.buckets == 0) {
      return base::error(ErrorCode::unknown_limit, "limit ", base::quoted(charge.limit),
                         " is not among the limits of the lease's buckets any more");
    }
    for (LeaseAmount& amount : step.next.amounts) {
      if (amount.limit == charge.limit) amount.buckets = charge.buckets;
    }
  }
  return {};
}

/// Charges the limits that the bucket has, or gives back to them.
Result<void> apply(Pending& bucket, std::span<LeaseAmount> charges, bool same_bucket) {
  for (LeaseAmount& charge : charges) {
    if (!charged_in(charge, bucket.position) || (charge.amount < 0 && !same_bucket)) continue;
    bool found = false;
    for (bucket::LimitState& limit : bucket.state.limits) {
      if (limit.name != charge.limit) continue;
      limit.tokens = std::min(limit.tokens - charge.amount, limit.parameters.burst);
      limit.consumed = base::wrapping_add(limit.consumed, charge.amount);
      bucket.touched = true;
      found = true;
      if (limit.tokens < -Amount::max_millitokens) {
        return base::invalid("the debt of ", base::quoted(charge.limit), " would be too large; charge less");
      }
    }
    // What is not charged here must not be given back here later.
    if (!found && charge.amount > 0) charge.buckets = without(charge.buckets, bucket.position);
  }
  return {};
}

/// Puts the new balances and the differences where the report reads them.
void show(Link& link, const Pending& bucket, std::span<const LeaseAmount> charges) {
  const limits::LimitSet& set = *link.resolution->limits;
  link.named = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    link.held[i] = bucket.state.find(set.name(i))->tokens;
    link.amount[i] = 0;
    for (const LeaseAmount& charge : charges) {
      if (charged_in(charge, bucket.position) && charge.limit == set.name(i)) link.amount[i] = charge.amount;
    }
  }
}

/// The limits of every link, one per bucket; empty where there are none.
std::vector<limits::LimitSetRef> sets_of(Chain& chain, std::span<std::optional<bucket::State>> states,
                                         Time now, LeaseAnswer& answer) {
  std::vector<limits::LimitSetRef> sets;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!chain[i].resolution->limits && states[i]) {
      if (auto as_stored = resolve_as_stored(*chain[i].resolution, *states[i], now)) {
        chain[i].resolution = as_stored.get();
        answer.made.push_back(std::move(as_stored));
      }
    }
    sets.push_back(chain[i].resolution->limits);
  }
  return sets;
}

/// Claims and charges every bucket that has limits.
Result<std::vector<Pending>> pending_of(Chain& chain, std::span<std::optional<bucket::State>> states,
                                        const LeaseQuestion& question, const NewGeneration& new_generation,
                                        LeaseStep& step) {
  std::vector<Pending> pending;
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
    pending.push_back({i, claimed_state(link, new_generation()), false});
    const bool same_bucket = link.generation != 0 && link.generation == question.buckets[i].generation;
    if (auto applied = apply(pending.back(), step.charges, same_bucket); !applied) return applied.error();
  }
  return pending;
}

}  // namespace

Result<void> check_open(Time deadline, Time now) {
  if (now < deadline) return {};
  return base::error(ErrorCode::expired, "the lease is past its deadline; its charge stands");
}

limits::ResolutionRef resolve_as_stored(const limits::Resolution& resolution, const bucket::State& state,
                                        Time now) {
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : state.limits) {
    if (!limit.dormant) named.push_back({limit.name, limit.parameters});
  }
  if (named.empty()) return {};
  auto made = limits::resolve(resolution.levels, limits::LimitSetRef(new limits::LimitSet(std::move(named))),
                              now, resolution.configured_multiplier);
  // Nothing is newer than the bucket itself.
  made->stamp = std::max(made->stamp, state.version);
  made->catalog_generation = resolution.catalog_generation;
  made->parent = resolution.parent;
  made->parent_resolution = resolution.parent_resolution;
  return limits::ResolutionRef(made.get());
}

Result<LeaseAnswer> change(Chain& chain, std::span<std::optional<bucket::State>> states,
                           const LeaseQuestion& question, const NewGeneration& new_generation,
                           LimitReport& report_of) {
  LeaseAnswer answer;
  auto next = step(question.record, question.change, sets_of(chain, states, question.now, answer));
  if (!next) return next.error();
  auto pending = pending_of(chain, states, question, new_generation, *next);
  if (!pending) return pending.error();
  if (auto settled = settle_masks(*next); !settled) return settled.error();
  report_of.clear();
  for (Pending& bucket : *pending) {
    Link& link = chain[bucket.position];
    show(link, bucket, next->charges);
    report(report_of, link, question.resource, bucket.touched ? bucket.state.generation : link.generation,
           false);
    if (!bucket.touched) continue;
    set_expiry(bucket.state, *link.resolution);
    answer.states[bucket.position] = std::move(bucket.state);
  }
  answer.record = std::move(next->next);
  return answer;
}

}  // namespace weir::decision
