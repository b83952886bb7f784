// The oracle's leases: adjust, settle, rollback, extend.
#include <algorithm>

#include "twins/oracle.h"

namespace weir::twins {
namespace {

bool repeats(const Lease& lease, Verb verb, const std::string& key, const std::vector<Asked>& amounts) {
  if (verb == Verb::adjust)
    return !key.empty() && std::find(lease.keys.begin(), lease.keys.end(), key) != lease.keys.end();
  if (verb == Verb::rollback) return lease.ending == Ending::rolled_back;
  if (lease.ending != Ending::settled) return false;
  return std::all_of(amounts.begin(), amounts.end(), [&](const Asked& asked) {
    return std::any_of(lease.amounts.begin(), lease.amounts.end(), [&](const LeaseAmount& amount) {
      return amount.limit == asked.limit && amount.amount == asked.amount;
    });
  });
}

/// Charges a limit of a bucket at the bucket's moment, or gives back to it. An amount that was held until a
/// deadline before that moment is free already. `noted`: the amounts that the lease has taken of grants in
/// its own bucket; null in another one.
void charge_one(Held& held, std::int64_t amount, Time deadline, Time at, Granted* noted) {
  if (!held.terms.concurrent()) {
    held.consumed += amount;
    if (amount > 0) {
      const Granted pieces = spend(held.grants, amount);
      amount -= total(pieces);
      for (const auto& [end, part] : pieces) {
        if (noted != nullptr) (*noted)[end] += part;
      }
    } else if (noted != nullptr) {
      const Granted pieces = spend_last(*noted, -amount);
      amount += total(pieces);
      give_back(held.grants, pieces, at);
    }
    held.tokens = std::min(held.tokens - amount, held.terms.burst);
    return;
  }
  if (amount > 0) take(held.slots, deadline, amount);
  if (amount < 0 && deadline > at) give_back(held.slots, deadline, -amount);
  held.tokens = held.terms.capacity - total(held.slots);
}

}  // namespace

/// What is in force where nobody sends limits: where the levels leave room for them, those of the last
/// request go on that no level names, or has named since the bucket was written. Where no level has limits,
/// all go on.
Oracle::Resolution Oracle::resolve_as_stored(int entity, int resource, const BucketState* state, Time now,
                                             int left) const {
  Resolution resolution = resolve(entity, resource, nullptr, now);
  if (left >= 0) resolution.left_by = {plan_record(left, resource), plan_record(left, -1)};
  if (!resolution.open || state == nullptr) return resolution;
  const bool missed_some = resolution.limits && resolution.stamp > state->version;
  const Set left_since = missed_some ? missed_since(resolution, state->version, now).lowest : Set();
  Set sent;
  for (const Held& held : state->limits) {
    const bool of_level = resolution.limits && find(*resolution.limits, held.limit) != nullptr;
    if (!held.dormant && !of_level && find(left_since, held.limit) == nullptr)
      sent.push_back({held.limit, held.terms});
  }
  if (sent.empty()) return resolution;
  const Time stamp = std::max(resolution.stamp, state->version);
  const auto left_by = resolution.left_by;
  resolution = resolve(entity, resource, std::make_shared<const Set>(std::move(sent)), now);
  resolution.stamp = stamp;
  resolution.left_by = left_by;
  return resolution;
}

/// A bucket of a lease under the limits that hold for it now.
Oracle::Link Oracle::lease_link(int entity, int resource, Time now) const {
  Link link;
  link.entity = entity;
  link.state = bucket(entity, resource, now);
  link.resolution = resolve_as_stored(entity, resource, link.state, now);
  if (link.resolution.limits) link.claims = claim(link.state, link.resolution, now);
  return link;
}

Answer Oracle::change(int index, Verb verb, const std::string& key, const std::vector<Asked>& asked_for,
                      bool enforce, Time now) {
  Lease& lease = leases_[static_cast<std::size_t>(index)];
  const std::vector<Asked> amounts = changeable(lease, asked_for, now);
  Answer failed;
  const auto fail = [&](ErrorCode code) { return failed.error = code, failed; };
  if (now >= lease.deadline) return fail(ErrorCode::expired);
  // Nothing was charged, so that no change has an effect.
  if (lease.buckets.empty()) return {};
  if (repeats(lease, verb, key, amounts)) return apply(lease, lease, {}, false, now);
  if (lease.ending != Ending::open) return fail(ErrorCode::conflict);

  Lease next = lease;
  if (verb == Verb::rollback) {
    for (LeaseAmount& amount : next.amounts) amount.amount = 0;
  }
  for (const Asked& asked : amounts) {
    auto found = std::find_if(next.amounts.begin(), next.amounts.end(),
                              [&](const LeaseAmount& amount) { return amount.limit == asked.limit; });
    if (found == next.amounts.end()) {
      LeaseAmount added{asked.limit};
      bool known = false;
      for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
        const Link link = lease_link(lease.buckets[i].entity, lease.resource, now);
        for (const NamedTerms& named : link.resolution.limits ? *link.resolution.limits : Set()) {
          if (named.limit != asked.limit) continue;
          known = true;
          // What the acquire did not take from a limit that only watches is not taken later either.
          if (named.mode != Mode::enforce) continue;
          added.buckets |= 1U << i;
          if (named.terms.concurrent()) added.holds |= 1U << i;
        }
      }
      if (!known) return fail(ErrorCode::unknown_limit);
      found = next.amounts.insert(found, added);
      next.narrowed = next.narrowed || added.buckets != 0;
    }
    const std::int64_t net = verb == Verb::settle ? asked.amount : found->amount + asked.amount;
    if (net < 0) return fail(ErrorCode::invalid_argument);
    found->amount = net;
  }
  if (verb == Verb::settle) next.ending = Ending::settled;
  if (verb == Verb::rollback) next.ending = Ending::rolled_back;
  if (verb == Verb::adjust && !key.empty()) next.keys.push_back(key);
  std::vector<LeaseAmount> charges;
  for (std::size_t i = 0; i < next.amounts.size(); ++i) {
    const std::int64_t before = i < lease.amounts.size() ? lease.amounts[i].amount : 0;
    const std::int64_t difference = next.amounts[i].amount - before;
    const LeaseAmount& amount = next.amounts[i];
    const unsigned rates = amount.buckets & ~amount.holds;
    if (difference != 0 && rates != 0) charges.push_back({amount.limit, difference, rates});
    // Held amounts are given back at the end, for every true amount.
    const std::int64_t held = next.ending == Ending::open ? difference : -before;
    if (held != 0 && amount.holds != 0) charges.push_back({amount.limit, held, amount.holds, amount.holds});
  }
  return apply(lease, next, std::move(charges), enforce, now);
}

