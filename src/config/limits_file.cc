#include "config/limits_file.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "config/chains.h"
#include "config/entity_reader.h"
#include "config/limits_reader.h"
#include "config/mapping.h"
#include "config/problems.h"
#include "config/yaml_tree.h"
#include "limits/limit_set.h"
#include "limits/names.h"

namespace weir::config {
namespace {

using base::quoted;

constexpr const char* with_limits_example = "{limits: {rpm: 100/min}}";

/// For each entity the index of its parent.
std::vector<std::int32_t> parents_of(const std::vector<DesiredEntity>& entities) {
  std::unordered_map<std::string_view, std::int32_t> index;
  index.reserve(entities.size());
  for (const DesiredEntity& entity : entities)
    index.emplace(entity.id, static_cast<std::int32_t>(index.size()));
  std::vector<std::int32_t> parents;
  parents.reserve(entities.size());
  for (const DesiredEntity& entity : entities) {
    const auto found = index.find(entity.parent);
    parents.push_back(entity.parent.empty()  ? no_parent
                      : found == index.end() ? parent_outside
                                             : found->second);
  }
  return parents;
}

/// Turns a tree into a desired state.
class Reader {
 public:
  Reader(const YamlTree& tree, Problems& problems) : in_(tree, problems) {}

  Desired read() {
    constexpr std::uint32_t root = 0;
    const Subject file{"the file"};
    constexpr std::array<std::string_view, 5> names{"namespace", "system", "resources", "plans", "entities"};
    if (in_.is_empty(root)) {
      in_.problem(
          in_.place(root),
          "the file is empty; write \"resources: {gpt-4: {limits: {rpm: 100/min}}}\", for example, or "
          "\"resources: {}\" to remove everything that was set from a file");
      return {};
    }
    const auto [name_space, system, resources, plans, entities] =
        in_.fields(root, file, names, "{resources: {gpt-4: {limits: {rpm: 100/min}}}}");
    if (name_space != 0) read_namespace(name_space);
    if (system != 0) read_system(system);
    if (resources != 0) read_resources(resources);
    if (plans != 0) read_plans(plans);
    if (entities != 0) read_entities(entities);
    return std::move(out_);
  }

 private:
  void read_namespace(std::uint32_t id) {
    const YamlNode* const node = in_.scalar(id, {"the file"}, "namespace", "a name");
    if (node == nullptr) return;
    if (check(node->place, limits::check_namespace(in_.text(*node)))) out_.name_space = in_.text(*node);
  }

  void read_system(std::uint32_t id) {
    const Subject subject{"the system"};
    constexpr std::array<std::string_view, 5> names{"limits", "on_unavailable",
                                                    "bucket_ttl_refill_multiplier", "usage", "mode"};
    const auto [limits, on_unavailable, multiplier, usage, mode] =
        in_.fields(id, subject, names, with_limits_example);
    if (on_unavailable != 0) read_on_unavailable(on_unavailable, subject);
    if (multiplier != 0) read_multiplier(multiplier, subject);
    read_level(limits, id, subject, Level::system(), {.mode = mode, .usage = usage});
  }

  void read_on_unavailable(std::uint32_t id, const Subject& subject) {
    const YamlNode* const node = in_.scalar(id, subject, "on_unavailable", "allow or deny");
    if (node == nullptr) return;
    const std::string_view text = in_.text(*node);
    if (text == "allow") {
      out_.on_unavailable = OnUnavailable::allow;
    } else if (text == "deny") {
      out_.on_unavailable = OnUnavailable::deny;
    } else {
      in_.problem(node->place, "on_unavailable is ", quoted(text), "; use allow or deny");
    }
  }

  void read_multiplier(std::uint32_t id, const Subject& subject) {
    constexpr const char* name = "bucket_ttl_refill_multiplier";
    const YamlNode* const node = in_.scalar(id, subject, name, "a whole number");
    if (node == nullptr) return;
    const auto value = node->plain ? base::parse_digits(in_.text(*node)) : std::nullopt;
    if (value && *value >= 1 && *value <= std::numeric_limits<int>::max()) {
      out_.bucket_ttl_refill_multiplier = static_cast<int>(*value);
    } else {
      in_.problem(node->place, name, " is ", quoted(in_.text(*node)),
                  "; use a whole number from 1, such as 7");
    }
  }

