// Reading from a YAML tree what a limits file says about an entity itself.
#pragma once

#include <cstdint>

#include "config/limits_file.h"
#include "config/mapping.h"

namespace weir::config {

/// Where its fields are; 0: not mentioned.
struct EntityFields {
  std::uint32_t parent;
  std::uint32_t cascade;
  std::uint32_t name;
  std::uint32_t metadata;
};

DesiredEntity read_entity(MappingReader& in, const Subject& subject, const EntityFields& fields);

}  // namespace weir::config