/// Charges the buckets, or gives back to those that are still the ones that were charged.
Answer Oracle::apply(Lease& lease, Lease next, std::vector<LeaseAmount> charges, bool enforce, Time now) {
  struct Pending {
    Link link;
    BucketState state;
    bool touched = false;
    bool gives_only = true;
  };
  Answer answer;
  bool lacks = false;  // an enforced charge is not covered
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
    const unsigned bit = 1U << i;
    Pending one{lease_link(lease.buckets[i].entity, lease.resource, now), {}, false};
    if (!one.link.resolution.limits) {
      for (LeaseAmount& charge : charges) {
        if (charge.amount > 0) charge.buckets &= ~bit;
      }
      continue;
    }
    one.state = claimed_state(one.link);
    const bool same = one.link.state != nullptr && one.link.state->generation == lease.buckets[i].generation;
    for (LeaseAmount& charge : charges) {
      if ((charge.buckets & bit) == 0 || (charge.amount < 0 && !same)) continue;
      bool found = false;
      for (Held& held : one.state.limits) {
        // A limit of another kind is another limit.
        if (held.limit != charge.limit || held.terms.concurrent() != (charge.holds != 0)) continue;
        // Only the bucket of the lease can hold something for it.
        if (held.terms.concurrent() && !same) continue;
        Granted* noted = nullptr;
        for (LeaseAmount& amount : next.amounts) {
          if (same && amount.limit == charge.limit) noted = &amount.granted[i];
        }
        charge_one(held, charge.amount, lease.deadline, one.state.refilled_at, noted);
        for (const NamedTerms& named : *one.link.resolution.limits) {
          const bool refuses = named.limit == held.limit && named.mode == Mode::enforce;
          lacks = lacks || (enforce && refuses && charge.amount > 0 && held.all() < 0);
        }
        one.touched = true;
        one.gives_only = one.gives_only && charge.amount < 0;
        found = true;
      }
      if (!found && charge.amount > 0) charge.buckets &= ~bit;
    }
    for (const NamedTerms& named : *one.link.resolution.limits) {
      Line line{one.link.entity,
                named.limit,
                named.terms,
                0,
                0,
                0,
                one.link.resolution.source_of(named.limit),
                one.link.resolution.owner,
                named.mode};
      for (const Held& held : one.state.limits) {
        if (held.limit == named.limit) line.remaining = held.all();
      }
      for (const LeaseAmount& charge : charges) {
        if (charge.limit == named.limit && (charge.buckets & bit) != 0) line.requested = charge.amount;
      }
      answer.lines.push_back(line);
    }
    pending.push_back(std::move(one));
  }
  Lease after = next;
  for (LeaseAmount& amount : after.amounts) {
    unsigned charged = 0;
    bool more = false;
    for (const LeaseAmount& charge : charges) {
      if (charge.limit != amount.limit) continue;
      charged |= charge.buckets;
      more = more || charge.amount > 0;
    }
    if (!more) continue;
    if (charged == 0) {
      Answer failed;
      failed.error = ErrorCode::unknown_limit;
      return failed;
    }
    after.narrowed = after.narrowed || amount.buckets != charged;
    amount.buckets = charged;
    amount.holds &= charged;
  }
  if (lacks) {
    Answer failed;
    failed.error = ErrorCode::exhausted;
    return failed;
  }
  for (Pending& one : pending) {
    if (one.touched) put(one.link, lease.resource, std::move(one.state), now, one.gives_only);
  }
  lease = std::move(after);
  return answer;
}

