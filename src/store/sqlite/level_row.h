// A level as columns of a row: the system level has neither entity nor resource; an entity's default has the
// resource `_default_`, which is no valid name of a resource. The sets of a plan are rows, too: their entity
// is `plan NAME`, which is no valid name of an entity.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/level.h"

namespace weir::sqlite {

inline constexpr std::string_view default_resource = "_default_";

inline std::string_view resource_of_row(const Level& level) {
  return level.kind() == Source::entity_default ? default_resource : std::string_view(level.resource());
}

inline Level level_of_row(std::string_view entity, std::string_view resource) {
  if (!entity.empty())
    return resource == default_resource ? Level::entity_default(entity) : Level::entity(entity, resource);
  return resource.empty() ? Level::system() : Level::resource(resource);
}

inline constexpr std::string_view plan_prefix = "plan ";

inline std::string entity_of_plan(std::string_view plan) {
  return std::string(plan_prefix) + std::string(plan);
}

/// The plan that a row is about; nothing: it is about another level.
inline std::optional<std::string_view> plan_of_row(std::string_view entity) {
  if (!entity.starts_with(plan_prefix)) return std::nullopt;
  return entity.substr(plan_prefix.size());
}

}  // namespace weir::sqlite
