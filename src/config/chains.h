// Chains of parents among many entities at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"

namespace weir::config {

/// Values in a list of parents: no parent, and a parent outside the list, which has none itself.
inline constexpr std::int32_t no_parent = -1;
inline constexpr std::int32_t parent_outside = -2;
/// The depth of an entity in a cycle, or below one.
inline constexpr std::uint32_t in_cycle = 0;

/// The length of the chain of each entity, itself included. `parents` holds the index of each entity's
/// parent.
std::vector<std::uint32_t> depths(std::span<const std::int32_t> parents);

/// Every cycle once: its members from child to parent, without repeating the first.
std::vector<std::vector<std::int32_t>> cycles(std::span<const std::int32_t> parents);

/// "a, b, c, a", or "a, b, ..., a" if it is long; `name` returns the name of an index.
template <class Name>
std::string cycle_text(std::span<const std::int32_t> cycle, Name&& name) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < cycle.size() && i < shown; ++i) text += base::join(name(cycle[i]), ", ");
  if (cycle.size() > shown) text += "..., ";
  return text + std::string(name(cycle.front()));
}

}  // namespace weir::config
