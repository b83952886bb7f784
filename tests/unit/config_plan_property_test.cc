// For every store and every file: making the plan's steps gives what the file says, and then
// there is nothing left to plan.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/json.h"
#include "config/plan.h"
#include "weir/limiter.h"

namespace weir::config {
namespace {

using std::chrono::hours;

Current everything(Limiter& limiter) {
  Current current;
  for (Paging paging{.limit = 7};;) {
    auto page = *limiter.list_limits({}, paging);
    current.limits.insert(current.limits.end(), page.items.begin(), page.items.end());
    if (page.next.empty()) break;
    paging.cursor = page.next;
  }
  for (Paging paging{.limit = 7};;) {
    auto page = *limiter.entities(paging);
    current.entities.insert(current.entities.end(), page.items.begin(), page.items.end());
    if (page.next.empty()) break;
    paging.cursor = page.next;
  }
  return current;
}

/// Chooses by numbers that rapidcheck gives once, so that a failure can be run again.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  bool in(int of) { return below(of) == 0; }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    std::shuffle(items.begin(), items.end(), random_);
  }

 private:
  std::mt19937_64 random_;
};

const std::vector<std::string> entities{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
const std::vector<std::string> resources{"r", "s", "t"};
const std::vector<std::string> texts{"1", "2/s", "5/day:9", R"({"capacity":5,"refill_amount":2})"};

Level some_level(Chance& chance) {
  switch (chance.below(4)) {
    case 0:
      return Level::system();
    case 1:
      return Level::resource(chance.of(resources));
    case 2:
      return Level::entity_default(chance.of(entities));
    default:
      return Level::entity(chance.of(entities), chance.of(resources));
  }
}

std::vector<NamedLimit> some_limits(Chance& chance) {
  std::vector<NamedLimit> limits{{"rpm", *Limit::parse(chance.of(texts))}};
  if (chance.in(2)) limits.push_back({"tpm", *Limit::parse(chance.of(texts))});
  return limits;
}

/// What people and sync do between two files. Some of it is refused, as it should be.
void meddle(Limiter& limiter, Chance& chance) {
  for (int i = chance.below(20); i > 0; --i) {
    const Level level = some_level(chance);
    SetLimitsOptions options;
    if (!level.entity().empty() && chance.in(3)) {
      options.owner = Owner::sync;
      options.expires_in = hours(1);
    }
    if (level.kind() == Source::system && chance.in(2))
      options.bucket_ttl_refill_multiplier = 1 + chance.below(3);
    switch (chance.below(6)) {
      case 0:
        static_cast<void>(limiter.delete_limits(level));
        break;
      case 1:
        static_cast<void>(limiter.delete_entity(chance.of(entities)));
        break;
      case 2:
      case 3:
        static_cast<void>(limiter.set_limits(level, some_limits(chance), options));
        break;
      default: {
        Entity entity{.id = chance.of(entities), .name = chance.in(2) ? "by hand" : ""};
        if (!chance.in(4)) entity.parent = chance.of(entities);
        entity.cascade = !entity.parent.empty() && chance.in(2);
        static_cast<void>(limiter.put_entity(entity));
      }
    }
  }
}

Desired some_file(Chance& chance) {
  Desired desired;
  if (chance.in(2)) desired.on_unavailable = chance.in(2) ? OnUnavailable::allow : OnUnavailable::deny;
  if (chance.in(2)) desired.bucket_ttl_refill_multiplier = 1 + chance.below(3);
  if (desired.on_unavailable || desired.bucket_ttl_refill_multiplier || chance.in(2))
    desired.limits.push_back({Level::system(), some_limits(chance)});
  for (const std::string& resource : resources) {
    if (chance.in(2)) desired.limits.push_back({Level::resource(resource), some_limits(chance)});
  }
  std::vector<std::string> order = entities;  // each below some of those before it: no cycles
  chance.shuffle(order);
  std::vector<std::size_t> depth(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    depth[i] = 1;
    if (chance.in(3)) continue;
    DesiredEntity entity{.id = order[i]};
    const std::size_t above =
        i == 0 ? 0 : i - 1 - static_cast<std::size_t>(chance.below(std::min<int>(2, int(i))));
    if (i > 0 && depth[above] < 8 && !chance.in(4)) {
      entity.parent = order[above];
      depth[i] = depth[above] + 1;
      entity.cascade = chance.in(2);
    }
    if (chance.in(3)) entity.name = chance.in(2) ? "Name" : "";
    if (chance.in(3))
      entity.metadata = std::map<std::string, std::string>{{"team", chance.in(2) ? "x" : "y"}};
    entity.declared = !entity.parent.empty() || entity.name || entity.metadata;
    if (!entity.declared || chance.in(2))
      desired.limits.push_back({Level::entity_default(entity.id), some_limits(chance)});
    if (chance.in(2))
      desired.limits.push_back({Level::entity(entity.id, chance.of(resources)), some_limits(chance)});
    desired.entities.push_back(std::move(entity));
  }
  return desired;
}

std::string yaml_limits(const std::vector<NamedLimit>& limits) {
  auto object = base::JsonWriter::object();
  for (const NamedLimit& limit : limits) object.raw(limit.name, limit.limit.to_json());
  return base::JsonWriter::object().raw("limits", object.str()).str();
}

/// The file as text.
std::string written(const Desired& desired) {
  auto root = base::JsonWriter::object(), top = base::JsonWriter::object(), all = base::JsonWriter::object();
  for (const DesiredLimits& limits : desired.limits) {
    if (limits.level.kind() == Source::resource) top.raw(limits.level.resource(), yaml_limits(limits.limits));
    if (limits.level.kind() != Source::system) continue;
    std::string system = yaml_limits(limits.limits);
    system.pop_back();
    if (desired.on_unavailable)
      system += std::string(",\"on_unavailable\":") + weir::name_of(*desired.on_unavailable);
    if (desired.bucket_ttl_refill_multiplier)
      system += ",\"bucket_ttl_refill_multiplier\":" + std::to_string(*desired.bucket_ttl_refill_multiplier);
    root.raw("system", system + "}");
  }
  for (const DesiredEntity& entity : desired.entities) {
    auto one = base::JsonWriter::object(), on = base::JsonWriter::object();
    if (!entity.parent.empty()) one.text("parent", entity.parent).flag("cascade", entity.cascade);
    if (entity.name) one.text("name", *entity.name);
    if (entity.metadata) one.raw("metadata", "{team: " + entity.metadata->at("team") + "}");
    for (const DesiredLimits& limits : desired.limits) {
      if (limits.level == Level::entity_default(entity.id)) {
        const std::string inner = yaml_limits(limits.limits);
        one.raw("limits", inner.substr(10, inner.size() - 11));
      } else if (limits.level.entity() == entity.id) {
        on.raw(limits.level.resource(), yaml_limits(limits.limits));
      }
    }
    all.raw(entity.id, one.raw("resources", on.str()).str());
  }
  return root.raw("resources", top.str()).raw("entities", all.str()).str();
}

const StoredLimits* find(const Current& current, const Level& level) {
  const auto found = std::find_if(current.limits.begin(), current.limits.end(),
                                  [&](const StoredLimits& limits) { return limits.level == level; });
  return found == current.limits.end() ? nullptr : &*found;
}

const Entity* find(const Current& current, std::string_view id) {
  const auto found = std::find_if(current.entities.begin(), current.entities.end(),
                                  [&](const Entity& entity) { return entity.id == id; });
  return found == current.entities.end() ? nullptr : &*found;
}

void check_desired(const Desired& desired, const Current& before, const Current& after) {
  for (const DesiredLimits& want : desired.limits) {
    const StoredLimits* const have = find(after, want.level);
    RC_ASSERT(have != nullptr);
    RC_ASSERT(have->limits == want.limits);
    RC_ASSERT(have->owner == Owner::operator_);
    if (want.level.kind() != Source::system) continue;
    if (desired.on_unavailable) RC_ASSERT(have->on_unavailable == desired.on_unavailable);
    if (desired.bucket_ttl_refill_multiplier)
      RC_ASSERT(have->bucket_ttl_refill_multiplier == desired.bucket_ttl_refill_multiplier);
  }
  for (const DesiredEntity& want : desired.entities) {
    const Entity* const have = find(after, want.id);
    const Entity* const had = find(before, want.id);
    if (!want.declared) {
      RC_ASSERT((have == nullptr) == (had == nullptr));
      continue;
    }
    RC_ASSERT(have != nullptr);
    RC_ASSERT(have->parent == want.parent);
    RC_ASSERT(have->cascade == want.cascade);
    RC_ASSERT(have->name == want.name.value_or(had == nullptr ? "" : had->name));
    if (want.metadata) RC_ASSERT(have->metadata == *want.metadata);
  }
}

/// What the file does not name: the file's own is gone, unless the plan says why not; the rest is as it was.
void check_others(const Desired& desired, const Plan& plan, const Current& before, const Current& after) {
  const auto named = [&](const Level& level) {
    return std::any_of(desired.limits.begin(), desired.limits.end(),
                       [&](const DesiredLimits& want) { return want.level == level; });
  };
  for (const StoredLimits& had : before.limits) {
    if (named(had.level)) continue;
    const StoredLimits* const have = find(after, had.level);
    const bool removable = had.from_file && had.owner == Owner::operator_;
    RC_ASSERT((have == nullptr) == removable);
    if (have != nullptr) RC_ASSERT(have->limits == had.limits && have->owner == had.owner);
  }
  std::size_t kept = 0;
  for (const Entity& had : before.entities) {
    const Entity* const have = find(after, had.id);
    const bool wanted = std::any_of(desired.entities.begin(), desired.entities.end(),
                                    [&](const DesiredEntity& want) { return want.id == had.id; });
    if (wanted) continue;
    if (!had.from_file) RC_ASSERT(have != nullptr && *have == had);
    if (had.from_file && have != nullptr) ++kept;
  }
  RC_ASSERT(kept == plan.kept.size());
}

void check_reading(const Desired& desired) {
  const auto read = read_limits_file(written(desired));
  if (!read) RC_FAIL(read.error().message);
  RC_ASSERT(read->on_unavailable == desired.on_unavailable);
  RC_ASSERT(read->limits.size() == desired.limits.size());
  RC_ASSERT(read->entities.size() == desired.entities.size());
  RC_ASSERT(make_plan(*read, {})->changes.size() == make_plan(desired, {})->changes.size());
}

RC_GTEST_PROP(PlanProperty, MakingItGivesWhatTheFileSaysAndThenNothingIsLeft, ()) {
  Chance chance(*rc::gen::arbitrary<std::uint64_t>());
  auto limiter = *Limiter::open("memory:");
  int made = 0;
  for (int round = 0; round < 6; ++round) {
    meddle(limiter, chance);
    const Desired desired = some_file(chance);
    check_reading(desired);
    const Current before = everything(limiter);
    const auto plan = make_plan(desired, before);
    if (!plan) {
      // What people stored does not go with the file: a circle, or a chain that is too long.
      RC_ASSERT(plan.error().code == ErrorCode::conflict);
      continue;
    }
    const auto changed = limiter.change(plan->steps);
    if (!changed) RC_FAIL(changed.error().message);
    const Current after = everything(limiter);
    check_desired(desired, before, after);
    check_others(desired, *plan, before, after);
    const auto again = make_plan(desired, after);
    RC_ASSERT(again);
    RC_ASSERT(again->empty() && again->steps.empty());
    RC_ASSERT(plan->added + plan->changed + plan->removed == plan->changes.size());
    ++made;
  }
  RC_CLASSIFY(made >= 3, "three files or more were applied");
}

}  // namespace
}  // namespace weir::config
