// Changes to the catalog of one namespace that are checked and computed, but not applied yet.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "store/catalog.h"
#include "store/table/name_sets.h"

namespace weir::table {

/// The catalog of one namespace.
struct Tenant {
  std::map<std::string, limits::LimitsRecordRef, std::less<>> limits;  ///< by level_key()
  std::map<std::string, Entity, std::less<>> entities;
  NameSets children;
  std::map<std::string, limits::PlanRecordRef, std::less<>> plans;
  NameSets members;  ///< of plans
  /// Entities whose stored record cannot be used, with a sentence that says so. They are among `entities`
  /// too, with nothing but their plan, so that a put or a delete replaces them.
  std::map<std::string, std::string, std::less<>> bad_entities = {};
  std::deque<store::AuditEvent> audit;  ///< oldest first
};

/// Sorts the levels of one entity together.
std::string level_key(Source kind, std::string_view entity, std::string_view resource);
inline std::string level_key(const Level& level) {
  return level_key(level.kind(), level.entity(), level.resource());
}
/// Requires a key of level_key().
Level level_of(std::string_view key);
/// Whether a key that a store returned is one of level_key().
bool is_level_key(std::string_view key);
/// For messages: "resource "gpt-4"".
std::string described(const Level& level);

/// The error for a change of parent or cascade while the entity has buckets.
Error has_buckets(std::string_view entity);

/// The error for a plan that is not there.
Error no_plan(std::string_view name);

/// For the operator: an entity names a plan that is not there. Only another program can have written that.
std::string missing_plan(std::string_view name_space, std::string_view entity, std::string_view plan);

/// The records of all levels for a bucket.
limits::Levels levels_of(const Tenant& tenant, std::string_view entity, std::string_view resource);

/// Not safe for concurrent use; the catalog's lock guards it.
class Draft {
 public:
  /// `last_stamp`: every stamp made here is later. The tenant must not change during the draft's life.
  Draft(const Tenant& tenant, Time now, Time last_stamp)
      : tenant_(tenant), now_(now), last_stamp_(last_stamp) {}

  /// Fails as store::Catalog::change does, except for conditions on buckets.
  Result<store::Changed> add(const store::Change& change);
  /// Adds all changes; an error names the one that failed. `tell(done)` is called now and then with the
  /// progress.
  Result<std::vector<store::Changed>> add_all(std::span<const store::Change> changes,
                                              const std::function<void(std::size_t done)>& tell);

  /// Limits and entities that differ after the changes; an empty entity was erased.
  const std::map<std::string, limits::LimitsRecordRef>& limits() const { return limits_; }
  const std::map<std::string, std::optional<Entity>>& entities() const { return entities_; }
  /// Plans that differ after the changes; an empty one was deleted.
  const std::map<std::string, limits::PlanRecordRef>& plans() const { return plans_; }
  /// The events of the audit, with ids that follow `audited_to` and `sequence`.
  std::vector<store::AuditEvent> sign(std::string_view principal, Time audited_to,
                                      std::uint64_t sequence) const;
  /// Entities whose parent or cascade changes: they must not have a bucket.
  std::vector<std::string> moved() const;
  /// Entities that get another plan, or lose theirs: their buckets adopt that at once.
  std::vector<std::string> reassigned() const;
  /// Entities whose buckets are deleted.
  const std::set<std::string>& erased() const { return erased_; }
  Time last_stamp() const { return last_stamp_; }
  /// The record of a level after the changes; may be empty.
  limits::LimitsRecordRef record(const std::string& key) const;
  /// The records of all levels for a bucket after the changes.
  limits::Levels levels(std::string_view entity, std::string_view resource) const;
  /// The limits that an existing bucket adopts with the changes. Without limits, it adopts nothing.
  base::Ref<limits::Resolution> resolve_adopted(std::string_view entity, std::string_view resource, Time at,
                                                int multiplier) const;
  /// A plan as it is after the changes; may be empty.
  limits::PlanRecordRef plan(std::string_view name) const;
  /// An entity as it is after the changes; null if there is none.
  const Entity* entity(std::string_view id) const;

  /// Applies the changes.
  void merge_into(Tenant& tenant) &&;

 private:
  Result<store::Changed> apply(const store::LimitsWrite& write);
  Result<store::Changed> apply(const store::EntityPut& put);
  Result<store::Changed> apply(const store::EntityErase& erase);
  Result<store::Changed> apply(const store::PlanPut& put);
  Result<store::Changed> apply(const store::PlanErase& erase);
  Result<store::Changed> apply(const store::AccessWrite& write);
  Result<store::Changed> apply(const store::NamespaceWrite& write);
  Result<store::Changed> apply(const store::AuditNote& note);
  Result<void> set_rule(Entity& next, const AccessRule& rule);

  bool reassigned(std::string_view id) const;
  /// Checks the plan of an entity that is put, and gives it a stamp if it changes.
  Result<void> assign_plan(Entity& next, const Entity* old);
  void leave_plan(const Entity& erased);
  /// Later than every stamp before.
  Time next_stamp();
  base::Ref<limits::LimitsRecord> next_record(const limits::LimitsRecordRef& old, limits::LimitSetRef limits,
                                              Time stamp);
  std::size_t height(std::string_view id, std::size_t enough) const;
  Result<void> check_chain(const Entity& entity) const;
  limits::LimitsRecordRef write(const std::string& key, const limits::LimitsRecordRef& old,
                                const store::LimitsWrite& write);
  void delete_limits_of(const std::string& id);

  const Tenant& tenant_;
  const Time now_;
  Time last_stamp_;
  std::map<std::string, limits::LimitsRecordRef> limits_;
  std::map<std::string, std::optional<Entity>> entities_;
  std::map<std::string, limits::PlanRecordRef> plans_;
  NameSetChanges children_;
  NameSetChanges members_;
  std::vector<store::AuditEvent> events_;
  std::set<std::string> erased_;
};

}  // namespace weir::table
