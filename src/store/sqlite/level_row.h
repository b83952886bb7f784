// A level as columns of a row: the system level has neither entity nor resource; an entity's default has the
// resource `_default_`, which is no valid name of a resource.
#pragma once

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

}  // namespace weir::sqlite
