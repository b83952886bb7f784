// Limits and entities: what an operator has set up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limits/record.h"
#include "limits/resolution.h"
#include "store/completion.h"
#include "weir/entity.h"
#include "weir/level.h"

namespace weir::store {

/// Everything that is stored about one bucket's limits and its place in the chain, read in one step.
struct Found {
  limits::Levels levels;
  std::string parent;            ///< the next entity of the chain; empty: the chain ends here
  std::uint64_t generation = 0;  ///< grows with every change of the catalog, in stores that can tell
  Time now = 0;                  ///< by the store's clock
};

/// A write of limits at one level. No limits: delete.
struct LimitsWrite {
  std::string_view name_space;
  const Level& level;
  limits::LimitSetRef limits;
  Owner owner = Owner::operator_;
  std::optional<Time> expires_in;
  std::optional<int> bucket_ttl_refill_multiplier;
};

/// Limits at the four levels. Safe to call from any thread.
class Limits {
 public:
  virtual ~Limits() = default;
  /// Fails with not_found where a delete finds nothing, and with operator_owned where a sync write meets
  /// an operator's limits; the store checks both in the same step as it writes.
  virtual void write(const LimitsWrite& write, Completion<limits::LimitsRecordRef> done) = 0;
  virtual void read(std::string_view name_space, const Level& level,
                    Completion<limits::LimitsRecordRef> done) = 0;
  /// What a resolution of this entity and resource needs.
  virtual void find(std::string_view name_space, std::string_view entity, std::string_view resource,
                    Completion<Found> done) = 0;
};

/// Entities and their parents. Safe to call from any thread.
class Entities {
 public:
  virtual ~Entities() = default;
  /// Fails with conflict on a cycle, on a ninth level, and where parent or cascade would change while the
  /// entity has a bucket.
  virtual void put(std::string_view name_space, const Entity& entity, Completion<Entity> done) = 0;
  virtual void get(std::string_view name_space, std::string_view id, Completion<Entity> done) = 0;
  /// Takes limits and buckets along; fails with conflict while the entity has children.
  virtual void erase(std::string_view name_space, std::string_view id, Completion<bool> done) = 0;
  virtual void children(std::string_view name_space, std::string_view id,
                        Completion<std::vector<std::string>> done) = 0;
};

}  // namespace weir::store
