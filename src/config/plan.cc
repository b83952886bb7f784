// Entities and limits are sorted and merged with the stored ones, so that a plan for many entities costs
// little more than sorting them.
#include "config/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "config/family.h"
#include "config/plan_sets.h"
#include "config/wording.h"

namespace weir::config {
namespace {

using base::join;

/// The order of steps. Entities leave their parents before they are removed, and are removed before others
/// are put where a chain would be too long. Plans are put before their first member, and removed after their
/// last.
enum class Phase : unsigned char {
  put_plan,
  leave,
  remove_entity,
  remove_limits,
  put_entity,
  set_limits,
  remove_plan
};

/// The order in which levels are shown.
std::tuple<int, std::string_view, std::string_view> order_of(const Level& level) {
  const int group = level.kind() == Source::system ? 0 : level.kind() == Source::resource ? 1 : 2;
  return {group, level.entity(), level.resource()};
}

template <class T>
std::vector<const T*> by_level(const std::vector<T>& items) {
  std::vector<const T*> sorted;
  sorted.reserve(items.size());
  for (const T& item : items) sorted.push_back(&item);
  std::sort(sorted.begin(), sorted.end(),
            [](const T* a, const T* b) { return order_of(a->level) < order_of(b->level); });
  return sorted;
}

class Planner {
 public:
  Planner(const Desired& desired, const Current& current, const Family& family)
      : desired_(desired), current_(current), family_(family) {}

  Plan run() {
    const auto wants = by_level(desired_.limits);
    const auto stored = by_level(current_.limits);
    for (std::size_t i = 0, j = 0; i < wants.size() || j < stored.size();) {
      const bool take_want =
          i < wants.size() && (j == stored.size() || order_of(wants[i]->level) <= order_of(stored[j]->level));
      const bool take_stored =
          j < stored.size() && (i == wants.size() || order_of(stored[j]->level) <= order_of(wants[i]->level));
      const DesiredLimits* const want = take_want ? wants[i++] : nullptr;
      const StoredLimits* const have = take_stored ? stored[j++] : nullptr;
      const Level& level = want != nullptr ? want->level : have->level;
      if (!level.entity().empty()) {
        compare_plans();
        compare_entities_up_to(level.entity());
      }
      compare(level, want, have);
    }
    compare_plans();
    compare_entities_up_to({});
    plan_.kept.insert(plan_.kept.begin(), family_.kept().begin(), family_.kept().end());
    put_steps_in_order();
    return std::move(plan_);
  }

 private:
  struct Step {
    Phase phase;
    int rank;  ///< within the phase
    CatalogChange change;
  };

  /// Plans are shown before entities.
  void compare_plans() {
    if (std::exchange(plans_compared_, true)) return;
    std::map<std::string_view, std::pair<const LimitsPlan*, const LimitsPlan*>> plans;
    for (const LimitsPlan& want : desired_.plans) plans[want.name].first = &want;
    for (const LimitsPlan& have : current_.plans) plans[have.name].second = &have;
    for (const auto& [name, plan] : plans) compare(plan.first, plan.second);
  }

  void compare(const LimitsPlan* want, const LimitsPlan* have) {
    if (want == nullptr && !have->from_file) return;
    if (want == nullptr) {
      if (const std::string member = member_of(have->name); !member.empty()) {
        plan_.kept.push_back(join("plan ", have->name, " stays although the file does not name it: entity ",
                                  member, " has it"));
        return;
      }
    }
    const auto sets = differences(want, have);
    if (sets.empty()) return void(++plan_.unchanged);
    if (want != nullptr) {
      add_step(Phase::put_plan, 0, PutPlan{*want});
    } else {
      add_step(Phase::remove_plan, 0, DeletePlan{have->name});
    }
    for (const SetDifference& set : sets) {
      const auto words = [](const PlanLimits* one) {
        return one == nullptr ? std::string() : in_words(one->limits, {.inherit = one->inherit});
      };
      note(set.stored == nullptr   ? ChangeKind::add
           : set.wanted == nullptr ? ChangeKind::remove
                                   : ChangeKind::change,
           set.subject, words(set.stored), words(set.wanted),
           want != nullptr && have != nullptr && !have->from_file ? by_hand : "");
    }
  }

  /// An entity that has the plan afterwards; empty: none.
  std::string member_of(std::string_view plan) const {
    for (const Member& member : family_.members()) {
      if (member.plan_afterwards() == plan) return std::string(member.id);
    }
    return {};
  }

  /// Entities are shown before their limits. An empty id: all remaining entities.
  void compare_entities_up_to(std::string_view id) {
    const auto& members = family_.members();
    while (next_member_ < members.size() && (id.empty() || members[next_member_].id <= id))
      compare(members[next_member_++]);
  }

  void compare(const Member& member) {
    const int depth = static_cast<int>(member.depth);
    if (member.as_desired()) ++plan_.unchanged;
    if (member.removed) {
      add_step(Phase::remove_entity, -depth, DeleteEntity{std::string(member.id)});
      note(ChangeKind::remove, entity_subject(member), in_words(*member.stored), {}, "with its buckets");
    }
    if (!member.put) return;
    const bool stays_alone = member.put->parent.empty();
    if (member.leaves_first && !stays_alone) {
      Entity alone = *member.stored;
      alone.parent.clear();
      alone.cascade = false;
      add_step(Phase::leave, 0, PutEntity{std::move(alone)});
    }
    add_step(member.leaves_first && stays_alone ? Phase::leave : Phase::put_entity, depth,
             PutEntity{*member.put});
    if (member.stored == nullptr) {
      note(ChangeKind::add, entity_subject(member), {}, in_words(*member.put));
    } else {
      note(ChangeKind::change, entity_subject(member), in_words(*member.stored, &*member.put),
           in_words(*member.put, member.stored), member.stored->from_file ? "" : by_hand);
    }
  }

