// An entity: the one that is charged.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "weir/clock.h"

namespace weir {

/// An API key, a user, a project, a client address. It need not be stored to be charged; storing it gives
/// it a parent. With cascade on, a charge also falls on the parent, and so on upward.
struct Entity {
  std::string id;
  std::string parent = {};  ///< empty: none
  bool cascade = false;
  std::string name = {};  ///< for display
  std::map<std::string, std::string> metadata = {};
  Time created_at = 0;  ///< set by the store
  /// Put by applying a limits file. A later version of the file that does not name it may delete it.
  bool from_file = false;
  std::string plan = {};  ///< the plan whose limits hold where the entity has none of its own; empty: none
  Time plan_stamp = 0;    ///< when it was given its plan, or lost it; 0: it never had one. Set by the store
  friend bool operator==(const Entity&, const Entity&) = default;
};

}  // namespace weir