  void read_resources(std::uint32_t id) {
    if (in_.node(id).kind == NodeKind::nothing) return;
    for (const MappingEntry& entry : in_.entries(id, {"resources"}, "{gpt-4: {limits: {rpm: 100/min}}}")) {
      if (!check(entry.place, limits::check_resource(entry.name))) continue;
      const Subject subject{"resource", entry.name};
      constexpr std::array<std::string_view, 4> names{"limits", "inherit", "mode", "usage"};
      const auto [limits, inherit, mode, usage] =
          in_.fields(entry.value, subject, names, with_limits_example);
      read_level(limits, entry.value, subject, Level::resource(entry.name), {inherit, mode, usage});
    }
  }

  void read_resources_of(std::string_view entity, std::uint32_t id) {
    if (in_.node(id).kind == NodeKind::nothing) return;
    const Subject list = Subject{"entity", entity}.part_of("resources of ");
    for (const MappingEntry& entry : in_.entries(id, list, "{gpt-4: {limits: {rpm: 100/min}}}")) {
      if (entry.name == "_default_") {
        in_.problem(entry.place,
                    "limits of an entity for every resource stand under \"limits\" of the entity ",
                    "itself, not under \"_default_\"");
        continue;
      }
      if (!check(entry.place, limits::check_resource(entry.name))) continue;
      const Subject subject{"entity", entity, entry.name};
      constexpr std::array<std::string_view, 3> names{"limits", "inherit", "mode"};
      const auto [limits, inherit, mode] = in_.fields(entry.value, subject, names, with_limits_example);
      read_level(limits, entry.value, subject, Level::entity(entity, entry.name), {inherit, mode});
    }
  }

  void read_plans(std::uint32_t id) {
    if (in_.node(id).kind == NodeKind::nothing) return;
    for (const MappingEntry& entry : in_.entries(id, {"plans"}, "{pro: {limits: {rpm: 100/min}}}")) {
      if (check(entry.place, limits::check_plan(entry.name))) read_plan(entry);
    }
  }

  void read_plan(const MappingEntry& entry) {
    const Subject subject{"plan", entry.name};
    constexpr std::array<std::string_view, 4> names{"limits", "inherit", "mode", "resources"};
    const auto [limits, inherit, mode, resources] =
        in_.fields(entry.value, subject, names, with_limits_example);
    LimitsPlan plan{.name = std::string(entry.name), .from_file = true};
    const bool has_resources = resources != 0 && !in_.is_empty(resources);
    if (limits != 0 || inherit != 0 || mode != 0 || !has_resources) {
      if (auto set = read_set(limits, entry.value, subject, {inherit, mode})) plan.limits = *std::move(set);
    }
    if (has_resources) read_plan_resources(resources, entry.name, plan);
    out_.plans.push_back(std::move(plan));
  }

  void read_plan_resources(std::uint32_t id, std::string_view name, LimitsPlan& plan) {
    const Subject list = Subject{"plan", name}.part_of("resources of ");
    for (const MappingEntry& entry : in_.entries(id, list, "{gpt-4: {limits: {rpm: 100/min}}}")) {
      if (!check(entry.place, limits::check_resource(entry.name))) continue;
      const Subject subject{"plan", name, entry.name};
      constexpr std::array<std::string_view, 3> names{"limits", "inherit", "mode"};
      const auto [limits, inherit, mode] = in_.fields(entry.value, subject, names, with_limits_example);
      if (auto set = read_set(limits, entry.value, subject, {inherit, mode}))
        plan.resources.emplace(entry.name, *std::move(set));
    }
    if (plan.resources.size() > maxima::plan_resources) {
      in_.problem(in_.place(id), list.text(), " are ", std::to_string(plan.resources.size()),
                  "; the most is ", std::to_string(maxima::plan_resources));
    }
  }

  void read_entities(std::uint32_t id) {
    if (in_.node(id).kind == NodeKind::nothing) return;
    for (const MappingEntry& entry : in_.entries(id, {"entities"}, "{key-1: {limits: {rpm: 100/min}}}")) {
      if (check(entry.place, limits::check_entity(entry.name))) read_one_entity(entry);
    }
    check_chains();
  }

