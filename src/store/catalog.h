// The catalog of a store: limits, plans, entities and the audit of their changes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limits/names.h"
#include "limits/plan.h"
#include "limits/record.h"
#include "limits/resolution.h"
#include "store/completion.h"
#include "weir/catalog.h"
#include "weir/entity.h"
#include "weir/level.h"

namespace weir::store {

/// Everything that is stored about one bucket's limits and its place in the chain, read in one step.
struct Found {
  limits::Levels levels;
  std::string parent;                   ///< the next entity of the chain; empty: the chain ends here
  std::string above = {};               ///< the entity's parent, whether charges cascade to it or not
  std::vector<AccessRule> access = {};  ///< of the entity
  std::string plan;                     ///< of the entity; empty: none
  std::string alias = {};               ///< that a gateway charges in place of the entity; empty: none
  std::uint64_t generation = 0;         ///< grows with every change of the catalog, in stores that count them
  Time now = 0;                         ///< by the store's clock
  bool is_entity = false;               ///< the entity has a record that was put

  /// Takes over what the record of the entity says.
  void take(const Entity& entity) {
    is_entity = !entity.access_only;
    if (entity.cascade) parent = entity.parent;
    above = entity.parent;
    access = entity.access;
    plan = entity.plan;
    alias = limits::alias_of(entity);
    levels.plan_stamp = entity.plan_stamp;
  }
  /// Whether the store has anything about the entity: a record, or limits of its own.
  bool known() const {
    const auto in_force = [this](const limits::LimitsRecordRef& record) {
      return record && !record->absent(now);
    };
    return is_entity || in_force(levels[0]) || in_force(levels[1]);
  }
};

/// Limits to be written at one level. No limits: deleted.
struct LimitsWrite {
  Level level;
  limits::LimitSetRef limits = {};
  Owner owner = Owner::operator_;
  std::optional<Time> expires_in = {};
  std::optional<Time> expires_at = {};  ///< in place of expires_in
  std::optional<Time> replaces = {};    ///< the stamp of the limits in force, if there are any
  std::optional<int> bucket_ttl_refill_multiplier = {};
  std::optional<OnUnavailable> on_unavailable = {};
  std::optional<bool> usage = {};
  bool from_file = false;
  bool inherit = false;
};

/// An entity to be put.
struct EntityPut {
  Entity entity;
};

/// An entity to be deleted, with its limits and buckets.
struct EntityErase {
  std::string id;
};

/// One set of limits of a plan; no limits: the plan has no such set.
struct PlanSet {
  limits::LimitSetRef limits = {};
  bool inherit = false;
};

/// A plan to be put, in place of everything that was stored under its name.
struct PlanPut {
  std::string name;
  PlanSet on_all = {};
  std::map<std::string, PlanSet, std::less<>> resources = {};
  bool from_file = false;
};

/// A plan to be deleted.
struct PlanErase {
  std::string name;
};

/// A rule of access to be set, in place of the one of its kind for its resource, or to be removed.
struct AccessWrite {
  std::string entity;
  AccessRule rule;
  bool removes = false;
};

/// A change of the namespace itself.
struct NamespaceWrite {
  enum class Verb { create, purge, restore };
  Verb verb = Verb::create;
  Time keep_for = 0;  ///< of a purge: for how long it can be restored
};

/// The action of the event that follows a grant.
inline constexpr std::string_view granted_action = "entity.grant";

/// An event for the audit, of something that is no change of the catalog. `after` is JSON.
struct AuditNote {
  std::string subject;
  std::string action;
  std::string resource;
  std::string after;
};

using Change = std::variant<LimitsWrite, EntityPut, EntityErase, PlanPut, PlanErase, AccessWrite,
                            NamespaceWrite, AuditNote>;

/// Changes that happen together or not at all, and their principal.
struct Changes {
  std::string_view name_space;
  std::string_view principal;
  std::span<const Change> changes;
  const ChangeOptions& options;
  int ttl_multiplier = limits::default_ttl_multiplier;  ///< of the limiter, where no level has one
};

/// The results of the changes, in order: limits for LimitsWrite and, of the system level, for NamespaceWrite;
/// the entity for EntityPut and AccessWrite; the plan for PlanPut.
struct Changed {
  limits::LimitsRecordRef limits = {};
  bool taken_from_sync = false;  ///< an operator's limits replaced those of sync
  std::optional<Entity> entity = {};
  limits::PlanRecordRef plan = {};
};

using weir::AuditEvent;
using weir::LimitsFilter;
using weir::Page;
using weir::Paging;

struct StoredLimitsItem {
  Level level;
  limits::LimitsRecordRef record;
};

struct StoredPlan {
  std::string name;
  limits::PlanRecordRef record;
};

class Catalog;

/// Holds changes back from hold() until release() or its destruction.
class ChangesHeld {
 public:
  explicit ChangesHeld(Catalog& catalog) : catalog_(catalog) {}
  ~ChangesHeld() { release(); }
  ChangesHeld(const ChangesHeld&) = delete;
  ChangesHeld& operator=(const ChangesHeld&) = delete;
  void hold();
  void release();

