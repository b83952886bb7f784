// Reads the fields of an entity from the YAML tree of a limits file.
#pragma once

#include <cstdint>

#include "config/limits_file.h"
#include "config/mapping.h"

namespace weir::config {

/// The nodes of its fields; 0: missing.
struct EntityFields {
  std::uint32_t parent;
  std::uint32_t cascade;
  std::uint32_t name;
  std::uint32_t metadata;
  std::uint32_t plan;
};

/// A field that is true or false.
bool read_flag(MappingReader& in, std::uint32_t id, const Subject& subject, std::string_view name);

DesiredEntity read_entity(MappingReader& in, const Subject& subject, const EntityFields& fields);

}  // namespace weir::config
