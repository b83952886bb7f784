#include "cli/hidden.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "cli/words.h"
#include "limits/short_form.h"

namespace weir::cli {
namespace {

using base::join;

constexpr std::size_t most_shown = 3;

/// The limits of `lower` whose names are not in `set`.
std::vector<NamedLimit> unnamed_in(const std::vector<NamedLimit>& set, const std::vector<NamedLimit>& lower) {
  std::vector<NamedLimit> missing;
  for (const NamedLimit& limit : lower) {
    const auto same = [&](const NamedLimit& other) { return other.name == limit.name; };
    if (std::none_of(set.begin(), set.end(), same)) missing.push_back(limit);
  }
  return missing;
}

std::string names_of(const std::vector<NamedLimit>& limits) {
  std::string names;
  for (const NamedLimit& limit : limits)
    names += join(names.empty() ? "" : &limit == &limits.back() ? " and " : ", ", limit.name);
  return names;
}

/// "-l rpm:100/min -l 'tpm:{...}'".
std::string options_for(const std::vector<NamedLimit>& limits) {
  std::string options;
  for (const NamedLimit& limit : limits) {
    const std::string text = limits::to_text(limit.limit);
    const char* const quote = text.starts_with('{') ? "'" : "";
    options += join(options.empty() ? "" : " ", "-l ", quote, limit.name, ":", text, quote);
  }
  return options;
}

/// The levels of the catalog once a plan is applied. Entities on single resources are left out: they hide,
/// but are not hidden.
class PlannedLevels {
 public:
  PlannedLevels(const config::Plan& plan, const config::Current& current) {
    for (const StoredLimits& stored : current.limits) put(stored.level, &stored.limits);
    for (const CatalogChange& step : plan.steps) {
      if (const auto* const set = std::get_if<SetLimits>(&step)) put(set->level, &set->limits);
      if (const auto* const deleted = std::get_if<DeleteLimits>(&step)) put(deleted->level, nullptr);
      if (const auto* const gone = std::get_if<DeleteEntity>(&step))
        put(Level::entity_default(gone->id), nullptr);
    }
  }

  StoredLevels levels() const {
    return {[this](const Level& level) -> std::optional<std::vector<NamedLimit>> {
              const auto found = limits_.find(key_of(level));
              if (found == limits_.end() || found->second.limits == nullptr) return std::nullopt;
              return *found->second.limits;
            },
            {},
            [this] { return resources(); }};
  }

 private:
  struct Entry {
    Level level;
    const std::vector<NamedLimit>* limits;
  };

  static std::string key_of(const Level& level) { return join(level.entity(), " ", level.resource()); }
  void put(const Level& level, const std::vector<NamedLimit>* limits) {
    if (level.kind() != Source::entity) limits_.insert_or_assign(key_of(level), Entry{level, limits});
  }
  std::vector<LevelLimits> resources() const {
    constexpr std::size_t most = 100;
    std::vector<LevelLimits> found;
    for (const auto& [key, entry] : limits_) {
      if (entry.level.kind() == Source::resource && entry.limits != nullptr && found.size() < most)
        found.push_back({entry.level, *entry.limits});
    }
    return found;
  }

  std::unordered_map<std::string, Entry> limits_;
};

}  // namespace

std::vector<HiddenLimits> find_hidden(const LevelLimits& set, const StoredLevels& stored) {
  std::vector<HiddenLimits> hidden;
  const auto look = [&](std::string of, const std::vector<NamedLimit>& limits) {
    auto missing = unnamed_in(set.limits, limits);
    if (!missing.empty()) hidden.push_back({std::move(of), std::move(missing)});
  };
  const auto look_at = [&](const Level& level) {
    const auto limits = stored.find(level);
    if (limits) look(level_text(level), *limits);
    return limits.has_value();
  };
  const auto plan_of = [&] {
    return stored.plan_of ? stored.plan_of(set.level.entity()) : std::optional<LimitsPlan>();
  };
  const auto look_at_plan = [&](const LimitsPlan& plan) {
    if (const auto own = plan.resources.find(set.level.resource()); own != plan.resources.end())
      return look(join("plan ", plan.name, " on ", own->first), own->second.limits), true;
    if (!plan.limits.limits.empty()) look(join("plan ", plan.name), plan.limits.limits);
    return !plan.limits.limits.empty();
  };
  switch (set.level.kind()) {
    case Source::entity: {
      if (look_at(Level::entity_default(set.level.entity()))) break;
      if (const auto plan = plan_of(); plan && look_at_plan(*plan)) break;
      if (!look_at(Level::resource(set.level.resource()))) look_at(Level::system());
      break;
    }
    case Source::entity_default: {
      const auto plan = plan_of();
      if (plan) {
        look_at_plan(*plan);
        for (const auto& [resource, own] : plan->resources)
          look(join("plan ", plan->name, " on ", resource), own.limits);
      }
      if (plan && !plan->limits.limits.empty()) break;
      look_at(Level::system());
      for (const LevelLimits& resource : stored.resources())
        look(level_text(resource.level), resource.limits);
      break;
    }
    case Source::resource:
      look_at(Level::system());
      break;
    default:
      break;
  }
  return hidden;
}

void warn_of_hidden(const Session& session, client::Target& target, const StoredLimits& set) {
  StoredLevels stored;
  stored.find = [&](const Level& level) -> std::optional<std::vector<NamedLimit>> {
    auto found = target.limits(level);
    if (!found) return std::nullopt;
    return std::move(found->limits);
  };
  stored.plan_of = [&](const std::string& id) -> std::optional<LimitsPlan> {
    const auto entity = target.entity(id);
    if (!entity || entity->plan.empty()) return std::nullopt;
    auto plan = target.plan(entity->plan);
    return plan ? std::optional(*std::move(plan)) : std::nullopt;
  };
  stored.resources = [&] {
    std::vector<LevelLimits> resources;
    if (const auto page = target.list_limits({.level = Source::resource}, {})) {
      for (const StoredLimits& limits : page->items) resources.push_back({limits.level, limits.limits});
    }
    return resources;
  };
  const auto hidden = find_hidden({set.level, set.limits}, stored);
  for (std::size_t i = 0; i < std::min(hidden.size(), most_shown); ++i) {
    const auto& [of, limits] = hidden[i];
    session.warn(join("these limits hide ", names_of(limits), " of ", of,
                      ", since a level replaces the whole set; to keep ", limits.size() == 1 ? "it" : "them",
                      ", use --inherit, or add ", options_for(limits)));
  }
  if (hidden.size() > most_shown)
    session.warn(
        join("limits of ", std::to_string(hidden.size() - most_shown), " more levels are hidden too"));
}

void note_hidden(const Session& session, const config::Plan& plan, const config::Current& current) {
  constexpr std::size_t most_examined = 1000;
  if (plan.steps.empty()) return;
  const PlannedLevels planned(plan, current);
  const StoredLevels stored = planned.levels();
  std::size_t shown = 0;
  std::size_t examined = 0;
  for (const CatalogChange& step : plan.steps) {
    const auto* const set = std::get_if<SetLimits>(&step);
    if (set == nullptr || set->options.inherit) continue;
    if (++examined > most_examined) break;
    for (const HiddenLimits& hidden : find_hidden({set->level, set->limits}, stored)) {
      if (shown++ == most_shown) return session.note("other levels of the file hide limits too");
      session.note(join("the limits of ", level_text(set->level), " hide ", names_of(hidden.limits), " of ",
                        hidden.of, ", since a level without \"inherit: true\" replaces the whole set"));
    }
  }
}

}  // namespace weir::cli
