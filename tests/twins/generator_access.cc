// The blocks and exemptions that a generator draws, and what was seen of them.
#include <algorithm>

#include "twins/generator.h"

namespace weir::twins {

int Generator::leaf_parent() const {
  const bool above = is(Factor::access, access_parent_blocked) || is(Factor::access, access_top_blocked) ||
                     is(Factor::access, access_both);
  return shape_.depth() > 1 || above ? 1 : -1;
}

int Generator::draw_ruled(const World& world, Access access) {
  if (chance(12)) return pick_index(static_cast<std::size_t>(config_.oracle.entities));
  const std::vector<int> ancestry = world.oracle().ancestry(0);
  const int parent = ancestry[std::min<std::size_t>(1, ancestry.size() - 1)];
  switch (shape_[Factor::access]) {
    case access_parent_blocked:
      return parent;
    case access_top_blocked:
      return ancestry.back();
    case access_both:
      return access == Access::exempt ? 0 : ancestry[below(ancestry.size())];
    default:
      return 0;
  }
}

Op Generator::draw_rule(const World& world, Access access) {
  Op one = op(Kind::set_access);
  one.rule.access = access;
  one.entity = draw_ruled(world, access);
  const int how = chance(85) ? shape_[Factor::rules] : pick_index(values_of(Factor::rules));
  if (how == rules_one_resource || (how != rules_for_good && chance(20)))
    one.rule.resource = chance(85) ? 0 : 1;
  if (how == rules_ended || (how != rules_for_good && chance(30)))
    one.rule.until = world.now() + (chance(70) ? between(1, 5000) : refill_step(world));
  // An end that is not in the future is refused.
  if (chance(2)) one.rule.until = world.now() - between(0, 5);
  one.rule.reason = "r\xc3\xa9 " + std::to_string(one.id);
  return one;
}

Op Generator::remove_rule(int entity, const Rule& rule) {
  Op one = op(Kind::remove_access);
  one.entity = entity;
  one.rule = rule;
  return one;
}

/// To its last moment or its end, or its removal.
Op Generator::end_rule(const World& world, int entity, const Rule& rule) {
  if (rule.until == never || chance(is(Factor::rules, rules_ended) ? 10 : 60))
    return remove_rule(entity, rule);
  const Time left = rule.until - world.now();
  if (left < 2 || chance(60)) return clock(left);
  later([this](const World& then) -> std::optional<Op> { return acquire(then); });
  later([this](const World&) -> std::optional<Op> { return clock(1); });
  later([this](const World& then) -> std::optional<Op> { return acquire(then); });
  return clock(left - 1);
}

/// An acquire, mostly, or one that comes again, or a change of a lease.
void Generator::request_under_rule(const Rule& rule) {
  later([this, rule](const World& world) -> std::optional<Op> {
    if ((unseen(Factor::access) || unseen(Factor::rules)) && chance(70)) return ask_for_more(world, rule);
    const std::uint64_t dice = below(10);
    if (dice < 2) return look(world);
    if (dice < 4 && !keyed_.empty()) {
      Op one = op(Kind::acquire);
      one.request = keyed_[below(keyed_.size())];
      if (!is(Factor::leases, leases_none) && chance(40)) one.hold = Hold::id;
      return one;
    }
    if (dice < 6 && !is(Factor::leases, leases_none)) return change_lease(world);
    return acquire(world);
  });
}

Op Generator::ask_for_more(const World& world, const Rule& rule) {
  Op one = op(Kind::acquire);
  one.request = {0, std::max(rule.resource, 0), {}, request_set_, {}, false};
  for (const Line& line : world.oracle().look(one.request, world.now()).lines) {
    if (line.mode != Mode::enforce || !one.request.consume.empty()) continue;
    one.request.consume = {{line.limit, std::max<std::int64_t>(line.remaining, 0) + 1}};
  }
  if (one.request.consume.empty()) one.request.consume = {{names_[0], 1000}};
  return one;
}

Op Generator::begin_rule(const World& world, Access access) {
  const Op one = draw_rule(world, access);
  for (std::uint64_t left = 1 + below(4); left > 0; --left) request_under_rule(one.rule);
  if (chance(12)) return one;
  const auto end = [this, entity = one.entity, rule = one.rule](const World& then) -> std::optional<Op> {
    for (const Rule& stored : then.oracle().rules(entity)) {
      if (stored.reason == rule.reason && then.now() < stored.until) return end_rule(then, entity, stored);
    }
    return std::nullopt;
  };
  later(end);
  later([this](const World& then) -> std::optional<Op> { return acquire(then); });
  return one;
}

/// Ends a rule that was left, or begins one; or removes one that nobody has set.
Op Generator::draw_access(const World& world) {
  std::vector<std::pair<int, Rule>> left;
  for (int entity = 0; entity < config_.oracle.entities; ++entity) {
    for (const Rule& rule : world.oracle().rules(entity)) {
      if (world.now() < rule.until) left.emplace_back(entity, rule);
    }
  }
  if (!left.empty() && chance(75)) {
    const auto& [entity, rule] = left[below(left.size())];
    return end_rule(world, entity, rule);
  }
  Access access = is(Factor::access, access_exempt) ? Access::exempt : Access::blocked;
  if (chance(3)) return remove_rule(pick_index(static_cast<std::size_t>(config_.oracle.entities)), {access});
  if (is(Factor::access, access_both)) {
    // One after the other, so that both hold for a while.
    const bool exempt_first = chance(50);
    const Op first = draw_rule(world, exempt_first ? Access::exempt : Access::blocked);
    if (chance(50)) request_under_rule(first.rule);
    later([this, exempt_first](const World& then) -> std::optional<Op> {
      return begin_rule(then, exempt_first ? Access::blocked : Access::exempt);
    });
    return first;
  }
  if (chance(10)) access = access == Access::exempt ? Access::blocked : Access::exempt;
  return begin_rule(world, access);
}

void Generator::clear_rules(int entity) {
  constexpr int most = 2 * (1 + resource_count);
  for (int i = 0; i < most; ++i) {
    later([this, entity](const World& world) -> std::optional<Op> {
      for (const Rule& rule : world.oracle().rules(entity)) {
        if (world.now() < rule.until) return remove_rule(entity, rule);
      }
      return std::nullopt;
    });
  }
}

bool Generator::shows_access(const Op& op, const World& world) const {
  const Answer& answer = world.observed().answer;
  const int entity = op.request.entity;
  const int by = answer.block ? answer.block->entity : -1;
  switch (shape_[Factor::access]) {
    case access_blocked:
      return by == entity;
    case access_parent_blocked:
      return by >= 0 && by == world.oracle().parent_of(entity);
    case access_top_blocked:
      return by >= 0 && by != entity && by == world.oracle().ancestry(entity).back();
    case access_exempt:
      return answer.exempt && std::any_of(answer.lines.begin(), answer.lines.end(),
                                          [](const Line& line) { return line.would_refuse; });
    case access_both:
      return by >= 0 && world.oracle().exempt(entity, op.request.resource, world.now());
    default:
      return !answer.lines.empty();
  }
}

bool Generator::shows_rules(const Op& op, const World& world) const {
  const Answer& answer = world.observed().answer;
  const int entity = op.request.entity;
  const int resource = op.request.resource;
  const Oracle& oracle = world.oracle();
  if (!has_access()) return !answer.lines.empty();
  if (is(Factor::rules, rules_for_good) || is(Factor::rules, rules_one_resource)) {
    const auto fits = [&](const Rule& rule) {
      return is(Factor::rules, rules_one_resource) ? rule.resource >= 0
                                                   : rule.resource < 0 && rule.until == never;
    };
    if (answer.block) return std::any_of(answer.block->rules.begin(), answer.block->rules.end(), fits);
    return answer.exempt &&
           std::any_of(oracle.rules(entity).begin(), oracle.rules(entity).end(), [&](const Rule& rule) {
             return rule.access == Access::exempt && rule.holds(resource, world.now()) && fits(rule);
           });
  }
  const std::vector<int> ancestry = oracle.ancestry(entity);
  if (answer.lines.empty() || !world.observed().existing_bucket) return false;
  if (is(Factor::rules, rules_removed))
    return std::find(ancestry.begin(), ancestry.end(), removed_) != ancestry.end();
  return std::any_of(ancestry.begin(), ancestry.end(), [&](int one) {
    return std::any_of(oracle.rules(one).begin(), oracle.rules(one).end(), [&](const Rule& rule) {
      return rule.until <= world.now() && (rule.resource < 0 || rule.resource == resource) &&
             (rule.access == Access::blocked || one == entity);
    });
  });
}

void Generator::saw_access(const Op& op, const World& world) {
  if (world.observed().answer.error) return;
  if (shows_access(op, world)) saw(Factor::access);
  if (shows_rules(op, world)) saw(Factor::rules);
}

}  // namespace weir::twins
