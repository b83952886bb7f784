#include "judge.h"

#include <algorithm>

namespace weir::model {
namespace {

/// Whether the transaction writes this limit of this item.
bool writes(const Node& node, std::size_t item, int limit) {
  for (const auto& write : node.action.transaction.writes) {
    if (write.bucket != item) continue;
    return std::any_of(write.limits.begin(), write.limits.end(),
                       [&](const auto& part) { return part.name == World::limit_name(limit); });
  }
  return false;
}

}  // namespace

std::size_t Judge::lease_of(std::size_t client, std::size_t number) const {
  const int lease = operation(client, number).lease;
  if (lease == Operation::shared) return max_leases - 1;
  if (lease >= 0 && operation(client, static_cast<std::size_t>(lease)).lease == Operation::shared)
    return max_leases - 1;
  return slot(client, lease == Operation::given ? number : static_cast<std::size_t>(lease));
}

State Judge::first_state() {
  State state = ideal_.first_state();
  for (std::size_t i = 0; i < scenario_.clients.size(); ++i) {
    state.clients[i].timeouts = static_cast<std::uint8_t>(scenario_.timeouts);
    state.clients[i].history = 1;
    state.clients[i].cache = {not_shown, not_shown};
    if (scenario_.clients[i].front().cached) state.clients[i].cache = state.items;
    state.clients[i].under_parent = scenario_.under_parent ? 1 : 0;
  }
  for (LeaseState& lease : state.leases) {
    lease.limits = (1U << max_limits) - 1;
    lease.net.fill(small(scenario_.given_charge));
    lease.generations.fill(1);
    if (scenario_.moves && !scenario_.under_parent) lease.generations[1] = 0;
    lease.deadline = lease.as_acquired = endless;
    for (int limit = 0; limit < max_limits; ++limit) {
      const Tiny* const tiny = ideal_.named_by(1, limit);
      if (tiny == nullptr || !tiny->concurrent()) continue;
      lease.limits = static_cast<std::uint8_t>(lease.limits & ~(1U << limit));
      lease.net[static_cast<std::size_t>(limit)] = 0;
    }
  }
  LeaseState& shared = state.leases[max_leases - 1];
  for (const Held& held : scenario_.held) {
    if (!held.shared) continue;
    shared.limits |= 1U;
    shared.holds |= 1U;
    shared.net[0] = small(held.amount);
    shared.deadline = shared.as_acquired = small(static_cast<int>(start_time) + held.deadline);
  }
  state.under_parent = scenario_.under_parent ? 1 : 0;
  ideal_.normalize(state);
  return state;
}

void Judge::acquired(const State& before, State& state, std::size_t client, std::size_t number,
                     const Node& node) {
  const Operation& acquire = operation(client, number);
  LeaseState& lease = state.leases[lease_of(client, number)];
  const auto& writes = node.action.transaction.writes;
  if (lease.charged != 0) alarm_.raise("an acquire was charged twice");
  lease.charged = 1;
  lease.limits = 0;
  if (scenario_.moves && (writes.size() == 2) != (before.under_parent != 0))
    alarm_.raise("the parent that the catalog names was not charged, or another one");
  for (int limit = 0; limit < max_limits; ++limit) {
    const auto at = static_cast<std::size_t>(limit);
    const int amount = acquire.amounts[at];
    const bool named = amount != unnamed && ideal_.named_by(node.history, limit) != nullptr;
    lease.net[at] = named ? small(amount) : std::int8_t{0};
    if (named) lease.limits = static_cast<std::uint8_t>(lease.limits | 1U << limit);
    if (named && ideal_.named_by(node.history, limit)->concurrent())
      lease.holds = static_cast<std::uint8_t>(lease.holds | 1U << limit);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      const bool claims = writes[i].path != conditional::Write::Path::retry;
      ideal_.charged(before, state, i, limit, {node.history, named ? amount : 0, named, claims});
    }
  }
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    const bool written = i < writes.size();
    lease.generations[i] = written ? static_cast<std::uint8_t>(world_.info(state.items[i]).generation) : 0;
  }
  const Time deadline = std::get<conditional::Acquire>(node.machine).outcome().deadline;
  lease.deadline = lease.as_acquired = small_deadline(deadline);
  const Time wanted = base::saturating_add(sampled(before, client, node), acquire.lease_for);
  // Counted from the moment of the bucket, where a clock that is ahead has written it.
  Time latest = wanted;
  for (const conditional::Write& write : writes) {
    const Time at = write.item ? write.item->refilled_at : write.set_refilled_at.value_or(0);
    latest = std::max(latest, base::saturating_add(at, acquire.lease_for));
  }
  if (deadline < wanted || (deadline > latest && !scenario_.joins))
    alarm_.raise("the lease has another deadline than was asked for");
}

