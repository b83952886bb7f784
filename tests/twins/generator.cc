#include "twins/generator.h"

#include <algorithm>

namespace weir::twins {
namespace {

constexpr Time day = 86'400'000;

}  // namespace

Generator::Generator(const Shape& shape, std::uint64_t seed, const Traits& traits)
    : shape_(shape), traits_(traits), random_(seed) {
  const bool outlives = is(Factor::keys, keys_after_expiry) || is(Factor::leases, leases_reborn);
  constexpr std::array<Time, 3> deadlines = {60'000, 600'000, day};
  config_.oracle.entities = shape.depth() + 1;
  config_.oracle.resources = resource_count;
  config_.oracle.plans = plan_count;
  config_.oracle.lease_for = outlives ? 1000 * day : deadlines[below(3)];
  config_.oracle.clock_bound = traits.clock_bound;
  config_.start = static_cast<Time>(below(1'000'000'000));
  system_multiplier_ = !shape.request_limits() && chance(50);
  config_.multiplier = system_multiplier_ ? 1 + pick_index(9) : shape.multiplier();
  config_.oracle.multiplier = config_.multiplier;
  const int spare = 3;
  // Levels that inherit must not have more limits together than a bucket holds.
  const int most = shape.inherits() ? 16 : most_limits;
  for (int i = 0; i < std::min(shape.limits() + spare, most); ++i) names_.push_back(i);
  const std::size_t wanted =
      shape.concurrent() == concurrent_full ? 1 + below(2) : static_cast<std::size_t>(shape.concurrent());
  while (concurrent_.size() < wanted) {
    const int name = names_[below(names_.size())];
    if (!may_be_concurrent(name)) concurrent_.push_back(name);
  }
  constexpr std::array<Time, 9> lengths = {1, 7, 200, 1000, 8001, 60'000, 600'000, 3'600'000, day};
  for (Time& length : lengths_) length = lengths[below(lengths.size())];
}

bool Generator::may_be_concurrent(int limit) const {
  return std::find(concurrent_.begin(), concurrent_.end(), limit) != concurrent_.end();
}

Op Generator::op(Kind kind) {
  Op one;
  one.kind = kind;
  one.id = ++next_id_;
  if (traits_.shared && kind != Kind::advance && chance(is(Factor::leases, leases_other) ? 40 : 15))
    one.limiter = 1;
  return one;
}

Terms Generator::draw_terms(int limit) {
  return may_be_concurrent(limit) && chance(95) ? draw_concurrent() : draw_rate();
}

Terms Generator::draw_concurrent() {
  const std::int64_t capacity = chance(2) ? 0 : chance(50) ? between(1, 30) * 1000 : between(1, 30'000);
  return {capacity, capacity, 0, 1};
}

Terms Generator::draw_rate() {
  // Where the clock runs ahead and back, buckets must not expire meanwhile.
  constexpr std::array<std::int64_t, 5> fast = {200, 1000, 3333, 10'000, 60'000};
  constexpr std::array<std::int64_t, 3> slow = {600'000, 3'600'000, day};
  Terms terms;
  terms.period = is(Factor::clock, clock_ahead) ? slow[below(slow.size())] : fast[below(fast.size())];
  terms.capacity = chance(50) ? between(1, 30) * 1000 : between(1, 30'000);
  terms.amount = chance(60) ? terms.capacity : between(1, 2 * terms.capacity);
  if (is(Factor::clock, clock_ahead)) terms.amount = std::min(terms.amount, terms.capacity);
  if (chance(2)) terms = {0, 0, 1000, terms.period};
  terms.burst = terms.capacity;
  if (shape_.burst_above() && terms.capacity > 0) terms.burst += between(1, 9 * terms.capacity);
  return terms;
}

Set Generator::draw_set(int count) {
  std::vector<int> names = names_;
  while (static_cast<int>(names.size()) > count) {
    const int index = pick_index(names.size());
    const bool wanted = may_be_concurrent(names[static_cast<std::size_t>(index)]);
    if (!wanted || chance(10) || names.size() <= concurrent_.size()) names.erase(names.begin() + index);
  }
  Set set;
  for (const int name : names) set.push_back({name, draw_terms(name), draw_mode()});
  return set;
}

Mode Generator::draw_mode() {
  if (!shape_.has_modes() || chance(50)) return Mode::enforce;
  return chance(70) ? Mode::shadow : Mode::off;
}

Op Generator::set_level(const LevelId& level, Set limits) {
  Op one = op(Kind::set_limits);
  one.level = level;
  one.limits = std::move(limits);
  const bool clock_goes_back = is(Factor::clock, clock_back) || is(Factor::clock, clock_ahead);
  if (level.entity >= 0 && !clock_goes_back && chance(50)) {
    one.options.owner = Owner::sync;
    one.options.expires_in = chance(30) ? 30 * day : 1000 * between(1, chance(50) ? 20 : 400);
  }
  if (level.kind == Source::system && system_multiplier_) one.options.multiplier = shape_.multiplier();
  if (shape_.inherits() && level.kind != Source::system && chance(80)) {
    one.options.inherit = true;
    while (one.limits.size() > 1 && chance(60))
      one.limits.erase(one.limits.begin() + pick_index(one.limits.size()));
  }
  return one;
}

std::vector<Op> Generator::setup() {
  const int depth = shape_.depth();
  const int sibling = depth;
  std::vector<Op> ops;
  for (int plan = 0; shape_.has_plans() && plan < 2; ++plan) ops.push_back(put_plan(plan, draw_plan()));
  const auto put = [&](int entity, int parent, bool cascade) {
    Op one = op(Kind::put_entity);
    one.entity = entity;
    one.parent = parent;
    one.cascade = cascade;
    if (shape_.has_plans() && chance(70)) one.plan = pick_index(2);
    ops.push_back(one);
  };
  for (int entity = 0; entity + 1 < depth; ++entity) put(entity, entity + 1, true);
  put(sibling, depth > 1 ? 1 : -1, depth > 1 && (!has_access() || chance(50)));
  if (depth == 1) put(0, leaf_parent(), false);

  const int count = shape_.limits();
  const auto leaf = [&](int entity) { return entity == 0 || entity == sibling; };
  if (!shape_.request_limits()) {
    const bool system = system_multiplier_ || chance(70);
    if (system) levels_.push_back({{}, draw_set(count)});
    for (int resource = 0; resource < resource_count; ++resource) {
      if (!system || chance(30)) levels_.push_back({{Source::resource, -1, resource}, draw_set(count)});
    }
  } else {
    for (int i = 0; i < 3; ++i) request_sets_.push_back(std::make_shared<const Set>(draw_set(count)));
    request_set_ = request_sets_[0];
  }
  // A bucket under an operator's own limits never expires.
  const bool must_expire = is(Factor::age, age_expired) || is(Factor::keys, keys_after_expiry) ||
                           is(Factor::leases, leases_reborn) || is(Factor::clock, clock_expiry);
  for (int entity = 0; entity < config_.oracle.entities; ++entity) {
    if (leaf(entity) && shape_.request_limits() && !shape_.inherits()) continue;
    const bool own =
        shape_.request_limits() || shape_.inherits() ? true : chance(shape_.has_plans() ? 15 : 40);
    if (!own) continue;
    const bool by_default = (leaf(entity) && must_expire) || chance(50);
    std::vector<std::pair<LevelId, Set>> levels;
    if (by_default) {
      levels.push_back({{Source::entity_default, entity, -1}, draw_set(count)});
    } else {
      for (int resource = 0; resource < resource_count; ++resource)
        levels.push_back({{Source::entity, entity, resource}, draw_set(count)});
    }
    for (auto& level : levels) (entity == 0 ? leaf_levels_ : levels_).push_back(level);
  }
  for (const auto& [level, limits] : levels_) ops.push_back(set_level(level, limits));
  for (const auto& [level, limits] : leaf_levels_) ops.push_back(set_level(level, limits));
  return ops;
}

/// One change of the kind that the shape asks for.
Set Generator::changed(Set set) {
  if (shape_.has_modes() && chance(30)) set[below(set.size())].mode = draw_mode();
  for (NamedTerms& named : set) {
    // Another kind under the same name.
    if (!may_be_concurrent(named.limit) || !chance(12)) continue;
    named.terms = named.terms.concurrent() ? draw_rate() : draw_concurrent();
  }
  int how = shape_[Factor::changes];
  if (how == changes_asleep || chance(15)) how = changes_raise + pick_index(4);
  last_change_ = static_cast<Changes>(how);
  if (how == changes_add) {
    for (const int name : names_) {
      if (find(set, name) != nullptr || set.size() >= 16 || chance(40)) continue;
      set.push_back({name, draw_terms(name), draw_mode()});
      std::sort(set.begin(), set.end(), [](const auto& a, const auto& b) { return a.limit < b.limit; });
      return set;
    }
  }
  if (how == changes_add || (how == changes_remove && set.size() > 1)) {
    set.erase(set.begin() + pick_index(set.size()));
    last_change_ = changes_remove;
    if (set.empty()) set = draw_set(1);
    return set;
  }
  if (how == changes_remove) return draw_set(1);
  for (NamedTerms& named : set) {
    if (set.size() > 1 && chance(50)) continue;
    scale(named.terms, how == changes_raise);
  }
  return set;
}

/// Where limits come with the request, the plan leaves them in force on some resource.
PlanSets Generator::draw_plan() {
  PlanSets sets;
  const auto add = [&](int resource) {
    PlanSet set{draw_set(shape_.limits()), shape_.inherits() && chance(80)};
    while (set.inherit && set.limits.size() > 1 && chance(60))
      set.limits.erase(set.limits.begin() + pick_index(set.limits.size()));
    sets[resource] = std::move(set);
  };
  if (!shape_.request_limits() || chance(30)) add(-1);
  for (int resource = 0; resource < resource_count; ++resource) {
    if (chance(40)) add(resource);
  }
  if (sets.empty()) add(resource_count - 1);
  return sets;
}

Op Generator::put_plan(int plan, PlanSets sets) {
  Op one = op(Kind::put_plan);
  one.plan = plan;
  one.sets = std::move(sets);
  return one;
}

Op Generator::assign(const World& world, int entity, int plan) {
  Op one = op(Kind::put_entity);
  one.entity = entity;
  one.parent = world.oracle().parent_of(entity);
  one.cascade = world.oracle().cascades(entity);
  one.plan = plan;
  return one;
}

Op Generator::draw_plan_change(const World& world) {
  const int plan = pick_index(plan_count);
  const auto stored = world.oracle().stored_plan(plan);
  if (chance(50)) {
    const int entity = chance(60) ? 0 : pick_index(static_cast<std::size_t>(config_.oracle.entities));
    return assign(world, entity, chance(20) ? -1 : plan);
  }
  if (!stored) return put_plan(plan, draw_plan());
  if (chance(8)) {
    Op one = op(Kind::delete_plan);
    one.plan = plan;
    return one;
  }
  if (chance(10)) return put_plan(plan, draw_plan());
  PlanSets sets = *stored;
  for (auto& [resource, set] : sets) {
    if (sets.size() == 1 || chance(60)) set.limits = changed(set.limits);
  }
  return put_plan(plan, std::move(sets));
}

void Generator::scale(Terms& terms, bool up) {
  const std::int64_t factor = between(2, 4);
  if (terms.concurrent()) {
    terms.capacity =
        up ? std::min<std::int64_t>(terms.capacity * factor, 10'000'000) : terms.capacity / factor;
    terms.burst = terms.capacity;
    return;
  }
  if (up) {
    if (chance(70)) terms.amount = std::min<std::int64_t>(terms.amount * factor, 10'000'000);
    if (chance(50)) terms.capacity = std::min<std::int64_t>(terms.capacity * factor, 10'000'000);
    terms.burst = std::max(terms.burst, terms.capacity);
    if (terms.capacity > 0 && shape_.burst_above()) terms.burst += between(0, terms.capacity);
  } else {
    if (chance(70)) terms.amount = std::max<std::int64_t>(terms.amount / factor, 1);
    if (chance(70)) terms.capacity = terms.capacity / factor;
    if (terms.capacity == 0 || !shape_.burst_above()) terms.burst = terms.capacity;
    if (shape_.burst_above()) terms.burst = std::max(terms.capacity, terms.burst / factor);
    if (terms.capacity == 0) terms.burst = 0;
  }
  if (is(Factor::clock, clock_ahead) && terms.capacity > 0)
    terms.amount = std::min(terms.amount, terms.capacity);
}

std::optional<Op> Generator::draw_change(const World& world) {
  if (shape_.has_plans() && chance(50)) return draw_plan_change(world);
  const auto stored = world.oracle().stored_levels(world.now());
  if (shape_.request_limits() && chance(60)) {
    request_set_ = chance(50) ? std::make_shared<const Set>(changed(*request_set_))
                              : request_sets_[below(request_sets_.size())];
    if (request_sets_.size() < 6) request_sets_.push_back(request_set_);
    saw(Factor::changes);
    return std::nullopt;
  }
  if (stored.empty() || chance(15)) {
    // A level that has nothing, or had something before.
    const LevelId levels[] = {{Source::system, -1, -1},
                              {Source::resource, -1, 0},
                              {Source::entity_default, 0, -1},
                              {Source::entity_default, shape_.depth() - 1, -1}};
    return set_level(levels[below(shape_.request_limits() ? 4 : 3)], draw_set(shape_.limits()));
  }
  const auto& level = stored[below(stored.size())];
  if (stored.size() > 1 && chance(is(Factor::changes, changes_remove) ? 25 : 8)) {
    Op one = op(Kind::delete_limits);
    one.level = level.level;
    return one;
  }
  return set_level(level.level, changed(*level.limits));
}

/// Several changes of one level while nobody asks.
void Generator::sleep_through_changes() {
  const std::uint64_t count = 2 + below(chance(10) ? 10 : 3);
  for (std::uint64_t i = 0; i < count; ++i) {
    later([this](const World& world) -> std::optional<Op> { return draw_change(world); });
    if (chance(70))
      later([this](const World& world) -> std::optional<Op> { return clock(refill_step(world)); });
  }
}

/// The entity starts anew, without buckets and with the same limits.
void Generator::forget_entity() {
  clear_rules(0);
  later([this](const World&) -> std::optional<Op> {
    Op one = op(Kind::delete_entity);
    one.entity = 0;
    return one;
  });
  later([this](const World& then) -> std::optional<Op> {
    Op one = op(Kind::put_entity);
    one.entity = 0;
    one.parent = leaf_parent();
    one.cascade = shape_.depth() > 1;
    if (then.oracle().stored_plan(0) && chance(70)) one.plan = 0;
    return one;
  });
  for (const auto& [level, limits] : leaf_levels_)
    later([this, level = level, limits = limits](const World&) -> std::optional<Op> {
      return set_level(level, limits);
    });
}

Op Generator::clock(Time by) {
  Op one = op(Kind::advance);
  one.by = by;
  return one;
}

/// Up to the time in which some limit of the world refills its capacity.
Time Generator::refill_step(const World& world) {
  const auto stored = world.oracle().stored_levels(world.now());
  const Set* set = request_set_ ? request_set_.get() : nullptr;
  if (!stored.empty() && (set == nullptr || chance(50))) set = stored[below(stored.size())].limits.get();
  if (set == nullptr || set->empty()) return between(1, 1000);
  const Terms& terms = (*set)[below(set->size())].terms;
  if (terms.concurrent()) return deadline_step(world);
  return between(1, std::max<Time>(time_to_grant(terms, std::max<std::int64_t>(terms.capacity, 1)), 1));
}

/// To a deadline of what is held in a bucket, or one millisecond before or after it.
Time Generator::deadline_step(const World& world) {
  const int entity = pick_index(static_cast<std::size_t>(config_.oracle.entities));
  const BucketState* const bucket = world.oracle().bucket(entity, 0, world.now());
  std::vector<Time> ends;
  for (const Held& held : bucket == nullptr ? std::vector<Held>() : bucket->limits) {
    for (const auto& [end, amount] : held.slots) ends.push_back(end);
  }
  if (ends.empty()) return between(1, 1000);
  return std::max<Time>(ends[below(ends.size())] - world.now() + between(-1, 1), 1);
}

/// To the expiry of a bucket: just before, at it, just after, or well beyond.
Time Generator::beyond_expiry(const World& world) {
  const BucketState* const own = world.oracle().bucket(0, 0, world.now());
  Time at = own != nullptr && chance(70) ? own->expires_at : world.oracle().next_expiry(world.now());
  if (at == never) at = world.now() + refill_step(world);
  const Time away = at - world.now();
  switch (below(5)) {
    case 0:
      return std::max<Time>(away - 1, 1);
    case 1:
      return away;
    case 2:
      return away + 1;
    default:
      return away + between(1, std::max<Time>(away, 1));
  }
}

/// Ahead by more than the bound, but not so far that a bucket expires, a rule ends or the key of a grant is
/// forgotten; something is written there; then back. 0 where that cannot be.
Time Generator::ahead_by(const World& world) {
  const Time bound = traits_.clock_bound;
  const Oracle& oracle = world.oracle();
  const Time expiry = std::min(
      {oracle.next_expiry(world.now()), oracle.next_rule_end(world.now()), oracle.next_key_end(world.now())});
  const Time most = std::min<Time>(expiry == never ? 100 * day : expiry - world.now() - 1, 100 * day);
  if (most <= bound + 2) return 0;
  const Time by = chance(30) ? bound + between(0, 2) : between(bound + 1, most);
  const Request request{0, 0, {}, request_set_, {}, false};
  later([this, request](const World& then) -> std::optional<Op> { return touch(then, request); });
  if (chance(50)) later([this](const World& then) -> std::optional<Op> { return acquire(then); });
  const Time back = chance(60) ? by : between(1, by);
  later([this, back](const World&) -> std::optional<Op> { return clock(-back); });
  later([this](const World& then) -> std::optional<Op> { return chance(80) ? acquire(then) : look(then); });
  return by;
}

Op Generator::advance(const World& world) {
  if (!concurrent_.empty() && chance(25)) return clock(deadline_step(world));
  const bool refill = !chance(70) || (shape_[Factor::clock] >= clock_back && !traits_.clock_goes_back);
  const int how = refill ? static_cast<int>(clock_refill) : shape_[Factor::clock];
  switch (how) {
    case clock_small:
      return clock(between(1, 50));
    case clock_expiry:
      return clock(beyond_expiry(world));
    case clock_back:
      return clock(chance(50) ? refill_step(world) : -between(1, chance(50) ? 20 : 50'000));
    case clock_ahead:
      if (chance(35)) {
        if (const Time by = ahead_by(world); by > 0) return clock(by);
      }
      return clock(refill_step(world));
    default:
      return clock(chance(90) ? refill_step(world) : between(1, 5));
  }
}

std::optional<Op> Generator::draw_unseen(const World& world) {
  if (unseen(Factor::changes) && !is(Factor::changes, changes_none)) return draw_change(world);
  if (unseen(Factor::leases) && !is(Factor::leases, leases_none)) return change_lease(world);
  if (unseen(Factor::age) && is(Factor::age, age_expired)) return clock(beyond_expiry(world));
  if (unseen(Factor::clock)) return advance(world);
  if (unseen(Factor::concurrent) && is(Factor::concurrent, concurrent_full)) return crowd(world);
  return std::nullopt;
}

Op Generator::next(const World& world) {
  while (!pending_.empty()) {
    const Later step = std::move(pending_.front());
    pending_.pop_front();
    if (auto one = step(world)) return *std::move(one);
  }
  const bool ruled = has_access() && (unseen(Factor::access) || unseen(Factor::rules));
  if (ruled && chance(12)) return draw_access(world);
  if (chance(20)) {
    if (auto one = draw_unseen(world)) return *std::move(one);
  }
  const std::uint64_t dice = below(1000);
  if (is(Factor::concurrent, concurrent_full) && chance(unseen(Factor::concurrent) ? 40 : 10))
    return crowd(world);
  if (dice < 140) return advance(world);
  if (dice < 220) return look(world);
  if (dice < 250) {
    Op one = op(Kind::compare);
    one.entity = pick_index(static_cast<std::size_t>(config_.oracle.entities));
    return one;
  }
  if (dice < 290 && !is(Factor::changes, changes_none)) {
    if (is(Factor::changes, changes_asleep)) sleep_through_changes();
    if (auto one = draw_change(world)) return *std::move(one);
  }
  if (dice >= 290 && dice < 294 && traits_.reopens) return op(Kind::reopen);
  if (dice >= 300 && dice < 420 && !is(Factor::leases, leases_none)) {
    if (auto one = change_lease(world)) return *std::move(one);
  }
  if (dice >= 420 && dice < (is(Factor::age, age_new) ? 450 : 421)) {
    forget_entity();
    return next(world);
  }
  if (dice >= 450 && dice < 480 && is(Factor::age, age_expired)) return clock(beyond_expiry(world));
  if (dice >= 480 && dice < 540 && !keyed_.empty()) {
    Op one = op(Kind::acquire);
    one.request = keyed_[below(keyed_.size())];
    return one;
  }
  if (dice >= 550 && dice < 590)
    return correct(world, dice < 560 ? Kind::lower : dice < 568 ? Kind::reset : Kind::grant);
  if (dice >= 590 && dice < 612 && has_access()) return draw_access(world);
  if (dice >= 540 && dice < 543) {
    // Moving an entity is refused while it has a bucket.
    Op one = op(Kind::put_entity);
    one.entity = 0;
    one.parent = leaf_parent();
    one.cascade = false;
    one.plan = world.oracle().plan_of(0);
    if (shape_.depth() > 1) {
      later([this, one](const World&) -> std::optional<Op> {
        Op back = one;
        back.id = ++next_id_;
        back.cascade = true;
        return back;
      });
    }
    return one;
  }
  return acquire(world);
}

}  // namespace weir::twins