  void read_one_entity(const MappingEntry& entry) {
    const Subject subject{"entity", entry.name};
    if (in_.is_empty(entry.value)) {
      in_.problem(entry.place, subject.text(), " is empty; give it limits or a parent, or remove it");
      return;
    }
    constexpr std::array<std::string_view, 9> names{"limits",  "inherit", "mode", "resources", "parent",
                                                    "cascade", "name",    "plan", "metadata"};
    const auto [limits, inherit, mode, resources, parent, cascade, name, plan, metadata] =
        in_.fields(entry.value, subject, names, with_limits_example);
    out_.entities.push_back(read_entity(in_, subject, {parent, cascade, name, metadata, plan}));
    parent_places_.push_back(in_.place(parent != 0 ? parent : entry.value));
    if (limits != 0 || inherit != 0 || mode != 0)
      read_level(limits, entry.value, subject, Level::entity_default(entry.name), {inherit, mode});
    if (resources != 0) read_resources_of(entry.name, resources);
  }

  /// The values of the fields beside the limits of a level; 0: missing.
  struct BesideLimits {
    std::uint32_t inherit = 0;
    std::uint32_t mode = 0;
    std::uint32_t usage = 0;
  };

  void read_level(std::uint32_t id, std::uint32_t owner, const Subject& subject, const Level& level,
                  const BesideLimits& beside) {
    const std::optional<bool> usage = read_usage(in_, beside.usage, subject);
    if (auto set = read_set(id, owner, subject, beside))
      out_.limits.push_back({level, std::move(set->limits), set->inherit, usage});
  }

  /// `id`: the value of the field; 0: it is missing in `owner`, which must have it.
  std::optional<PlanLimits> read_set(std::uint32_t id, std::uint32_t owner, const Subject& subject,
                                     const BesideLimits& beside) {
    // A value that is no mapping is already reported.
    if (id == 0 && in_.node(owner).kind != NodeKind::mapping) return std::nullopt;
    if (id == 0 || in_.is_empty(id)) {
      in_.problem(in_.place(id == 0 ? owner : id), subject.text(),
                  " has no limits; write \"limits: {rpm: 100/min}\", for example, or remove it");
      return std::nullopt;
    }
    PlanLimits set{.limits = read_limits(in_, id, subject)};
    limits::set_mode(set.limits, read_mode(in_, beside.mode, subject));
    set.inherit = beside.inherit != 0 && read_flag(in_, beside.inherit, subject, "inherit");
    return set;
  }

  /// Parents that the file does not name are checked when the plan is made.
  void check_chains() {
    const std::vector<std::int32_t> parents = parents_of(out_.entities);
    const auto name = [&](std::int32_t index) { return out_.entities[static_cast<std::size_t>(index)].id; };
    for (const auto& cycle : cycles(parents)) {
      in_.problem(parent_places_[static_cast<std::size_t>(cycle.front())], "entity ",
                  quoted(name(cycle.front())), " would be its own ancestor (", cycle_text(cycle, name),
                  "); remove one of these parents");
    }
    const std::vector<std::uint32_t> depth = depths(parents);
    for (std::size_t i = 0; i < depth.size(); ++i) {
      // Entities further down follow from this mistake.
      if (depth[i] != limits::max_chain + 1) continue;
      in_.problem(parent_places_[i], "entity ", quoted(out_.entities[i].id), " would be number ",
                  std::to_string(depth[i]), " of its chain of parents; the most is ",
                  std::to_string(limits::max_chain), ", so choose a parent nearer to the top");
    }
  }

  /// Whether a check succeeded; its error is reported as a problem.
  bool check(FilePosition place, const Result<void>& result) {
    if (!result) in_.problem(place, result.error().message);
    return result.ok();
  }

  MappingReader in_;
  Desired out_;
  std::vector<FilePosition> parent_places_;  ///< of each entity in out_
};

}  // namespace

Result<Desired> read_limits_file(std::string_view text, const ReadOptions& options) {
  Problems problems(options.file);
  const auto tree = YamlTree::read(text, problems, options.progress);
  if (!tree) return problems.error();
  Desired desired = Reader(*tree, problems).read();
  if (!problems.empty()) return problems.error();
  return desired;
}

}  // namespace weir::config
