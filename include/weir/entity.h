// An entity: the one that is charged.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/clock.h"
#include "weir/detail/export.h"

namespace weir {

/// An operator's word about an entity, which wins over limits of every level.
enum class Access : unsigned char {
  blocked,  ///< every acquire is refused, also those of the entity's descendants
  exempt,   ///< no limit refuses the entity's own acquires; they are charged as far as the balances suffice
};

/// "blocked" or "exempt".
WEIR_API const char* name_of(Access access);

/// Blocks an entity, or exempts it from limits.
struct AccessRule {
  Access access = Access::blocked;
  std::string resource = {};       ///< empty: every resource
  std::optional<Time> until = {};  ///< nothing: until it is removed
  std::string reason = {};         ///< for people, in one line
  Time since = 0;                  ///< set by the store
  friend bool operator==(const AccessRule&, const AccessRule&) = default;
};

/// An API key, a user, a project, a client address. It need not be stored to be charged; storing it gives
/// it a parent. With cascade on, a charge also falls on the parent, and so on upward.
struct Entity {
  std::string id;
  std::string parent = {};  ///< empty: none
  bool cascade = false;
  std::string name = {};                             ///< for display
  std::map<std::string, std::string> metadata = {};  ///< `alias`: a gateway charges that entity instead
  Time created_at = 0;                               ///< set by the store
  /// Put by applying a limits file. A later version of the file that does not name it may delete it.
  bool from_file = false;
  std::string plan = {};  ///< the plan whose limits hold where the entity has none of its own; empty: none
  Time plan_stamp = 0;    ///< when it was given its plan, or lost it; 0: it never had one. Set by the store
  /// Set by Limiter::set_access and kept by put_entity: at most one of each kind for each resource.
  std::vector<AccessRule> access = {};
  /// Stored for its access rules only, by an operator who did not put the entity. Set by the store.
  bool access_only = false;
  friend bool operator==(const Entity&, const Entity&) = default;
};

}  // namespace weir