int Judge::sampled(const State& before, std::size_t client, const Node& node) const {
  const ClientState& self = before.clients[client];
  const bool late = self.late_node != 0 && &world_.node(self.late_node) == &node;
  return wide(late ? self.late_sent : self.sampled) + scenario_.skew[client];
}

/// A write that charges nothing: a bucket that refuses must exist first, or was repaired.
void Judge::kept_up(const State& before, State& state, const Node& node) {
  for (const auto& write : node.action.transaction.writes) {
    if (write.path == conditional::Write::Path::repair) continue;
    for (int limit = 0; limit < max_limits; ++limit)
      ideal_.charged(before, state, write.bucket, limit, {node.history, 0, false, true});
  }
}

/// Forgets the moments that refusals promised for items that were charged since. Amounts that were given back
/// bring the moments nearer.
void Judge::take_back_promises(const State& before, State& state) {
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    const ItemInfo& item = world_.info(state.items[i]);
    const ItemInfo& old = world_.info(before.items[i]);
    bool taken = item.generation != old.generation || item.version != old.version;
    int nearer = 0;
    for (int limit = 0; limit < max_limits; ++limit) {
      const auto at = static_cast<std::size_t>(limit);
      const int given_back = old.consumed[at] - item.consumed[at];
      const Tiny* const rate = ideal_.named_by(state.history, limit);
      taken = taken || given_back < 0;
      if (given_back > 0 && rate != nullptr && !rate->concurrent())
        nearer = std::max(nearer, given_back * rate->period / rate->amount);
    }
    state.promised[i] = taken ? std::int8_t{0} : small(std::max(wide(state.promised[i]) - nearer, 0));
  }
}

void Judge::lease_changed(const State& before, State& state, std::size_t client, std::size_t number,
                          const Node& node) {
  const Operation& change = operation(client, number);
  LeaseState& lease = state.leases[lease_of(client, number)];
  if (lease.ended != 0) alarm_.raise("a lease that had ended was changed");
  if (change.kind == Operation::Kind::extend) return extended(before, state, client, node, lease);
  Amounts charges = {};
  for (std::size_t at = 0; at < max_limits; ++at) {
    const int net = wide(lease.net[at]);
    if (change.kind == Operation::Kind::rollback) charges[at] = -net;
    if (change.amounts[at] == unnamed) continue;
    // An adjust may be the first to take slots. A limit that the acquire charged keeps its kind.
    const Tiny* const tiny = ideal_.named_by(node.history, static_cast<int>(at));
    const bool first = (lease.limits >> at & 1) == 0 && change.kind == Operation::Kind::adjust;
    if (first && tiny != nullptr && tiny->concurrent())
      lease.holds = static_cast<std::uint8_t>(lease.holds | 1U << at);
    charges[at] = change.amounts[at] - (change.kind == Operation::Kind::settle ? net : 0);
  }
  for (std::size_t at = 0; at < max_limits; ++at) lease.net[at] = small(wide(lease.net[at]) + charges[at]);
  lease.ended = change.kind == Operation::Kind::adjust ? 0 : 1;
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    if (lease.generations[i] != 0) given_back_or_charged(before, state, i, charges, lease, node);
  }
}

void Judge::extended(const State& before, State& state, std::size_t client, const Node& node,
                     LeaseState& lease) {
  const auto& machine = std::get<conditional::Change>(node.machine);
  const Time deadline = machine.outcome().deadline;
  if (deadline < lease.deadline) alarm_.raise("an extended lease ends earlier");
  if (sampled(before, client, node) >= lease.deadline)
    alarm_.raise("a lease was extended after its deadline");
  const auto& writes = node.action.transaction.writes;
  lease.deadline = small_deadline(deadline);
  for (const auto& write : writes) {
    for (int limit = 0; limit < max_limits; ++limit)
      ideal_.charged(before, state, write.bucket, limit, {node.history, 0, false, true});
  }
}

