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
  return slot(client, lease == Operation::given ? number : static_cast<std::size_t>(lease));
}

State Judge::first_state() {
  State state = ideal_.first_state();
  for (std::size_t i = 0; i < scenario_.clients.size(); ++i) {
    state.clients[i].timeouts = static_cast<std::uint8_t>(scenario_.timeouts);
    state.clients[i].history = 1;
    state.clients[i].cache = {not_shown, not_shown};
    if (scenario_.clients[i].front().cached) state.clients[i].cache = state.items;
  }
  for (LeaseState& lease : state.leases) {
    lease.limits = (1U << max_limits) - 1;
    lease.net.fill(small(scenario_.given_charge));
    lease.generations.fill(1);
  }
  ideal_.normalize(state);
  return state;
}

void Judge::acquired(const State& before, State& state, std::size_t client, std::size_t number,
                     const Node& node) {
  const Operation& acquire = operation(client, number);
  LeaseState& lease = state.leases[slot(client, number)];
  lease.limits = 0;
  for (int limit = 0; limit < max_limits; ++limit) {
    const auto at = static_cast<std::size_t>(limit);
    const int amount = acquire.amounts[at];
    const bool named = amount != unnamed && ideal_.named_by(node.history, limit) != nullptr;
    lease.net[at] = named ? small(amount) : std::int8_t{0};
    if (named) lease.limits = static_cast<std::uint8_t>(lease.limits | 1U << limit);
    for (std::size_t i = 0; i < ideal_.items(); ++i) {
      const bool claims = node.action.transaction.writes[i].path != conditional::Write::Path::retry;
      ideal_.charged(before, state, i, limit, {node.history, named ? amount : 0, named, claims});
    }
  }
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    lease.generations[i] = static_cast<std::uint8_t>(world_.info(state.items[i]).generation);
  }
}

void Judge::lease_changed(const State& before, State& state, std::size_t client, std::size_t number,
                          const Node& node) {
  const Operation& change = operation(client, number);
  LeaseState& lease = state.leases[lease_of(client, number)];
  if (lease.ended != 0) alarm_.raise("a lease that had ended was changed");
  Amounts charges = {};
  for (std::size_t at = 0; at < max_limits; ++at) {
    const int net = wide(lease.net[at]);
    if (change.kind == Operation::Kind::rollback) charges[at] = -net;
    if (change.amounts[at] == unnamed) continue;
    charges[at] = change.amounts[at] - (change.kind == Operation::Kind::settle ? net : 0);
  }
  for (std::size_t at = 0; at < max_limits; ++at) lease.net[at] = small(wide(lease.net[at]) + charges[at]);
  lease.ended = change.kind == Operation::Kind::adjust ? 0 : 1;
  for (std::size_t i = 0; i < ideal_.items(); ++i)
    given_back_or_charged(before, state, i, charges, lease, node);
}

void Judge::given_back_or_charged(const State& before, State& state, std::size_t item, const Amounts& charges,
                                  const LeaseState& lease, const Node& node) {
  const bool debits = std::any_of(charges.begin(), charges.end(), [](int charge) { return charge > 0; });
  const ItemId old = before.items[item];
  // Where clocks differ, who finds the bucket expired and who does not is up to them.
  const bool there = scenario_.exact() ? ideal_.alive(old, before.now) : state.items[item] != old;
  const bool same = there && world_.info(old).generation == lease.generations[item];
  for (int limit = 0; limit < max_limits; ++limit) {
    int charge = charges[static_cast<std::size_t>(limit)];
    // What is given back to a bucket, or to a limit, that is not there any more is dropped; or was not there
    // when the client looked, since a limit can be forgotten and come back.
    const bool limits_come_and_go = scenario_.sets.size() > 1;
    const bool was_gone = limits_come_and_go && !debits && !writes(node, item, limit);
    if (charge < 0 && (!same || !ideal_.has(old, limit) || was_gone)) charge = 0;
    if (debits) {
      ideal_.charged(before, state, item, limit, {node.history, charge, false, true});
    } else if (charge < 0) {
      ideal_.credited(state, item, limit, -charge);
    }
  }
}

void Judge::applied(const State& before, State& state, std::size_t client, std::size_t number,
                    const Node& node) {
  OperationState& operation_state = state.operations[slot(client, number)];
  if (operation_state.applied != 0) alarm_.raise("an operation was applied twice");
  if (operation_state.verdict == Verdict::refused || operation_state.verdict == Verdict::contention) {
    alarm_.raise("an operation was applied after it was reported as refused");
  }
  operation_state.applied = 1;
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    const ItemInfo& item = world_.info(state.items[i]);
    const ItemInfo& old = world_.info(before.items[i]);
    const bool same = item.generation == old.generation;
    if (same && item.refilled_at < old.refilled_at) alarm_.raise("the refill time went back");
    if (same && item.version < old.version) alarm_.raise("the version went back");
    if (item.partial) return alarm_.raise("an item is there in part");
  }
  const Operation::Kind kind = operation(client, number).kind;
  if (kind == Operation::Kind::acquire) return acquired(before, state, client, number, node);
  if (kind != Operation::Kind::alter) return lease_changed(before, state, client, number, node);
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    for (int limit = 0; limit < max_limits; ++limit) {
      ideal_.charged(before, state, i, limit, {node.history, 0, false, true});
    }
  }
}

void Judge::check_refusal(const State& state, const Operation& acquire, const Node& node) {
  const auto& outcome = std::get<conditional::Acquire>(node.machine).outcome();
  bool fits = true;
  bool can_fit = true;
  int wait = 0;
  for (std::size_t i = 0; i < ideal_.items(); ++i) {
    for (int limit = 0; limit < max_limits; ++limit) {
      const IdealBuckets::Found found = ideal_.found(state, i, limit, node.history);
      const int amount = acquire.amounts[static_cast<std::size_t>(limit)];
      if (!found.exact) return;
      if (found.rate == nullptr || amount == unnamed || found.balance >= amount) continue;
      fits = false;
      can_fit = can_fit && amount <= found.rate->burst;
      const auto& [capacity, burst, per, period] = *found.rate;
      while (amount <= burst &&
             found.balance + (state.now + wait) * per / period - state.now * per / period < amount)
        ++wait;
    }
  }
  if (fits) alarm_.raise("refused although the ideal bucket holds the charge");
  if (outcome.never_fits == can_fit) alarm_.raise("never_fits is wrong");
  if (can_fit && outcome.wait != wait) alarm_.raise("the wait is not the exact one");
}

void Judge::ended(const State& state, std::size_t client, std::size_t number, const Node& node) {
  const OperationState& end = state.operations[slot(client, number)];
  const Operation& ending = operation(client, number);
  const auto* const acquire = std::get_if<conditional::Acquire>(&node.machine);
  if (end.verdict == Verdict::refused || end.verdict == Verdict::contention) {
    if (end.applied != 0) alarm_.raise("reported as refused although it was applied");
    // A refusal that was fenced was decided before the fence, and the bucket may hold more since.
    const bool comparable =
        scenario_.exact() && !scenario_.stale_reads && acquire != nullptr && !acquire->in_doubt();
    if (end.verdict == Verdict::refused && comparable) check_refusal(state, ending, node);
  }
  if (end.verdict != Verdict::done) return;
  if (acquire != nullptr) {
    if (end.applied == 0) alarm_.raise("reported as admitted although nothing was charged");
    const LeaseState& lease = state.leases[slot(client, number)];
    for (std::size_t i = 0; i < ideal_.items(); ++i) {
      const bool named = acquire->outcome().buckets[i].generation == lease.generations[i];
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
