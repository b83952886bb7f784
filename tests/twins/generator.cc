#include "twins/generator.h"

#include <algorithm>

namespace weir::twins {

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

Op Generator::op(Kind kind) {
  Op one;
  one.kind = kind;
  one.id = ++next_id_;
  if (traits_.shared && kind != Kind::advance && chance(is(Factor::leases, leases_other) ? 40 : 15))
    one.limiter = 1;
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
    later([this, at = level, set = limits](const World&) -> std::optional<Op> { return set_level(at, set); });
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
