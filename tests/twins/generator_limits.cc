// The limits and plans that a generator draws, and their changes.
#include <algorithm>

#include "twins/generator.h"

namespace weir::twins {

bool Generator::may_be_concurrent(int limit) const {
  return std::find(concurrent_.begin(), concurrent_.end(), limit) != concurrent_.end();
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

}  // namespace weir::twins