 private:
  Catalog& catalog_;
  bool held_ = false;
};

/// The catalog of a store. Safe to call from any thread.
class Catalog {
 public:
  virtual ~Catalog() = default;

  /// Makes all changes, or none and fails: with not_found where a delete finds nothing; with operator_owned
  /// where a sync write meets an operator's limits; with conflict on a cycle of parents, a ninth level, a
  /// change of parent or cascade while the entity has a bucket, and the deletion of an entity that has
  /// children or of a plan that has members; with invalid_argument where an entity names a plan that does not
  /// exist. The store checks all of it in the same step as it writes.
  virtual void change(const Changes& changes, Completion<std::vector<Changed>> done) = 0;

  /// Everything that a resolution of this entity and resource needs.
  virtual void find(std::string_view name_space, std::string_view entity, std::string_view resource,
                    Completion<Found> done) = 0;

  /// New changes wait until every hold is released; those under way continue. For a decision whose plan went
  /// out of date too often. Stores that are shared between processes do not need it: changes are too rare
  /// there.
  virtual void hold_changes() {}
  virtual void release_changes() {}

  virtual void limits(std::string_view name_space, const Level& level,
                      Completion<limits::LimitsRecordRef> done) = 0;
  /// The state of a namespace, from the store and not from a cache.
  virtual void mark(std::string_view name_space, Completion<limits::NamespaceMark> done) = 0;
  virtual void list_limits(std::string_view name_space, const LimitsFilter& filter, const Paging& paging,
                           Completion<Page<StoredLimitsItem>> done) = 0;
  virtual void entity(std::string_view name_space, std::string_view id, Completion<Entity> done) = 0;
  virtual void children(std::string_view name_space, std::string_view id, const Paging& paging,
                        Completion<Page<std::string>> done) = 0;
  virtual void entities(std::string_view name_space, const Paging& paging, Completion<Page<Entity>> done) = 0;
  virtual void plan(std::string_view name_space, std::string_view name,
                    Completion<limits::PlanRecordRef> done) = 0;
  virtual void plans(std::string_view name_space, const Paging& paging,
                     Completion<Page<StoredPlan>> done) = 0;
  /// The ids of the entities that have this plan.
  virtual void members(std::string_view name_space, std::string_view plan, const Paging& paging,
                       Completion<Page<std::string>> done) = 0;
  /// Newest first. An empty subject: every one.
  virtual void audit(std::string_view name_space, std::string_view subject, const Paging& paging,
                     Completion<Page<AuditEvent>> done) = 0;
};

inline void ChangesHeld::release() {
  if (held_) catalog_.release_changes();
  held_ = false;
}

inline void ChangesHeld::hold() {
  if (!held_) catalog_.hold_changes();
  held_ = true;
}

}  // namespace weir::store
