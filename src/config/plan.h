// From what is stored to what a limits file says: which changes to make. Pure; the caller lists what is
// stored (Limiter::list_limits, Limiter::entities) and makes the steps (Limiter::change).
//
// What is as the file says is left alone, whoever made it. What differs is changed and marked as the file's.
// What the file does not name is removed if it bears that mark, and stays otherwise.
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
};

enum class ChangeKind : unsigned char { add, change, remove };

/// "add", "change" or "remove".
const char* name_of(ChangeKind kind);

/// One difference between what is stored and what the file says, for people.
struct Change {
  ChangeKind kind;
  std::string subject;      ///< "system", "resource gpt-4", "entity key-1", "entity key-1 on gpt-4"
  std::string before = {};  ///< "rpm 100/min, tpm 50000/min:60000", "parent org, cascade on"; empty: absent
  std::string after = {};   ///< the same; empty: absent
  std::string note = {};    ///< what else to know, such as "takes the limits from sync"; mostly empty
  std::size_t step = 0;     ///< which of the plan's steps makes it; counted from 0
};

/// What to do, and what was found.
struct Plan {
  /// To show: system, resources, then entities by name, each before its limits.
  std::vector<Change> changes = {};
  /// To make, in this order and all in one call of Limiter::change. Not one per change: deleting an entity
  /// takes its limits along, and an entity may have to leave its parent before it can get another.
  std::vector<CatalogChange> steps = {};
  /// What stays although the file no longer names it, and why; a sentence each.
  std::vector<std::string> kept = {};
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t removed = 0;
  std::size_t unchanged = 0;  ///< named by the file and as it says

  bool empty() const { return changes.empty(); }
};

/// Compares. Fails with conflict where the file and what is stored beside it would together make a cycle of
/// parents or a chain that is too long.
Result<Plan> make_plan(const Desired& desired, const Current& current);

/// "3 to add, 1 to change, 2 to remove, 10 unchanged".
std::string summary(const Plan& plan);

}  // namespace weir::config
