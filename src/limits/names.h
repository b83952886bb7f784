// The grammar of names. A name that breaks it is refused before it reaches a store.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/entity.h"
#include "weir/level.h"
#include "weir/result.h"

namespace weir::limits {

/// The most limits that one bucket can have in force.
inline constexpr std::size_t max_limits = 16;
/// The most entities in a chain, the charged one included.
inline constexpr std::size_t max_chain = 8;
inline constexpr std::size_t longest_entity = 256;
inline constexpr std::size_t longest_resource = 128;
/// The most bytes in the name of an entity, and in one entry of its metadata, name and value together.
inline constexpr std::size_t max_entity_text = 1024;
/// The most entries in the metadata of an entity.
inline constexpr std::size_t max_metadata = 64;

Result<void> check_entity(std::string_view name);
Result<void> check_resource(std::string_view name);
Result<void> check_limit_name(std::string_view name);
Result<void> check_namespace(std::string_view name);
Result<void> check_level(const Level& level);
/// The longest key of an adjust, by which it can be repeated.
inline constexpr std::size_t longest_key = 128;
Result<void> check_adjust_key(std::string_view key);
/// Every check of an entity that needs no store.
Result<void> check_entity_record(const Entity& entity);

}  // namespace weir::limits
