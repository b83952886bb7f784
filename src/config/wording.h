// Plans as text: the subject of a change, and its state before and after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/catalog.h"
#include "weir/entity.h"
#include "weir/level.h"

namespace weir::config {

/// "system", "resource gpt-4", "entity key-1 on gpt-4", "entity key-1 on _default_".
std::string in_words(const Level& level);

/// "rpm 100/min, tpm 50000/min:60000, on_unavailable allow". Of the options, the settings of the level count.
std::string in_words(const std::vector<NamedLimit>& limits, const SetLimitsOptions& options);

/// `parent org, cascade on, plan pro, name "Search", metadata {"team": "search"}`: the fields that differ
/// from `other`, if given, else those that are set. "no parent" if none is.
std::string in_words(const Entity& entity, const Entity* other = nullptr);

}  // namespace weir::config