  void compare(const Level& level, const DesiredLimits* want, const StoredLimits* have) {
    if (want != nullptr) return set(*want, have);
    const std::string before = in_words(have->limits, settings_of(*have));
    if (family_.is_removed(level.entity())) {
      // The step is that of the entity, which was compared last.
      note(ChangeKind::remove, in_words(level), before, {}, "goes with its entity");
    } else if (have->from_file && have->owner == Owner::operator_) {
      add_step(Phase::remove_limits, 0, DeleteLimits{level});
      note(ChangeKind::remove, in_words(level), before, {});
    }
  }

  void set(const DesiredLimits& want, const StoredLimits* have) {
    SetLimitsOptions options{.usage = want.usage, .from_file = true, .inherit = want.inherit};
    if (want.level.kind() == Source::system) {
      options.on_unavailable = desired_.on_unavailable;
      options.bucket_ttl_refill_multiplier = desired_.bucket_ttl_refill_multiplier;
    }
    if (have != nullptr && as_desired(want, options, *have)) {
      ++plan_.unchanged;
      return;
    }
    add_step(Phase::set_limits, 0, SetLimits{want.level, want.limits, options});
    std::string after = in_words(want.limits, options);
    if (have == nullptr) {
      note(ChangeKind::add, in_words(want.level), {}, std::move(after));
    } else {
      // Only the fields that the file mentions, so that the two are comparable.
      SetLimitsOptions before = settings_of(*have);
      if (!options.on_unavailable) before.on_unavailable.reset();
      if (!options.bucket_ttl_refill_multiplier) before.bucket_ttl_refill_multiplier.reset();
      if (!options.usage) before.usage.reset();
      note(ChangeKind::change, in_words(want.level), in_words(have->limits, before), std::move(after),
           have->owner == Owner::sync ? from_sync
           : have->from_file          ? ""
                                      : by_hand);
    }
  }

  static SetLimitsOptions settings_of(const StoredLimits& have) {
    return {.bucket_ttl_refill_multiplier = have.bucket_ttl_refill_multiplier,
            .on_unavailable = have.on_unavailable,
            .usage = have.usage,
            .inherit = have.inherit};
  }

  static bool as_desired(const DesiredLimits& want, const SetLimitsOptions& options,
                         const StoredLimits& have) {
    const std::vector<NamedLimit>& limits = want.limits;
    return have.owner == Owner::operator_ && have.inherit == want.inherit &&
           std::is_permutation(limits.begin(), limits.end(), have.limits.begin(), have.limits.end()) &&
           (!options.on_unavailable || options.on_unavailable == have.on_unavailable) &&
           (!options.usage || options.usage == have.usage) &&
           (!options.bucket_ttl_refill_multiplier ||
            options.bucket_ttl_refill_multiplier == have.bucket_ttl_refill_multiplier);
  }

  static std::string entity_subject(const Member& member) { return join("entity ", member.id); }

  void add_step(Phase phase, int rank, CatalogChange change) {
    steps_.push_back({phase, rank, std::move(change)});
  }

  /// Notes a change that the last step makes.
  void note(ChangeKind kind, std::string subject, std::string before, std::string after,
            std::string_view more = {}) {
    ++(kind == ChangeKind::add ? plan_.added : kind == ChangeKind::change ? plan_.changed : plan_.removed);
    plan_.changes.push_back({kind, std::move(subject), std::move(before), std::move(after), std::string(more),
                             steps_.empty() ? 0 : steps_.size() - 1});
  }

  void put_steps_in_order() {
    std::vector<std::size_t> order(steps_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(steps_[a].phase, steps_[a].rank, a) < std::tie(steps_[b].phase, steps_[b].rank, b);
    });
    std::vector<std::size_t> place(steps_.size());
    plan_.steps.reserve(steps_.size());
    for (const std::size_t step : order) {
      place[step] = plan_.steps.size();
      plan_.steps.push_back(std::move(steps_[step].change));
    }
    for (Change& change : plan_.changes) change.step = place[change.step];
  }

  static constexpr const char* by_hand = "was set by hand; the file owns it from now on";
  static constexpr const char* from_sync = "takes the limits from sync; deleting them gives the entity back";

  const Desired& desired_;
  const Current& current_;
  const Family& family_;
  std::size_t next_member_ = 0;
  bool plans_compared_ = false;
  std::vector<Step> steps_;
  Plan plan_;
};

}  // namespace

const char* name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::add:
      return "add";
    case ChangeKind::change:
      return "change";
    case ChangeKind::remove:
      return "remove";
  }
  return "unknown";
}

Result<Plan> make_plan(const Desired& desired, const Current& current) {
  const auto family = Family::make(desired, current);
  if (!family) return family.error();
  std::set<std::string_view> plans;
  for (const auto* const known : {&desired.plans, &current.plans}) {
    for (const LimitsPlan& plan : *known) plans.insert(plan.name);
  }
  for (const Member& member : family->members()) {
    if (!member.put || member.put->plan.empty() || plans.contains(member.put->plan)) continue;
    return base::error(ErrorCode::conflict, "entity ", base::quoted(member.id), " names plan ",
                       base::quoted(member.put->plan),
                       ", which neither the file nor the store has; add it under \"plans\"");
  }
  return Planner(desired, current, *family).run();
}

std::string summary(const Plan& plan) {
  return join(std::to_string(plan.added), " to add, ", std::to_string(plan.changed), " to change, ",
              std::to_string(plan.removed), " to remove, ", std::to_string(plan.unchanged), " unchanged");
}

}  // namespace weir::config
