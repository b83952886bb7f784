// The changes that lead from the stored state to that of a limits file. Pure; the caller lists the stored
// state (Limiter::list_limits, Limiter::entities, Limiter::plans) and makes the steps (Limiter::change).
//
// Limits and entities that match the file are left alone, whatever their origin. Those that differ are
// changed and marked as the file's. Those that the file does not name are removed if they have that mark.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/limits_file.h"
#include "weir/catalog.h"
#include "weir/entity.h"
#include "weir/result.h"

namespace weir::config {

/// Everything that is stored in the namespace.
struct Current {
  std::vector<StoredLimits> limits;
  std::vector<Entity> entities;
  std::vector<LimitsPlan> plans = {};
};

enum class ChangeKind : unsigned char { add, change, remove };

/// "add", "change" or "remove".
const char* name_of(ChangeKind kind);

/// One difference between the stored state and the file, as text.
struct Change {
  ChangeKind kind;
  std::string subject;      ///< "system", "resource gpt-4", "plan pro on gpt-4", "entity key-1 on gpt-4"
  std::string before = {};  ///< "rpm 100/min, tpm 50000/min:60000", "parent org, cascade on"; empty: absent
  std::string after = {};   ///< the same; empty: absent
  std::string note = {};    ///< a remark, such as "takes the limits from sync"; usually empty
  std::size_t step = 0;     ///< the index of the plan's step that makes it
};

/// The changes to show, and the steps that make them.
struct Plan {
  /// To show: system, resources, plans, then entities by name, each before its limits.
  std::vector<Change> changes = {};
  /// To make, in this order and all in one call of Limiter::change. Not one per change: deleting an entity
  /// takes its limits along, and an entity may have to leave its parent before it can get another.
  std::vector<CatalogChange> steps = {};
  /// The entities and plans that stay although the file does not name them, and why; a sentence each.
  std::vector<std::string> kept = {};
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t removed = 0;
  std::size_t unchanged = 0;  ///< named by the file and stored as it says

  bool empty() const { return changes.empty(); }
};

/// Compares. Fails with conflict if the file and the other stored entities together would make a cycle of
/// parents or a chain that is too long, and if an entity names a plan that neither of the two has.
Result<Plan> make_plan(const Desired& desired, const Current& current);

/// "3 to add, 1 to change, 2 to remove, 10 unchanged".
std::string summary(const Plan& plan);

}  // namespace weir::config
