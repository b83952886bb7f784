// Where limits are stored, and which owner they have.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "weir/detail/export.h"

namespace weir {

/// Which level the limits of a bucket came from, strongest first. The first level that has limits replaces
/// the whole set of the levels below it, unless it inherits (SetLimitsOptions::inherit): then limits that it
/// does not name come from the next level.
enum class Source : unsigned char {
  entity,          ///< stored for this entity on this resource
  entity_default,  ///< stored for this entity on every resource
  plan,            ///< of the plan that the entity has: its set for the resource, then its set for all
  resource,        ///< stored for this resource
  system,          ///< stored for everything
  request,         ///< sent with the request
};

/// The owner of stored limits. An operator's write replaces limits of sync, never the other way. Sync is a
/// program that copies limits from elsewhere; it can own only an entity's limits.
enum class Owner : unsigned char { operator_, sync };

/// "entity", "entity_default", "plan", "resource", "system" or "request".
WEIR_API const char* name_of(Source source);
/// "operator" or "sync".
WEIR_API const char* name_of(Owner owner);

/// One place where limits can be stored. Names are checked by the call that takes the level.
class Level {
 public:
  /// For everything.
  static Level system() { return Level(Source::system, {}, {}); }
  /// For every entity on this resource.
  static Level resource(std::string_view resource) { return Level(Source::resource, {}, resource); }
  /// For this entity on this resource.
  static Level entity(std::string_view entity, std::string_view resource) {
    return Level(Source::entity, entity, resource);
  }
  /// For this entity on every resource for which the entity has no limits of its own.
  static Level entity_default(std::string_view entity) { return Level(Source::entity_default, entity, {}); }

  Source kind() const { return kind_; }
  const std::string& entity() const { return entity_; }
  const std::string& resource() const { return resource_; }
  friend bool operator==(const Level&, const Level&) = default;

 private:
  Level(Source kind, std::string_view entity, std::string_view resource)
      : kind_(kind), entity_(entity), resource_(resource) {}

  Source kind_;
  std::string entity_;
  std::string resource_;
};

}  // namespace weir
