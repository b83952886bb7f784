// Draws the operations of one world, at random and true to its shape.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "twins/op.h"
#include "twins/shapes.h"
#include "twins/world.h"

namespace weir::twins {

class Generator {
 public:
  Generator(const Shape& shape, std::uint64_t seed, const Traits& traits);

  const WorldConfig& config() const { return config_; }
  /// What every world of this seed starts with: entities and limits.
  std::vector<Op> setup();
  Op next(const World& world);
  /// Counts what the last step has shown of the shape.
  void saw(const Op& op, const World& world);
  const PairCounts::Seen& seen() const { return seen_; }

 private:
  using Later = std::function<std::optional<Op>(const World&)>;

  // Chance. The draws do not depend on the standard library, so that a seed means the same everywhere.
  std::uint64_t below(std::uint64_t count) { return count == 0 ? 0 : random_() % count; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool chance(unsigned percent) { return below(100) < percent; }
  int pick_index(std::size_t count) { return static_cast<int>(below(count)); }

  // Limits.
  Terms draw_terms(int limit);
  Terms draw_rate();
  Terms draw_concurrent();
  bool may_be_concurrent(int limit) const;
  void scale(Terms& terms, bool up);
  Mode draw_mode();
  Set draw_set(int count);
  Set changed(Set set);
  Op set_level(const LevelId& level, Set limits);
  std::vector<Op> limits_of(int entity);
  std::optional<Op> draw_change(const World& world);
  // Plans.
  PlanSets draw_plan();
  Op put_plan(int plan, PlanSets sets);
  /// The entity as it is, with another plan; -1: none.
  Op assign(const World& world, int entity, int plan);
  Op draw_plan_change(const World& world);
  void sleep_through_changes();

  // Access.
  bool has_access() const { return !is(Factor::access, access_none); }
  /// The parent of the entity that is charged most; -1: none. In a chain of one it does not cascade.
  int leaf_parent() const;
  Op draw_access(const World& world);
  /// A rule, requests under it, its end, and one request more.
  Op begin_rule(const World& world, Access access);
  Op draw_rule(const World& world, Access access);
  int draw_ruled(const World& world, Access access);
  Op remove_rule(int entity, const Rule& rule);
  Op end_rule(const World& world, int entity, const Rule& rule);
  void request_under_rule(const Rule& rule);
  /// An acquire that the rule decides: a limit would refuse it.
  Op ask_for_more(const World& world, const Rule& rule);
  /// Removes the rules that keep an entity from being deleted.
  void clear_rules(int entity);

  // Requests.
  int draw_entity();
  Request draw_request(const World& world);
  std::vector<Asked> draw_consume(const std::vector<Line>& lines);
  std::int64_t draw_amount(const Line& line);
  Op acquire(const World& world);
  /// An acquire without a key that is hardly ever refused.
  Op touch(const World& world, Request request);
  /// An acquire that holds a little of every concurrent limit for a length that hardly any other lease has.
  Op crowd(const World& world);
  Time draw_length();
  Op correct(const World& world, Kind kind);
  Op draw_grant(const World& world, Op one);
  Op look(const World& world);
  void follow_up(const Request& request);
  void repeat_key(const World& world, const Op& op);
  void be_reborn(const World& world, Request again);
  std::optional<Op> change_lease(const World& world);
  Op change_of(const World& world, int acquire_id);

  // Time.
  static constexpr Time day = 86'400'000;
  Op advance(const World& world);
  Op clock(Time by);
  Time beyond_expiry(const World& world);
  Time ahead_by(const World& world);
  Time refill_step(const World& world);
  Time deadline_step(const World& world);
  void forget_entity();

  /// What a world has not shown of its shape yet is drawn more often.
  bool unseen(Factor factor) const { return seen_[static_cast<std::size_t>(factor)] == 0; }
  std::optional<Op> draw_unseen(const World& world);
  Op op(Kind kind);
  void later(Later step) { pending_.push_back(std::move(step)); }
  bool is(Factor factor, int value) const { return shape_[factor] == value; }
  void saw(Factor factor) { ++seen_[static_cast<std::size_t>(factor)]; }
  void saw_decision(const Op& op, const World& world);
  void saw_concurrent(const Op& op, const World& world);
  void saw_access(const Op& op, const World& world);
  bool shows_access(const Op& op, const World& world) const;
  bool shows_rules(const Op& op, const World& world) const;

  const Shape shape_;
  const Traits traits_;
  std::mt19937_64 random_;
  WorldConfig config_;
  int next_id_ = 0;
  int next_key_ = 0;
  bool system_multiplier_ = false;
  std::vector<int> names_;       ///< of limits that may be used
  std::vector<int> concurrent_;  ///< those of them that are mostly concurrent
  std::array<Time, 3> lengths_;  ///< of leases
  SetRef request_set_;
  std::vector<SetRef> request_sets_;
  std::vector<std::pair<LevelId, Set>> levels_;  ///< as set up
  std::vector<std::pair<LevelId, Set>> leaf_levels_;
  std::deque<Later> pending_;
  std::vector<Request> keyed_;
  std::vector<Op> granted_;  ///< the last grant with a key
  std::vector<Op> changed_leases_;
  int last_keyed_op_ = -1;
  Changes last_change_ = changes_none;
  int removed_ = -1;  ///< the entity that lost a rule last
  PairCounts::Seen seen_{};
};

}  // namespace weir::twins
