#include "batches.h"

#include <algorithm>

namespace weir::model {
namespace {

/// Exact: one limit of 2, one more each tick.
Scenario plain() {
  Scenario scenario;
  scenario.sets = {{Tiny{2, 2, 1, 1}}};
  scenario.settings.recent = 1;
  scenario.settings.attempts = 20;
  return scenario;
}

Scenario with(Scenario scenario, Tiny first) {
  scenario.sets = {{first}};
  return scenario;
}

Scenario with(Scenario scenario, Tiny first, Tiny second) {
  scenario.sets = {{first, second}};
  return scenario;
}

using Operations = std::vector<Operation>;

Operations operator+(Operations a, const Operations& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Operations acquires = {acquire(1), acquire(2), cached(acquire(1)), cached(acquire(2))};
const Operations few_acquires = {acquire(1), cached(acquire(2)), cached(acquire(1))};
const Operations changes = {adjust(1), adjust(3), adjust(-1)};
const Operations few_changes = {adjust(1), adjust(-1)};
const Operations two_limit_acquires = {acquire(1), acquire(unnamed, 1), cached(acquire(1, 1)),
                                       cached(acquire(1))};
const Operations two_limit_changes = {adjust(1, 1), adjust(-1, -1), adjust(1, -1)};

void one_limit(std::vector<Batch>& batches) {
  const Operations zero = {acquire(0), cached(acquire(0))};
  batches.push_back({"A1", "one limit, 1/1", plain(), pairs(acquires + changes + zero), 2, 1});
  Scenario slow = with(plain(), {3, 3, 1, 2});
  slow.settings.recent = 2;
  batches.push_back({"A2", "one limit, 1/2", slow, pairs(acquires + changes), 2, 1});
  batches.push_back(
      {"A3", "one limit, 2/3", with(plain(), {3, 3, 2, 3}), pairs(few_acquires + changes), 2, 2});
  batches.push_back({"A4", "three clients", plain(), singles(acquires + changes + zero), 3, 2});
  Scenario missing = plain();
  missing.missing = true;
  batches.push_back({"A5", "three clients create", missing, singles(acquires + changes + zero), 3, 2});
  Scenario saves = with(plain(), {1, 3, 1, 1});
  batches.push_back({"A6", "burst above capacity", saves, pairs(few_acquires + changes), 2, 3});
  Scenario low = with(plain(), {4, 4, 1, 1});
  low.tokens = {2, unnamed};
  low.ticks = 4;
  batches.push_back({"A8", "far from the brim, blind charges", low,
                     pairs({cached(acquire(1)), cached(acquire(2)), acquire(3), adjust(2), adjust(-2)}), 2,
                     1});
  Scenario altered = plain();
  altered.sets = {{Tiny{2, 2, 1, 1}}, {Tiny{1, 1, 1, 1}}, {Tiny{3, 3, 3, 1}}};
  batches.push_back({"A7", "limits altered at once", altered,
                     pairs(few_acquires + few_changes + Operations{alter(1), alter(2)}), 2, 3});
}

void two_limits(std::vector<Batch>& batches) {
  const Scenario rates = with(plain(), {2, 2, 1, 1}, {2, 2, 1, 2});
  batches.push_back(
      {"B1", "two rates on one refill time", rates, pairs(two_limit_acquires + two_limit_changes), 2, 4});
  Scenario empty = with(plain(), {3, 3, 2, 3}, {2, 2, 1, 3});
  empty.tokens = {0, 0};
  empty.ticks = 4;
  batches.push_back(
      {"B2", "two rates from empty", empty, singles(two_limit_acquires + two_limit_changes), 3, 1});
  Scenario altered = rates;
  altered.sets = {
      {Tiny{2, 2, 1, 1}, Tiny{2, 2, 1, 2}}, {Tiny{2, 2, 1, 1}, {}}, {Tiny{1, 1, 2, 1}, Tiny{3, 3, 1, 3}}};
  const Operations alters = {alter(0), alter(1), alter(2)};
  batches.push_back({"B3", "limits added, removed and altered at once", altered,
                     pairs(Operations{acquire(1, 1), cached(acquire(unnamed, 1)), cached(acquire(1)),
                                      adjust(-1, -1), adjust(1, 1)} +
                           alters),
                     2, 4});
  altered.tokens = {2, 0};
  batches.push_back({"B4", "the same, three clients, one limit empty", altered,
                     singles(two_limit_acquires + alters), 3, 2});
}

void expiry(std::vector<Batch>& batches) {
  Scenario expires = plain();
  expires.keep_for = 1;
  expires.ticks = 4;
  batches.push_back({"C1", "expiry, debts", expires, pairs(few_acquires + changes), 2, 3});
  Scenario missing = expires;
  missing.missing = true;
  batches.push_back(
      {"C2", "expiry and create, three clients", missing, singles(few_acquires + few_changes), 3, 1});
  Scenario saves = with(expires, {1, 3, 1, 1});
  batches.push_back({"C3", "expiry, burst above capacity", saves, pairs(few_acquires + few_changes), 2, 2});
  Scenario both = with(expires, {2, 2, 1, 1}, {2, 2, 1, 2});
  batches.push_back(
      {"C4", "expiry, two rates", both,
       pairs({acquire(1), cached(acquire(1, 1)), cached(acquire(unnamed, 1)), adjust(1, 1), adjust(1, -1)}),
       2, 4});
  Scenario altered = both;
  altered.sets = {
      {Tiny{2, 2, 1, 1}, Tiny{2, 2, 1, 2}}, {Tiny{2, 2, 1, 1}, {}}, {Tiny{1, 1, 2, 1}, Tiny{3, 3, 1, 3}}};
  batches.push_back(
      {"C5", "expiry, limits altered at once", altered,
       pairs(Operations{acquire(1, 1), cached(acquire(1)), adjust(1, 1), alter(0), alter(1), alter(2)}), 2,
       1});
  Scenario shortened = with(expires, {1, 1, 1, 1});
  batches.push_back({"C7", "debts that are given back, and expiries that follow", shortened,
                     pairs({adjust(2), adjust(-1), acquire(0), cached(acquire(0)), cached(acquire(1))}), 2,
                     1});
  Scenario forgets = plain();
  batches.push_back({"C6", "an entity is deleted", forgets,
                     pairs(few_acquires + few_changes + Operations{forget()}), 2, 2});
}

void timeouts(std::vector<Batch>& batches) {
  Scenario loses = plain();
  loses.timeouts = 1;
  loses.ticks = 1;
  const Operations marked = {once(acquire(1)), once(cached(acquire(2))), once(cached(acquire(1)))};
  std::vector<Sequence> settled = pairs(marked + few_changes);
  batches.push_back({"D1", "timeouts, with markers", loses, settled, 2, 3});
  Scenario missing = loses;
  missing.missing = true;
  batches.push_back({"D2", "timeouts and create, with markers", missing, settled, 2, 4});
  batches.push_back({"D3", "timeouts, at most once", loses,
                     pairs(few_acquires + Operations{unmarked(adjust(1)), unmarked(adjust(-1))}), 2, 1});
  Scenario shared = plain();
  shared.timeouts = 1;
  shared.ticks = 2;
  const auto same = Operation::shared;
  std::vector<Sequence> endings;
  for (const Operation& first : {settle(same, 1), settle(same, 3), rollback(same), acquire(1)}) {
    endings.push_back({first});
    for (const Operation& second : {settle(same, 1), settle(same, 0), rollback(same)})
      endings.push_back({first, second});
  }
  batches.push_back({"D4", "the same lease ended by two clients, more than once", shared, endings, 2, 2});
  Scenario late = loses;
  late.late = 1;
  late.ticks = 4;
  late.allowance = 1;
  late.keep_for = 1;
  late.settings.margin = 1;
  batches.push_back({"D5", "writes late by one tick, expiry", late,
                     singles(Operations{once(acquire(1)), once(cached(acquire(1))), cached(acquire(2)),
                                        adjust(1), adjust(-1)}),
                     2, 3});
}

/// The same lease changed by several, who know it only as acquire made it.
void markers(std::vector<Batch>& batches) {
  Scenario changed = plain();
  changed.ticks = 1;
  changed.timeouts = 1;
  std::vector<Sequence> sequences;
  const Operations first = {shared(adjust(2)), shared(adjust(-1)), shared(adjust(-3)),
                            settle(Operation::shared, 1), rollback(Operation::shared)};
  for (const Operation& one : first) {
    sequences.push_back({one});
    for (const Operation& two : first) sequences.push_back({one, two});
  }
  batches.push_back({"D6", "changes that begin without the marker", changed, sequences, 2, 2});
  // One acquire with its key, sent by two, while the bucket expires and is made anew.
  Scenario expires = plain();
  expires.keep_for = 1;
  expires.ticks = 4;
  const Operation key = shared(once(acquire(1)));
  const std::vector<Sequence> repeats = {
      {key},        {key, rollback(0)}, {key, settle(0, 0)},      {key, settle(0, 2)},      {key, acquire(1)},
      {acquire(1)}, {acquire(1), key},  {acquire(1), acquire(1)}, {acquire(1), rollback(0)}};
  batches.push_back({"T1", "repeat, expiry, a new bucket, rollback", expires, repeats, 2, 3});
  expires.timeouts = 1;
  expires.ticks = 2;
  batches.push_back({"T2", "the same with timeouts", expires, repeats, 2, 4});
}

/// Waits: a bucket that is asked for more than its capacity must last until it holds that.
void waits(std::vector<Batch>& batches) {
  Scenario saves = with(plain(), {1, 3, 1, 1});
  saves.keep_for = 1;
  saves.tokens = {0, unnamed};
  saves.ticks = 7;
  const Operations operations = {acquire(0), cached(acquire(0)), acquire(3), cached(acquire(2)),
                                 adjust(-1), adjust(-2),         adjust(1)};
  batches.push_back({"P1", "waits, credits and charges of nothing", saves, pairs(operations), 2, 1});
  saves.missing = true;
  batches.push_back({"P2", "the same, and the bucket is not there yet", saves, pairs(operations), 2, 2});
  saves.sets = {{Tiny{1, 3, 1, 1}, Tiny{0, 2, 1, 2}}};
  batches.push_back({"P3", "the same, two limits", saves,
                     pairs({acquire(0, 1), cached(acquire(2, 0)), acquire(unnamed, 2), adjust(-1, 1)}), 2,
                     3});
  saves.sets = {{Tiny{1, 3, 1, 1}}};
  saves.items = 2;
  saves.ticks = 5;
  batches.push_back(
      {"P4", "the same over a chain", saves, pairs({acquire(0), acquire(3), adjust(-1)}), 2, 4});
}

/// A parent that comes and goes, against clients that remember it.
void moves(std::vector<Batch>& batches) {
  Scenario moved = plain();
  moved.items = 2;
  moved.moves = true;
  moved.missing = true;
  moved.keep_for = 1;
  moved.ticks = 3;
  const Operations operations = {acquire(1), cached(acquire(1)), move(1), move(0), abandon_move(1)};
  batches.push_back({"M1", "an entity moves, its bucket is made and expires", moved,
                     pairs(operations + Operations{adjust(1)}), 2, 3});
  Scenario under = moved;
  under.under_parent = true;
  under.missing = false;
  batches.push_back({"M2", "the same, with a bucket under the parent", under, pairs(operations), 2, 4});
  Scenario unknown = moved;
  unknown.missing = false;
  unknown.parent_unknown = true;
  batches.push_back({"M3", "the same, and the bucket does not say under whom it was made", unknown,
                     pairs(operations), 2, 1});
  moved.ticks = 1;
  batches.push_back({"M4", "three clients", moved, singles(operations), 3, 2});
  moved.timeouts = 1;
  batches.push_back(
      {"M5", "timeouts", moved, pairs({once(acquire(1)), acquire(1), move(1), abandon_move(1)}), 2, 3});
}

/// A wrong clock has written the buckets.
void repairs(std::vector<Batch>& batches) {
  Scenario ahead = with(plain(), {3, 3, 1, 1});
  ahead.ahead = 40;
  ahead.tokens = {1, unnamed};
  ahead.settings.most_ahead = 10;
  batches.push_back(
      {"R1", "a refill time far ahead", ahead, pairs(few_acquires + Operations{acquire(3)}), 2, 1});
  batches.push_back({"R2", "the same, three clients", ahead, singles(few_acquires), 3, 2});
}

void clocks(std::vector<Batch>& batches) {
  Scenario slow = plain();
  slow.delay = 1;
  slow.allowance = 1;
  batches.push_back({"E1", "writes take up to one tick", slow, pairs(acquires + changes), 2, 4});
  Scenario skewed = plain();
  skewed.skew = {-1, 1, 0};
  skewed.allowance = 2;
  batches.push_back({"E2", "clocks one behind and one ahead", skewed, pairs(few_acquires + changes), 2, 1});
  Scenario both = skewed;
  both.delay = 1;
  both.allowance = 3;
  both.ticks = 4;
  batches.push_back({"E3", "both", both, pairs(few_acquires + few_changes), 2, 2});
  both.keep_for = 1;
  both.settings.margin = 3;
  batches.push_back(
      {"E4", "both, and expiry, three clients", both, singles(few_acquires + few_changes), 3, 3});
  batches.push_back({"E6", "both, and expiry, three clients in a hurry", both,
                     singles({cached(acquire(2)), cached(acquire(2))}), 3, 1});
  both.missing = true;
  both.ticks = 6;
  batches.push_back({"E5", "both, expiry and create", with(both, {1, 2, 1, 1}),
                     pairs(Operations{acquire(1), cached(acquire(1)), adjust(2)}), 2, 4});
}

void cascades(std::vector<Batch>& batches) {
  Scenario chain = plain();
  chain.items = 2;
  batches.push_back({"F1", "cascade", chain, pairs(few_acquires + few_changes), 2, 1});
  Scenario missing = chain;
  missing.missing = true;
  batches.push_back(
      {"F2", "cascade, three clients create", missing, singles(few_acquires + few_changes), 3, 2});
  Scenario expires = chain;
  expires.keep_for = 1;
  batches.push_back(
      {"F3", "cascade, the items expire each by itself", expires, pairs(few_acquires + few_changes), 2, 3});
  Scenario loses = chain;
  loses.timeouts = 1;
  loses.ticks = 1;
  batches.push_back(
      {"F4", "cascade, timeouts", loses,
       pairs(Operations{once(acquire(1)), acquire(1), once(cached(acquire(1))), adjust(1), adjust(-1)}), 2,
       4});
}

void stale(std::vector<Batch>& batches) {
  Scenario reads = plain();
  reads.stale_reads = true;
  reads.ticks = 2;
  batches.push_back({"G1", "stale reads", reads, pairs(few_acquires + changes), 2, 4});
  reads.keep_for = 1;
  reads.missing = true;
  batches.push_back(
      {"G2", "stale reads, expiry and create, three clients", reads, singles(few_acquires + changes), 3, 1});
  Scenario limits = plain();
  limits.sets = {{Tiny{2, 2, 1, 1}}, {Tiny{1, 1, 1, 2}}, {Tiny{3, 4, 2, 1}}};
  limits.stale_limits = true;
  limits.ticks = 4;
  const Operations stores = {store_limits(1), store_limits(2)};
  batches.push_back({"H1", "limits stored, buckets follow with their next decision", limits,
                     pairs(few_acquires + few_changes + stores), 2, 2});
  limits.sets = {
      {Tiny{2, 2, 1, 1}, Tiny{2, 2, 1, 2}}, {Tiny{2, 2, 1, 1}, {}}, {Tiny{1, 2, 2, 1}, Tiny{3, 3, 1, 3}}};
  limits.tokens = {1, 0};
  batches.push_back({"H2", "the same with limits added and removed", limits,
                     pairs(Operations{acquire(1, 1), cached(acquire(1)), cached(acquire(unnamed, 1)),
                                      adjust(-1, -1), store_limits(0), store_limits(1), store_limits(2)}),
                     2, 3});
  Scenario asleep = plain();
  asleep.sets = {
      {Tiny{1, 1, 1, 1}, Tiny{4, 4, 1, 1}}, {Tiny{1, 1, 1, 1}, Tiny{1, 2, 1, 1}}, {Tiny{1, 1, 1, 1}, {}}};
  asleep.stale_limits = true;
  asleep.ticks = 4;
  asleep.tokens = {1, 1};
  batches.push_back({"H3", "limits lowered and removed while a bucket sleeps", asleep,
                     pairs(Operations{acquire(1), cached(acquire(unnamed, 1)), store_limits(0),
                                      store_limits(1), store_limits(2)}),
                     2, 4});
  asleep.sets = {
      {Tiny{1, 1, 1, 1}, Tiny{4, 4, 2, 1}}, {Tiny{1, 1, 1, 1}, Tiny{1, 2, 2, 1}}, {Tiny{1, 1, 1, 1}, {}}};
  asleep.tokens = {1, -2};
  batches.push_back({"H4", "the same, with a limit in debt", asleep,
                     pairs({acquire(1), store_limits(0), store_limits(1), store_limits(2)}), 2, 1});
}

void requests(std::vector<Batch>& batches) {
  Scenario sent = plain();
  sent.request_limits = true;
  sent.sets = {{Tiny{2, 2, 1, 1}, Tiny{2, 2, 1, 2}}, {Tiny{1, 1, 2, 1}}};
  sent.tokens = {1, 0};
  const Operations operations = {acquire(1, 1), cached(acquire(1)), cached(acquire(1)), adjust(-1),
                                 adjust(1)};
  batches.push_back({"K1", "limits that come with requests and differ", sent, pairs(operations), 2, 1});
  Scenario subsets = sent;
  subsets.sets = {{Tiny{1, 1, 1, 1}}, {Tiny{1, 1, 1, 1}, Tiny{1, 2, 1, 1}}};
  batches.push_back(
      {"K3", "the same, and one names a limit that the other leaves out", subsets, pairs(operations), 2, 3});
  sent.keep_for = 1;
  sent.sets = {{Tiny{2, 3, 1, 1}}, {Tiny{1, 1, 1, 2}, Tiny{1, 2, 1, 1}}};
  batches.push_back({"K2", "the same, with expiry", sent, pairs(operations), 2, 2});
}

}  // namespace

std::vector<Sequence> pairs(const std::vector<Operation>& operations) {
  std::vector<Sequence> sequences;
  for (const Operation& first : operations) {
    sequences.push_back({first});
    for (const Operation& second : operations) sequences.push_back({first, second});
    if (first.kind != Operation::Kind::acquire) continue;
    sequences.push_back({first, rollback(0)});
    if (first.amounts[0] > 0) {
      sequences.push_back({first, settle(0, 0)});
      sequences.push_back({first, settle(0, first.amounts[0] + 1)});
    }
  }
  return sequences;
}

std::vector<Sequence> singles(const std::vector<Operation>& operations) {
  std::vector<Sequence> sequences;
  for (const Operation& first : operations) {
    sequences.push_back({first});
    if (first.kind == Operation::Kind::acquire && !first.cached) sequences.push_back({first, rollback(0)});
  }
  return sequences;
}

std::vector<Batch> all_batches() {
  std::vector<Batch> batches;
  one_limit(batches);
  two_limits(batches);
  expiry(batches);
  timeouts(batches);
  clocks(batches);
  cascades(batches);
  stale(batches);
  requests(batches);
  markers(batches);
  waits(batches);
  moves(batches);
  repairs(batches);
  add_concurrent(batches);
  return batches;
}

Total run(const Batch& batch, std::size_t stride) {
  Total total;
  stride = std::max<std::size_t>(stride / batch.density, 1);
  World world(batch.world);
  std::vector<std::size_t> chosen(static_cast<std::size_t>(batch.clients), 0);
  for (std::size_t number = 0;; ++number) {
    if (number % stride == 0) {
      Scenario scenario = batch.world;
      for (const std::size_t choice : chosen) scenario.clients.push_back(batch.sequences[choice]);
      Finding finding = Checker(scenario, world).run();
      ++total.runs;
      total.states += finding.states;
      if (!finding.violation.empty()) {
        for (const Sequence& sequence : scenario.clients) {
          for (const Operation& operation : sequence) total.scenario += operation.text() + "; ";
          total.scenario += "| ";
        }
        total.finding = std::move(finding);
        return total;
      }
    }
    // The next combination; without order where clients cannot be told apart.
    std::size_t at = chosen.size();
    while (at > 0 && chosen[at - 1] + 1 == batch.sequences.size()) --at;
    if (at == 0) return total;
    const std::size_t next = ++chosen[at - 1];
    for (; at < chosen.size(); ++at) chosen[at] = batch.told_apart() ? 0 : next;
  }
}

}  // namespace weir::model
