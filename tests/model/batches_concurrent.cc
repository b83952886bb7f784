// Scenarios of concurrent limits: slots that leases hold until they end or their deadlines pass.
#include "batches.h"

namespace weir::model {
namespace {

constexpr int same = Operation::shared;

/// Slots alone. Nothing expires.
Scenario with_slots(int capacity) {
  Scenario scenario;
  scenario.sets = {{slots(capacity)}};
  scenario.settings.recent = 1;
  scenario.settings.attempts = 20;
  scenario.ticks = 4;
  return scenario;
}

Scenario expiring(Scenario scenario) {
  scenario.keep_for = 1;
  return scenario;
}

/// Each acquire alone, lost, ended, adjusted and extended, and each pair.
std::vector<Sequence> leases(const std::vector<Operation>& acquires) {
  std::vector<Sequence> sequences;
  for (const Operation& first : acquires) {
    sequences.push_back({first});
    sequences.push_back({first, rollback(0)});
    sequences.push_back({first, settle(0, 1)});
    sequences.push_back({first, extend(0, 2)});
    // An adjust of a lease that holds nothing may find another bucket, which gives back at the deadline only.
    if (first.amounts[0] != 0) sequences.push_back({first, of(0, adjust(1))});
    for (const Operation& second : acquires) sequences.push_back({first, second});
  }
  return sequences;
}

void taking(std::vector<Batch>& batches) {
  const std::vector<Operation> takes = {lasting(acquire(1), 1), lasting(acquire(1), 2),
                                        lasting(cached(acquire(1)), 2), lasting(acquire(2), 1),
                                        lasting(cached(acquire(0)), 2)};
  batches.push_back({"S1", "slots: taken, ended, lost", with_slots(2), leases(takes), 2, 1});
  batches.push_back({"S2", "slots, the bucket expires", expiring(with_slots(2)), leases(takes), 2, 2});
  std::vector<Sequence> few = singles(takes);
  few.push_back({lasting(acquire(1), 1), extend(0, 2)});
  batches.push_back({"S3", "slots, three clients", with_slots(2), few, 3, 3});
  Scenario missing = expiring(with_slots(1));
  missing.missing = true;
  batches.push_back({"S4", "slots, three clients create, expiry", missing, few, 3, 4});
}

void extending(std::vector<Batch>& batches) {
  Scenario shared = with_slots(1);
  shared.held = {{.deadline = 2, .amount = 1, .shared = true}};
  const std::vector<Sequence> sequences = {
      {extend(same, 2)},
      {extend(same, 1), extend(same, 2)},
      {extend(same, 2), rollback(same)},
      {extend(same, 3), settle(same, 1)},
      {rollback(same)},
      {model::shared(adjust(-1))},
      {lasting(acquire(1), 2)},
      {lasting(cached(acquire(1)), 1), extend(0, 2)},
      {lasting(once(acquire(1)), 2), rollback(0)},
  };
  batches.push_back({"S5", "slots, extended while others take", shared, sequences, 2, 1});
  Scenario loses = shared;
  loses.timeouts = 1;
  batches.push_back({"S6", "the same with timeouts", loses, sequences, 2, 2});
  Scenario late = loses;
  late.late = 1;
  batches.push_back({"S7", "the same, writes late by one tick", late, sequences, 2, 3});
  Scenario slow = shared;
  slow.delay = 1;
  batches.push_back({"S8", "the same, writes take up to one tick", slow, sequences, 2, 4});
  Scenario old = expiring(shared);
  old.ticks = 5;
  batches.push_back({"S9", "the same, and the bucket expires", old, sequences, 2, 1});
}

/// A lease that one client acquires and others change, who may have seen the bucket before that.
void handing_over(std::vector<Batch>& batches) {
  Scenario expires = expiring(with_slots(1));
  const Operation key = shared(once(lasting(acquire(1), 2)));
  const Operation look = lasting(acquire(0), 1);
  const std::vector<Sequence> sequences = {
      {key},
      {key, extend(0, 2)},
      {key, rollback(0)},
      {look, cached(extend(same, 2))},
      {look, cached(rollback(same))},
      {look, cached(settle(same, 1))},
      {look, cached(shared(adjust(-1)))},
      {extend(same, 3), rollback(same)},
      {lasting(acquire(1), 1)},
  };
  batches.push_back({"S19", "slots, a lease handed over, expiry", expires, sequences, 2, 3});
  expires.timeouts = 1;
  expires.ticks = 3;
  batches.push_back({"S20", "the same with timeouts", expires, sequences, 2, 4});
}

/// Lists that are full, or will be.
void full_lists(std::vector<Batch>& batches) {
  for (const int pairs : {15, 16}) {
    Scenario full = with_slots(20);
    full.ticks = 2;
    full.joins = true;
    for (int i = 0; i < pairs; ++i)
      full.held.push_back({.deadline = 2 + 2 * i, .amount = 1, .shared = i == 3});
    const std::vector<Sequence> sequences = {
        {lasting(acquire(1), 3)},
        {lasting(acquire(1), 3), rollback(0)},
        {lasting(cached(acquire(1)), 5), lasting(acquire(2), 6)},
        {lasting(acquire(1), 40), rollback(0)},
        {lasting(acquire(1), 40), lasting(acquire(1), 41)},
        {lasting(acquire(1), 40), extend(0, 41)},
        {lasting(acquire(4), 7)},
        {extend(same, 9), rollback(same)},
        {extend(same, 50)},
        {rollback(same), lasting(acquire(1), 11)},
        {lasting(acquire(1), 1), extend(0, 7)},
    };
    batches.push_back({pairs == 15 ? "S10" : "S11",
                       pairs == 15 ? "slots, two clients at the 16th pair" : "slots, the list is full", full,
                       sequences, 2, pairs == 15 ? 2 : 3});
    if (pairs == 15) continue;
    full.timeouts = 1;
    batches.push_back({"S12", "slots, the list is full, timeouts", full, sequences, 2, 4});
  }
}

void beside_rates(std::vector<Batch>& batches) {
  Scenario both = with_slots(2);
  both.sets = {{slots(2), Tiny{3, 3, 1, 1}}};
  both.tokens = {unnamed, 1};
  both.ticks = 3;
  const std::vector<Operation> takes = {lasting(acquire(1, 1), 1), lasting(cached(acquire(1, 1)), 2),
                                        lasting(acquire(1), 2), lasting(cached(acquire(unnamed, 1)), 2),
                                        lasting(acquire(unnamed, 1), 1)};
  std::vector<Sequence> sequences = leases(takes);
  sequences.push_back({takes[0], settle(0, unnamed, 0)});
  sequences.push_back({takes[1], settle(0, unnamed, 2)});
  sequences.push_back({takes[1], of(0, adjust(-1, 1))});
  sequences.push_back({adjust(unnamed, -1), lasting(cached(acquire(1, 1)), 1)});
  batches.push_back({"S13", "slots beside a rate", both, sequences, 2, 1});
  Scenario expires = expiring(both);
  expires.sets = {{slots(2), Tiny{1, 1, 1, 1}}};
  expires.ticks = 4;
  batches.push_back(
      {"S14", "slots beside a rate, expiry", expires,
       leases({lasting(acquire(1), 3), lasting(cached(acquire(1, 1)), 2), lasting(acquire(unnamed, 1), 1),
               lasting(cached(acquire(unnamed, 1)), 1), lasting(cached(acquire(unnamed, 0)), 1)}),
       2, 2});
  Scenario chain = both;
  chain.items = 2;
  chain.ticks = 2;
  batches.push_back({"S15", "slots beside a rate, a chain of two", chain, sequences, 2, 3});
  Scenario altered = both;
  altered.sets = {{slots(2), Tiny{3, 3, 1, 1}}, {slots(1), Tiny{3, 3, 1, 1}}, {{}, Tiny{3, 3, 1, 1}}};
  sequences = leases({lasting(acquire(1, 1), 2), lasting(cached(acquire(1)), 1), lasting(acquire(2), 2),
                      lasting(cached(acquire(unnamed, 1)), 2)});
  for (const int set : {0, 1, 2}) {
    sequences.push_back({alter(set)});
    sequences.push_back({alter(1), alter(set)});
    sequences.push_back({lasting(acquire(1, 1), 2), alter(set)});
  }
  batches.push_back({"S16", "slots beside a rate, the capacity altered", altered, sequences, 2, 4});
  Scenario kinds = both;
  kinds.sets = {{{}, Tiny{3, 3, 1, 1}}, {{}, slots(2)}};
  kinds.stale_limits = true;
  batches.push_back({"S17",
                     "a rate becomes slots",
                     kinds,
                     {{adjust(unnamed, -1)},
                      {store_limits(1)},
                      {store_limits(1), lasting(acquire(unnamed, 1), 2)},
                      {lasting(acquire(unnamed, 1), 2), rollback(0)},
                      {lasting(cached(acquire(unnamed, 1)), 2), settle(0, unnamed, 0)},
                      {lasting(acquire(unnamed, 2), 1)}},
                     2,
                     1});
}

void with_skew(std::vector<Batch>& batches) {
  Scenario skewed = with_slots(2);
  skewed.skew = {-1, 1, 0};
  skewed.allowance = 2;
  skewed.ticks = 4;
  skewed.held = {{.deadline = 3, .amount = 1, .shared = true}};
  batches.push_back({"S18",
                     "slots, clocks one behind and one ahead",
                     skewed,
                     {{lasting(acquire(1), 2)},
                      {lasting(acquire(1), 2), rollback(0)},
                      {lasting(acquire(1), 1), lasting(acquire(1), 2)},
                      {lasting(acquire(1), 3), extend(0, 3)},
                      {lasting(acquire(1), 2), settle(0, 1)},
                      {extend(same, 3)},
                      {rollback(same)}},
                     2,
                     2});
}

}  // namespace

void add_concurrent(std::vector<Batch>& all) {
  std::vector<Batch> batches;
  taking(batches);
  extending(batches);
  handing_over(batches);
  full_lists(batches);
  beside_rates(batches);
  with_skew(batches);
  for (Batch& batch : batches) {
    const bool large = batch.clients > 2 || batch.world.timeouts > 0;
    if (!large) batch.density = batch.sequences.size() < 15 ? 40 : 4;
    all.push_back(std::move(batch));
  }
}

}  // namespace weir::model