void Judge::given_back_or_charged(const State& before, State& state, std::size_t item, const Amounts& charges,
                                  const LeaseState& lease, const Node& node) {
  const auto& written = node.action.transaction.writes;
  const bool claims = std::any_of(written.begin(), written.end(), [&](const auto& write) {
    return write.bucket == item && write.path != conditional::Write::Path::credit;
  });
  const bool gives_slots = lease.holds != 0;
  if (gives_slots &&
      std::none_of(written.begin(), written.end(), [&](const auto& write) { return write.bucket == item; }))
    return;
  // Normal claims, and follows the set of limits; Credit does neither.
  const bool debits =
      claims || std::any_of(charges.begin(), charges.end(), [](int charge) { return charge > 0; });
  const ItemId old = before.items[item];
  // Where clocks differ, who finds the bucket expired and who does not is up to them.
  const bool there = scenario_.exact() ? ideal_.alive(old, before.now) : state.items[item] != old;
  const bool same = there && world_.info(old).generation == lease.generations[item];
  for (int limit = 0; limit < max_limits; ++limit) {
    int charge = charges[static_cast<std::size_t>(limit)];
    // An amount given back to a bucket, or to a limit, that is not there any more is dropped; or was not
    // there when the client looked, since a limit can be forgotten and come back.
    const bool limits_come_and_go = scenario_.sets.size() > 1;
    const bool was_gone = limits_come_and_go && !debits && !writes(node, item, limit);
    if (charge < 0 && (!same || !ideal_.has(old, limit) || was_gone)) charge = 0;
    // Slots follow from the lease; and a limit that has changed its kind is another one.
    const unsigned slots = world_.info(old).concurrent | world_.info(state.items[item]).concurrent;
    const bool concurrent = there && (slots >> limit & 1) != 0;
    if (concurrent || (lease.holds >> limit & 1) != 0) charge = 0;
    if (debits) {
      ideal_.charged(before, state, item, limit, {node.history, charge, false, true});
    } else if (charge < 0) {
      ideal_.credited(state, item, limit, -charge);
    }
  }
}

void Judge::applied(const State& before, State& state, std::size_t client, std::size_t number,
                    const Node& node) {
  take_back_promises(before, state);
  const auto* const acquire = std::get_if<conditional::Acquire>(&node.machine);
  const bool keeps_up = acquire != nullptr && !acquire->charges();
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    const ItemInfo& item = world_.info(state.items[i]);
    const ItemInfo& old = world_.info(before.items[i]);
    const bool same = item.generation == old.generation;
    if (same && item.refilled_at < old.refilled_at && !keeps_up) alarm_.raise("the refill time went back");
    if (same && item.version < old.version) alarm_.raise("the version went back");
    if (item.partial) return alarm_.raise("an item is there in part");
  }
  if (keeps_up) return kept_up(before, state, node);
  OperationState& operation_state = state.operations[slot(client, number)];
  // An extend that is sent again extends from then on.
  const bool extends = operation(client, number).kind == Operation::Kind::extend;
  if (operation_state.applied != 0 && !extends) alarm_.raise("an operation was applied twice");
  if (operation_state.verdict == Verdict::refused || operation_state.verdict == Verdict::contention) {
    alarm_.raise("an operation was applied after it was reported as refused");
  }
  operation_state.applied = 1;
  const Operation::Kind kind = operation(client, number).kind;
  if (kind == Operation::Kind::acquire) return acquired(before, state, client, number, node);
  if (kind != Operation::Kind::alter) return lease_changed(before, state, client, number, node);
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    for (int limit = 0; limit < max_limits; ++limit) {
      ideal_.charged(before, state, i, limit, {node.history, 0, false, true});
    }
  }
}

void Judge::check_refusal(State& state, const Operation& acquire, const Node& node) {
  const auto& outcome = std::get<conditional::Acquire>(node.machine).outcome();
  bool fits = true;
  bool can_fit = true;
  int wait = 0;
  std::array<bool, max_items> above_capacity = {};
  const std::size_t buckets = std::get<conditional::Acquire>(node.machine).snapshot().size();
  for (std::size_t i = 0; i < buckets; ++i) {
    for (int limit = 0; limit < max_limits; ++limit) {
      const IdealBuckets::Found found = ideal_.found(state, i, limit, node.history);
      const int amount = acquire.amounts[static_cast<std::size_t>(limit)];
      if (!found.exact) return;
      if (found.rate != nullptr && amount > found.rate->capacity) above_capacity[i] = true;
      if (found.rate == nullptr || amount == unnamed) continue;
      if (found.rate->concurrent() && amount <= found.rate->capacity) {
        const int free_at = ideal_.moment_free(state, i, limit, found.rate->capacity, amount);
        fits = fits && free_at == state.now;
        wait = std::max(wait, free_at - state.now);
        continue;
      }
      if (found.balance >= amount) continue;
      fits = false;
      can_fit = can_fit && amount <= found.rate->burst;
      const auto& [capacity, burst, per, period] = *found.rate;
      while (amount <= burst &&
             found.balance + (state.now + wait) * per / period - state.now * per / period < amount)
        ++wait;
    }
  }
  if (fits) alarm_.raise("refused although the ideal bucket holds the charge");
  if (outcome.wait.never_fits == can_fit) alarm_.raise("never_fits is wrong");
  bool kept = can_fit;
  for (std::size_t i = 0; i < buckets; ++i)
    kept = kept && !(above_capacity[i] && world_.info(state.items[i]).expires_at <= state.now + wait);
  if (outcome.wait.time.has_value() != kept)
    alarm_.raise("a wait is named that is not kept, or the other way round");
  if (kept && outcome.wait.time != wait) alarm_.raise("the wait is not the exact one");
  for (std::size_t i = 0; i < buckets && kept; ++i) {
    if (above_capacity[i]) state.promised[i] = small(std::max(wide(state.promised[i]), state.now + wait));
  }
}

