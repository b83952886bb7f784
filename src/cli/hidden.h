// Limits that a level hides from the levels below it: a level replaces the whole set of limits unless it
// inherits.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/session.h"
#include "config/plan.h"
#include "weir/catalog.h"
#include "weir/level.h"
#include "weir/limit.h"

namespace weir::cli {

struct LevelLimits {
  Level level;
  std::vector<NamedLimit> limits;
};

/// Limits that a level hides, and a text for the level that has them.
struct HiddenLimits {
  std::string of;
  std::vector<NamedLimit> limits;
};

/// The levels that are stored.
struct StoredLevels {
  /// The limits of a level; nothing if it has none.
  std::function<std::optional<std::vector<NamedLimit>>(const Level& level)> find;
  /// The plan of an entity; nothing if it has none.
  std::function<std::optional<LimitsPlan>(const std::string& entity)> plan_of;
  /// Resources that have limits; need not be all.
  std::function<std::vector<LevelLimits>()> resources;
};

/// For each lower level that `set` hides: its limits that `set` does not name.
std::vector<HiddenLimits> find_hidden(const LevelLimits& set, const StoredLevels& stored);

/// Warns of the limits that were hidden by setting these. Errors are ignored: the limits are set.
void warn_of_hidden(const Session& session, client::Target& target, const StoredLimits& set);

/// Prints a note for the first levels of a plan that hide limits.
void note_hidden(const Session& session, const config::Plan& plan, const config::Current& current);

}  // namespace weir::cli
