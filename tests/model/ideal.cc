#include "ideal.h"

#include <algorithm>

#include "decision/expiry.h"

namespace weir::model {
namespace {

int granted(const Tiny& tiny, int from, int to) {
  return to * tiny.amount / tiny.period - from * tiny.amount / tiny.period;
}

std::int8_t& balance_of(Ideal& ideal, int version) {
  return ideal.balance[static_cast<std::size_t>(version)];
}
int balance_of(const Ideal& ideal, int version) {
  return wide(ideal.balance[static_cast<std::size_t>(version)]);
}

Ideal& ideal_of(State& state, std::size_t item, int limit) {
  return state.ideal[item][static_cast<std::size_t>(limit)];
}
const Ideal& ideal_of(const State& state, std::size_t item, int limit) {
  return state.ideal[item][static_cast<std::size_t>(limit)];
}

}  // namespace

const Tiny* IdealBuckets::named_by(HistoryId history, int limit) const {
  const TinySet& limits = scenario_.sets[static_cast<std::size_t>(world_.history(history).set)];
  const auto at = static_cast<std::size_t>(limit);
  return at < limits.size() && limits[at] ? &*limits[at] : nullptr;
}

/// The parameters by which a limit refills under a version that may not name it.
const Tiny* IdealBuckets::governing(const State& state, std::size_t item, int limit, int version) const {
  if (scenario_.request_limits) {
    return named_by(world_.request_history(static_cast<std::size_t>(ideal_of(state, item, limit).set)),
                    limit);
  }
  for (int at = version; at >= 0; --at) {
    if (const Tiny* const found = named_by(world_.ancestor(state.history, at), limit)) return found;
  }
  return nullptr;
}

int IdealBuckets::cap(const Tiny& tiny) const {
  return tiny.burst + (scenario_.allowance * tiny.amount + tiny.period - 1) / tiny.period;
}

int IdealBuckets::counts(ItemId item, HistoryId history, int limit, int version, int balance) const {
  if (!scenario_.exact() || scenario_.request_limits || item == 0) return balance;
  const Tiny* const own = named_by(world_.ancestor(history, version), limit);
  return own == nullptr ? balance : std::min(balance, cap_of_next(item, limit, *own));
}

int IdealBuckets::seen_by(ItemId item, HistoryId history) const {
  int at = scenario_.exact() ? world_.history(history).depth : 0;
  while (at > 0 && world_.history(world_.ancestor(history, at)).resolution->stamp > world_.info(item).version)
    --at;
  return at;
}

int IdealBuckets::read(const State& state, std::size_t item, int limit, int version) const {
  const HistoryId history = world_.ancestor(state.history, version);
  return wide(world_.read(state.items[item], history, state.now).held[static_cast<std::size_t>(limit)]);
}

State IdealBuckets::first_state() {
  State state{};
  state.history = 1;
  state.now = small(start_time);
  conditional::Record item = first_item(state);
  for (std::size_t i = 0; i < items() && !scenario_.missing; ++i) {
    if (i == 1 && item.parent) item.parent = "";
    // A parent that nobody is under has no bucket yet.
    if (i == 1 && scenario_.moves && !scenario_.under_parent) break;
    state.items[i] = world_.item_id(item);
  }
  state.before = state.items;
  return state;
}

conditional::Record IdealBuckets::first_item(State& state) {
  conditional::Record item;
  item.refilled_at = start_time + scenario_.ahead;
  item.parent = scenario_.under_parent ? "p" : "";
  if (scenario_.parent_unknown) item.parent.reset();
  item.version = world_.history(1).resolution->stamp;
  item.generation = 1;
  decision::Expiry expiry(start_time, *world_.history(1).resolution);
  for (int limit = 0; limit < max_limits; ++limit) {
    const limits::Parameters* const parameters = world_.parameters(0, limit);
    if (parameters == nullptr) continue;
    const int given = scenario_.tokens[static_cast<std::size_t>(limit)];
    const std::int64_t tokens = given == unnamed ? parameters->burst : given;
    item.limits.push_back({World::limit_name(limit), *parameters, tokens, 0, false});
    const Tiny& own = *named_by(1, limit);
    if (own.concurrent()) {
      bucket::LimitState& held = item.limits.back();
      for (const Held& one : scenario_.held)
        if (limit == 0) bucket::take(held.holds, start_time + one.deadline, one.amount);
      held.tokens -= bucket::total(held.holds);
      expiry.hold(held.holds);
      continue;
    }
    expiry.hold(World::limit_name(limit), *parameters, tokens, true);
    const int start = scenario_.missing ? own.capacity : static_cast<int>(tokens);
    for (std::size_t i = 0; i < max_items; ++i) {
      balance_of(ideal_of(state, i, limit), 0) = small(start + cap(own) - own.burst);
    }
  }
  if (scenario_.keep_for != limits::never) item.expires_at = expiry.expires_at() + scenario_.settings.margin;
  return item;
}

void IdealBuckets::ticked(State& state) {
  for (std::size_t i = 0; i < items(); ++i) {
    const bool was_alive = alive(state.items[i], state.now - 1);
    if (was_alive && !alive(state.items[i], state.now) && state.promised[i] >= state.now)
      alarm_.raise("a bucket expires before the end of a wait that counted on it");
    // Ahead of the clock, it is granted nothing until somebody sets it right.
    if (was_alive && world_.info(state.items[i]).refilled_at > state.now) continue;
    const int seen = was_alive ? seen_by(state.items[i], state.history) : 0;
    for (int limit = 0; limit < max_limits; ++limit) {
      Ideal& ideal = ideal_of(state, i, limit);
      if (scenario_.exact() && !(was_alive && has(state.items[i], limit))) continue;
      for (int version = seen; version <= newest(state); ++version) {
        const Tiny* const rate = governing(state, i, limit, version);
        if (rate == nullptr || rate->concurrent()) continue;
        const int balance =
            balance_of(std::as_const(ideal), version) + granted(*rate, state.now - 1, state.now);
        balance_of(ideal, version) = small(std::min(balance, cap(*rate)));
      }
      if (!scenario_.exact() || alive(state.items[i], state.now)) continue;
      // Under limits that were stored since its last write it may be less than full: its expiry cannot know.
      if (is_concurrent(state, i, limit, seen)) continue;
      if (balance_of(std::as_const(ideal), seen) < governing(state, i, limit, seen)->capacity) {
        alarm_.raise("a bucket expires before it holds its capacity");
      }
    }
  }
}

void IdealBuckets::limits_changed(State& state) {
  state.promised = {};
  for (std::size_t i = 0; i < items(); ++i) {
    for (int limit = 0; limit < max_limits; ++limit) {
      Ideal& ideal = ideal_of(state, i, limit);
      const Tiny* const next = named_by(state.history, limit);
      int balance = balance_of(std::as_const(ideal), newest(state) - 1);
      const bool there = alive(state.items[i], state.now) && has(state.items[i], limit);
      if (next != nullptr)
        balance = there ? std::min(balance, cap_of_next(state.items[i], limit, *next)) : next->capacity;
      balance_of(ideal, newest(state)) = small(balance);
    }
  }
}

/// Limits that come with a request change when it is written.
void IdealBuckets::adopt_request(const State& before, State& state, std::size_t item, int limit,
                                 const ChargeOf& charge) {
  const Tiny* const next = named_by(charge.history, limit);
  if (next == nullptr || !charge.claims) return;
  Ideal& ideal = ideal_of(state, item, limit);
  const bool had = alive(before.items[item], before.now) && has(before.items[item], limit);
  ideal.set = small(world_.history(charge.history).set);
  const int most = cap_of_next(before.items[item], limit, *next);
  ideal.balance[0] = small(had ? std::min(wide(ideal.balance[0]), most) : next->capacity);
}

void IdealBuckets::charged(const State& before, State& state, std::size_t item, int limit,
                           const ChargeOf& charge) {
  Ideal& ideal = ideal_of(state, item, limit);
  const bool was_alive = alive(before.items[item], before.now);
  const bool had = was_alive && has(before.items[item], limit);
  const int version = world_.history(charge.history).depth;
  const int seen = was_alive ? seen_by(before.items[item], before.history) : version;
  const int acting = scenario_.exact() ? std::max(version, seen) : 0;
  if (scenario_.request_limits) adopt_request(before, state, item, limit, charge);
  const Tiny* const rate = governing(state, item, limit, acting);
  const bool has_it = has(state.items[item], limit);
  if (rate == nullptr || (scenario_.request_limits && !had && !has_it)) return;
  if (rate->concurrent()) return taken(before, state, item, limit, charge, *rate);

  int held = balance_of(std::as_const(ideal), acting);
  if (was_alive) held = counts(before.items[item], state.history, limit, acting, held);
  if (charge.acquires && held < charge.amount) alarm_.raise("admitted more than the ideal bucket holds");
  balance_of(ideal, acting) = small(std::min(held - charge.amount, cap(*rate)));
  const ItemInfo& after = world_.info(state.items[item]);
  const bool same = before.items[item] != 0 && world_.info(before.items[item]).generation == after.generation;
  ideal.consumed = small((same ? wide(ideal.consumed) : 0) + charge.amount);
  if (charge.acquires && has_it && after.tokens[static_cast<std::size_t>(limit)] < 0) {
    alarm_.raise("an acquire made a balance negative");
  }
  if (!scenario_.exact()) return;
  // One that missed several changes refills by the strictest of them, so it may hold less, and it does not
  // know the last capacity that it should have had.
  const bool missed_several = acting - seen >= 2;
  if (had && !has_it && !missed_several && held - charge.amount < rate->capacity) {
    alarm_.raise("a limit was forgotten before it held its capacity");
  }
  if (!has_it || !alive(state.items[item], state.now)) return;
  if (missed_several) {
    balance_of(ideal, acting) =
        small(std::min(balance_of(std::as_const(ideal), acting), read(state, item, limit, acting)));
  }
  follow(state, item, limit, acting, charge);
}

/// A write under limits in which this one is concurrent. Its balance follows from the leases.
void IdealBuckets::taken(const State& before, State& state, std::size_t item, int limit,
                         const ChargeOf& charge, const Tiny& slots) {
  const bool was_alive = alive(before.items[item], before.now);
  const int held = was_alive ? held_after(before, item, limit, latest_clock(before, item)) : 0;
  if (charge.acquires && held + charge.amount > slots.capacity)
    alarm_.raise("admitted more than the slots that are free");
  const bool same = before.items[item] != 0 &&
                    world_.info(before.items[item]).generation == world_.info(state.items[item]).generation;
  if (!same) ideal_of(state, item, limit).consumed = 0;
  const bool had = was_alive && has(before.items[item], limit);
  if (had && !has(state.items[item], limit) && held > 0)
    alarm_.raise("a limit was forgotten while a lease holds slots of it");
}

/// Brings the balances under versions that the writer does not know of up to date. To this bucket those
/// changes happen now, after the write; or, where it does not claim, between now and when they were stored.
void IdealBuckets::follow(State& state, std::size_t item, int limit, int acting, const ChargeOf& charge) {
  Ideal& ideal = ideal_of(state, item, limit);
  int now = balance_of(std::as_const(ideal), acting);
  for (int later = acting + 1; later <= newest(state); ++later) {
    const Tiny* const next = named_by(world_.ancestor(state.history, later), limit);
    if (is_concurrent(state, item, limit, later)) return;
    if (next != nullptr) now = std::min(now, cap_of_next(state.items[item], limit, *next));
    const int then = balance_of(std::as_const(ideal), later) - charge.amount;
    balance_of(ideal, later) = small(now);
    if (charge.claims) continue;
    // Retry leaves room for the refill of a short while, at the rate that its client knows; at a higher one
    // that much can be saved from the brim, once for each change.
    const Tiny& rate = *governing(state, item, limit, later);
    const int recent =
        (static_cast<int>(scenario_.settings.recent) * rate.amount + rate.period - 1) / rate.period;
    const int held = read(state, item, limit, later);
    if (held > std::max(now, then) + recent)
      alarm_.raise("the bucket holds too much under limits it has not seen");
    if (held < std::min(now, then) && later == acting + 1) {
      alarm_.raise("the bucket holds too little under limits it has not seen");
    }
    balance_of(ideal, later) = small(held);
  }
}

void IdealBuckets::credited(State& state, std::size_t item, int limit, int amount) {
  Ideal& ideal = ideal_of(state, item, limit);
  ideal.consumed = small(ideal.consumed - amount);
  if (world_.info(state.items[item]).partial) return;
  const int seen = seen_by(state.items[item], state.history);
  for (int version = seen; version <= (scenario_.exact() ? newest(state) : 0); ++version) {
    if (is_concurrent(state, item, limit, version)) continue;
    const int next = balance_of(std::as_const(ideal), version) + amount;
    const Tiny& rate = *governing(state, item, limit, version);
    balance_of(ideal, version) = small(std::min(next, cap(rate)));
    if (version == seen) continue;
    // Given back before the bucket learned of a higher burst, it is cut at the lower one.
    balance_of(ideal, version) =
        small(std::min(balance_of(std::as_const(ideal), version), read(state, item, limit, version)));
  }
}

void IdealBuckets::normalize(State& state) {
  for (std::size_t i = 0; i < items(); ++i) {
    const bool is_alive = alive(state.items[i], state.now);
    if (!is_alive || state.promised[i] < state.now) state.promised[i] = 0;
    const int seen = is_alive ? seen_by(state.items[i], state.history) : 0;
    for (int limit = 0; limit < max_limits; ++limit) {
      Ideal& ideal = ideal_of(state, i, limit);
      if (!scenario_.exact()) {
        if (state.items[i] == 0) ideal.consumed = 0;
        continue;
      }
      const bool there = is_alive && has(state.items[i], limit);
      if (!there) ideal.consumed = ideal.set = 0;
      for (int version = 0; version < max_versions; ++version) {
        const bool stored = version <= newest(state) && !scenario_.request_limits;
        const Tiny* const next = stored ? named_by(world_.ancestor(state.history, version), limit) : nullptr;
        if (!there) {
          balance_of(ideal, version) = next == nullptr ? std::int8_t{0} : small(next->capacity);
        } else if (version < seen || version > newest(state)) {
          balance_of(ideal, version) = 0;
        }
        if (stored && is_concurrent(state, i, limit, version)) balance_of(ideal, version) = 0;
      }
    }
  }
}

IdealBuckets::Found IdealBuckets::found(const State& state, std::size_t item, int limit,
                                        HistoryId history) const {
  const bool is_alive = alive(state.items[item], state.now);
  const bool there = is_alive && has(state.items[item], limit);
  const Ideal& ideal = ideal_of(state, item, limit);
  if (scenario_.request_limits) {
    const Tiny* const own = named_by(history, limit);
    if (own == nullptr) return {};
    const int most = there ? cap_of_next(state.items[item], limit, *own) : 0;
    return {own, there ? std::min(balance_of(ideal, 0), most) : own->capacity, true};
  }
  const int seen = is_alive ? seen_by(state.items[item], state.history) : 0;
  const int version = std::max(world_.history(history).depth, seen);
  const int balance = this->balance(state, item, limit, version);
  return {named_by(world_.ancestor(state.history, version), limit),
          is_alive ? counts(state.items[item], state.history, limit, version, balance) : balance,
          version - seen < 2};
}

void IdealBuckets::check_limit(const State& state, std::size_t item, int limit) {
  const int seen = seen_by(state.items[item], state.history);
  for (int version = seen; version <= newest(state); ++version) {
    const int held = read(state, item, limit, version);
    const int should = balance(state, item, limit, version);
    const bool longer = scenario_.joins && is_concurrent(state, item, limit, version);
    if (held > should) alarm_.raise("the bucket holds more than the ideal one");
    // Dormant after several changes, it refills by the strictest of them.
    const bool named = named_by(world_.ancestor(state.history, version), limit) != nullptr;
    if (held < counts(state.items[item], state.history, limit, version, should) && version <= seen + 1 &&
        named && !longer)
      alarm_.raise("the bucket holds less than the ideal one");
  }
}

void IdealBuckets::check(const State& state) {
  for (std::size_t i = 0; i < items(); ++i) {
    const ItemInfo& item = world_.info(state.items[i]);
    if (state.items[i] == 0) continue;
    if (item.partial) return alarm_.raise("an item is there in part");
    if (item.torn) return alarm_.raise("the balance of a concurrent limit is not what its holds leave");
    for (int limit = 0; limit < max_limits && !alive(state.items[i], state.now); ++limit) {
      if (held_after(state, i, limit, latest_clock(state, i)) > 0)
        alarm_.raise("a bucket has expired while a lease holds slots of it");
    }
    if (scenario_.exact() && !alive(state.items[i], state.now)) continue;
    const bool misplaced = scenario_.moves && i == 0 && item.parent >= 0 && item.parent != state.under_parent;
    if (misplaced) alarm_.raise("a bucket was made under another parent than the catalog has");
    for (int limit = 0; limit < max_limits; ++limit) {
      if (!has(state.items[i], limit)) continue;
      const int consumed = item.consumed[static_cast<std::size_t>(limit)];
      const int should = wide(ideal_of(state, i, limit).consumed);
      if (consumed > should) alarm_.raise("the counter is above what was charged");
      if (consumed < should) alarm_.raise("the counter is below what was charged");
      check_holds(state, i, limit);
      if (scenario_.exact() && !scenario_.request_limits) check_limit(state, i, limit);
      for (std::size_t set = 0; scenario_.request_limits && set < scenario_.sets.size(); ++set) {
        const HistoryId history = world_.request_history(set);
        const Found ideal = found(state, i, limit, history);
        const int held =
            wide(world_.read(state.items[i], history, state.now).held[static_cast<std::size_t>(limit)]);
        if (ideal.rate != nullptr && held > ideal.balance)
          alarm_.raise("the bucket holds more than the ideal one");
        if (ideal.rate != nullptr && held < ideal.balance)
          alarm_.raise("the bucket holds less than the ideal one");
      }
    }
  }
}

}  // namespace weir::model