/// What the lease holds is given back and taken again for longer, in every bucket that is still the one that
/// was charged.
Oracle::Outcome Oracle::extend(int index, Time lease_for, Time now) {
  Lease& lease = leases_[static_cast<std::size_t>(index)];
  if (now >= lease.deadline) return ErrorCode::expired;
  if (lease.ending != Ending::open) return ErrorCode::conflict;
  std::vector<std::pair<Link, BucketState>> states;
  for (const Lease::Bucket& bucket : lease.buckets) {
    Link link = lease_link(bucket.entity, lease.resource, now);
    if (!link.resolution.limits || link.state == nullptr || link.state->generation != bucket.generation)
      link.entity = -1;
    BucketState state = link.entity < 0 ? BucketState() : claimed_state(link);
    states.emplace_back(std::move(link), std::move(state));
  }
  std::vector<std::pair<Held*, std::int64_t>> moved;
  std::vector<const Slots*> lists;
  std::vector<bool> touched(states.size());
  Time from = now;
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (Held& held : states[i].second.limits) {
      for (const LeaseAmount& amount : lease.amounts) {
        const bool holds = amount.limit == held.limit && (amount.holds >> i & 1U) != 0 && amount.amount > 0;
        if (!holds || !held.terms.concurrent()) continue;
        // A bucket that was written by a clock that was ahead may have given it to others.
        if (lease.deadline <= states[i].second.refilled_at) return ErrorCode::expired;
        give_back(held.slots, lease.deadline, amount.amount);
        moved.emplace_back(&held, amount.amount);
        lists.push_back(&held.slots);
        touched[i] = true;
        from = std::max(from, states[i].second.refilled_at);
      }
    }
  }
  lease.deadline = lists.empty() ? std::max(lease.deadline, now + lease_for)
                                 : common_end(lists, std::max(lease.deadline, rounded_end(from, lease_for)));
  lease.extended = true;
  for (const auto& [held, amount] : moved) charge_one(*held, amount, lease.deadline, 0, nullptr);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (touched[i]) put(states[i].first, lease.resource, std::move(states[i].second), now);
  }
  return {};
}

}  // namespace weir::twins