/// A bucket that refuses must be there, or it could not grow.
void Judge::check_refuser_exists(const State& state, const Operation& acquire, const Node& node) {
  for (std::size_t i = 0; i < std::get<conditional::Acquire>(node.machine).snapshot().size(); ++i) {
    if (ideal_.alive(state.items[i], state.now)) continue;
    for (int limit = 0; limit < max_limits; ++limit) {
      const Tiny* const rate = ideal_.named_by(node.history, limit);
      const int amount = acquire.amounts[static_cast<std::size_t>(limit)];
      if (rate != nullptr && amount > rate->capacity && amount <= rate->burst)
        alarm_.raise("a bucket refuses that is not there, and so cannot grow");
    }
  }
}

/// Whether a change that was refused could not have been.
void Judge::check_refused_change(const State& state, std::size_t client, std::size_t number) {
  const Operation& change = operation(client, number);
  const LeaseState& lease = state.leases[lease_of(client, number)];
  bool impossible = lease.ended != 0 || state.now + scenario_.skew[client] >= lease.deadline;
  for (std::size_t i = 0; i < ideal_.items(); ++i)
    impossible = impossible || ideal_.latest_clock(state, i) >= lease.deadline;
  for (std::size_t at = 0; at < max_limits; ++at) {
    if (change.amounts[at] == unnamed) continue;
    const int net = change.amounts[at] + (change.kind == Operation::Kind::adjust ? wide(lease.net[at]) : 0);
    impossible = impossible || net < 0;
  }
  if (!impossible) alarm_.raise("a change was refused that the lease allows");
}

void Judge::ended(State& state, std::size_t client, std::size_t number, const Node& node) {
  const OperationState& end = state.operations[slot(client, number)];
  const Operation& ending = operation(client, number);
  const auto* const acquire = std::get_if<conditional::Acquire>(&node.machine);
  if (end.verdict == Verdict::refused || end.verdict == Verdict::contention) {
    // An extend that is sent again may find that the lease has ended since.
    const bool extended = ending.kind == Operation::Kind::extend;
    if (end.applied != 0 && !extended) alarm_.raise("reported as refused although it was applied");
    // A refusal that was written was decided before that, and the bucket may hold more since.
    const bool comparable =
        scenario_.exact() && !scenario_.stale_reads && acquire != nullptr && !acquire->in_doubt();
    if (comparable && end.verdict == Verdict::refused) check_refuser_exists(state, ending, node);
    if (end.verdict == Verdict::refused && comparable && acquire->charges())
      check_refusal(state, ending, node);
    const bool one_set = scenario_.sets.size() == 1;
    if (end.verdict == Verdict::refused && acquire == nullptr && one_set)
      check_refused_change(state, client, number);
  }
  if (end.verdict != Verdict::done) return;
  if (acquire != nullptr) {
    const LeaseState& lease = state.leases[lease_of(client, number)];
    if (lease.charged == 0) alarm_.raise("reported as admitted although nothing was charged");
    const auto& told = acquire->outcome().generations;
    for (std::size_t i = 0; i < ideal_.items(); ++i) {
      const bool named = (i < told.size() ? told[i] : 0) == lease.generations[i];
      if (!named) alarm_.raise("a lease names a bucket that it did not charge");
    }
  }
  if (const auto* const change = std::get_if<conditional::Change>(&node.machine)) {
    const bool nothing_to_do = !ending.once;
    const bool repeated = change->outcome().repeated;
    if (end.applied == 0 && !repeated && !nothing_to_do)
      alarm_.raise("reported as changed although it was not");
  }
}

}  // namespace weir::model
