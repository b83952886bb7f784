// The oracle's leases: adjust, settle, rollback.
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

}  // namespace

/// A bucket of a lease under the limits that hold for it now. Where no level has any, those that were in
/// force at its last write go on.
Oracle::Stop Oracle::lease_stop(int entity, int resource, Time now) const {
  Stop stop;
  stop.entity = entity;
  stop.state = bucket(entity, resource, now);
  stop.resolution = resolve(entity, resource, nullptr, now);
  if (!stop.resolution.limits && stop.state != nullptr) {
    Set as_it_was;
    for (const Held& held : stop.state->limits) {
      if (!held.dormant) as_it_was.push_back({held.limit, held.terms});
    }
    if (!as_it_was.empty())
      stop.resolution = resolve(entity, resource, std::make_shared<const Set>(std::move(as_it_was)), now);
  }
  if (stop.resolution.limits) stop.claims = claim(stop.state, stop.resolution, now);
  return stop;
}

Answer Oracle::change(int index, Verb verb, const std::string& key, const std::vector<Asked>& amounts,
                      Time now) {
  Lease& lease = leases_[static_cast<std::size_t>(index)];
  Answer failed;
  const auto fail = [&](ErrorCode code) { return failed.error = code, failed; };
  if (now >= lease.deadline) return fail(ErrorCode::expired);
  if (repeats(lease, verb, key, amounts)) return apply(lease, lease, {}, now);
  if (lease.ending != Ending::open) return fail(ErrorCode::conflict);

  Lease next = lease;
  if (verb == Verb::rollback) {
    for (LeaseAmount& amount : next.amounts) amount.amount = 0;
  }
  for (const Asked& asked : amounts) {
    auto found = std::find_if(next.amounts.begin(), next.amounts.end(),
                              [&](const LeaseAmount& amount) { return amount.limit == asked.limit; });
    if (found == next.amounts.end()) {
      unsigned buckets = 0;
      bool known = false;
      for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
        const Stop stop = lease_stop(lease.buckets[i].entity, lease.resource, now);
        for (const NamedTerms& named : stop.resolution.limits ? *stop.resolution.limits : Set()) {
          if (named.limit != asked.limit) continue;
          known = true;
          // What the acquire did not take from a limit that only watches is not taken later either.
          if (named.mode == Mode::enforce) buckets |= 1U << i;
        }
      }
      if (!known) return fail(ErrorCode::unknown_limit);
      found = next.amounts.insert(found, {asked.limit, 0, buckets});
      next.narrowed = next.narrowed || buckets != 0;
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
    if (difference != 0 && next.amounts[i].buckets != 0)
      charges.push_back({next.amounts[i].limit, difference, next.amounts[i].buckets});
  }
  return apply(lease, next, std::move(charges), now);
}

/// Charges the buckets, or gives back to those that are still the ones that were charged.
Answer Oracle::apply(Lease& lease, const Lease& next, std::vector<LeaseAmount> charges, Time now) {
  struct Pending {
    Stop stop;
    BucketState state;
    bool touched = false;
    bool gives_only = true;
  };
  Answer answer;
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < lease.buckets.size(); ++i) {
    const unsigned bit = 1U << i;
    Pending one{lease_stop(lease.buckets[i].entity, lease.resource, now), {}, false};
    if (!one.stop.resolution.limits) {
      for (LeaseAmount& charge : charges) {
        if (charge.amount > 0) charge.buckets &= ~bit;
      }
      continue;
    }
    one.state = claimed_state(one.stop);
    const bool same = one.stop.state != nullptr && one.stop.state->generation == lease.buckets[i].generation;
    for (LeaseAmount& charge : charges) {
      if ((charge.buckets & bit) == 0 || (charge.amount < 0 && !same)) continue;
      bool found = false;
      for (Held& held : one.state.limits) {
        if (held.limit != charge.limit) continue;
        held.tokens = std::min(held.tokens - charge.amount, held.terms.burst);
        held.consumed += charge.amount;
        one.touched = true;
        one.gives_only = one.gives_only && charge.amount < 0;
        found = true;
      }
      if (!found && charge.amount > 0) charge.buckets &= ~bit;
    }
    for (const NamedTerms& named : *one.stop.resolution.limits) {
      Line line{one.stop.entity,
                named.limit,
                named.terms,
                0,
                0,
                0,
                one.stop.resolution.source_of(named.limit),
                one.stop.resolution.owner,
                named.mode};
      for (const Held& held : one.state.limits) {
        if (held.limit == named.limit) line.remaining = held.tokens;
      }
      for (const LeaseAmount& charge : charges) {
        if (charge.limit == named.limit && (charge.buckets & bit) != 0) line.requested = charge.amount;
      }
      answer.lines.push_back(line);
    }
    pending.push_back(std::move(one));
  }
  Lease after = next;
  for (const LeaseAmount& charge : charges) {
    if (charge.amount < 0) continue;
    if (charge.buckets == 0) {
      Answer failed;
      failed.error = ErrorCode::unknown_limit;
      return failed;
    }
    for (LeaseAmount& amount : after.amounts) {
      if (amount.limit != charge.limit) continue;
      after.narrowed = after.narrowed || amount.buckets != charge.buckets;
      amount.buckets = charge.buckets;
    }
  }
  for (Pending& one : pending) {
    if (one.touched) put(one.stop, lease.resource, std::move(one.state), one.gives_only);
  }
  lease = std::move(after);
  return answer;
}

}  // namespace weir::twins
