// The grammar of names. A name that breaks it is refused before it reaches a store.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/maxima.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/result.h"

namespace weir::limits {

/// The most limits that one bucket can have in force.
inline constexpr std::size_t max_limits = maxima::limits;
/// The most entities in a chain, the charged one included.
inline constexpr std::size_t max_chain = maxima::chain;
inline constexpr std::size_t longest_entity = maxima::entity;
inline constexpr std::size_t longest_resource = maxima::resource;
/// The most bytes in the name of an entity, and in one entry of its metadata, name and value together.
inline constexpr std::size_t max_entity_text = maxima::entity_text;
/// The most entries in the metadata of an entity.
inline constexpr std::size_t max_metadata = maxima::metadata;

Result<void> check_entity(std::string_view name);
Result<void> check_resource(std::string_view name);
/// The same characters as a resource.
Result<void> check_plan(std::string_view name);
Result<void> check_limit_name(std::string_view name);
Result<void> check_namespace(std::string_view name);
Result<void> check_level(const Level& level);
/// The longest key of an adjust, by which it can be repeated.
inline constexpr std::size_t longest_key = maxima::adjust_key;
Result<void> check_adjust_key(std::string_view key);
/// Whether the alias in its metadata, if there is one, can be used: the name of another entity.
Result<void> check_alias(const Entity& entity);
/// The entity that the metadata of this one names as its alias; empty: none that can be used.
std::string_view alias_of(const Entity& entity);
/// Every check of an entity that needs no store.
Result<void> check_entity_record(const Entity& entity);

}  // namespace weir::limits
