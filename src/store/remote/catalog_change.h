// One change of the catalog of a remote store: reads the records that it depends on, drafts it as every store
// does, and writes it under the condition that the namespace's catalog has not changed meanwhile; otherwise
// it starts over.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/remote/catalog.h"
#include "store/table/draft.h"

namespace weir::remote {

/// Blocks. Not safe for concurrent use.
class CatalogChange {
 public:
  virtual ~CatalogChange() = default;
  Result<std::vector<store::Changed>> run();

 protected:
  CatalogChange(Catalog& catalog, const store::Changes& changes)
      : name_space_(changes.name_space), changes_(changes), catalog_(catalog) {}

  /// Counts the changes of a namespace.
  struct Head {
    std::int64_t generation = 0;
    Time stamp = 0;  ///< the last one
    std::int64_t sequence = 0;
    Time audited_to = 0;
  };
  static constexpr int most_attempts = 100;

  /// Begins an attempt: reads head_ and now_. False: start over.
  virtual Result<bool> begin() = 0;
  /// From here on no bucket is created for an entity that moves or is erased.
  virtual Result<void> fence(const table::Draft& draft) = 0;
  /// Removes the fences of a change that did not happen.
  virtual void unfence(bool starts_over) = 0;
  /// Whether an entity has a bucket that has not expired.
  virtual Result<bool> has_bucket(const std::string& entity) = 0;
  /// Further conditions that keep entities from moving.
  virtual Result<void> check_moved(const table::Draft& draft);
  /// Reads the buckets that have to adopt new limits, and the levels that hold for them.
  virtual Result<void> read_buckets(const table::Draft& draft) = 0;
  /// The time for new stamps; called after everything was read.
  virtual Time stamp_at() const { return now_; }
  /// Writes the draft. False: another change was written first, start over.
  virtual Result<bool> commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) = 0;

  Result<void> read_levels(const std::set<std::string>& keys);
  /// Reads the levels that hold for buckets of an entity.
  using ResourcesOfEntities = std::map<std::string, std::vector<std::string>>;
  Result<void> read_levels_of(const ResourcesOfEntities& resources);
  Result<void> read_entities(const std::set<std::string>& ids);
  Result<void> read_plans(const std::set<std::string>& names);
  /// Reads the children of entities, and with `all_below` all descendants.
  Result<void> read_children(const std::set<std::string>& of, bool all_below);
  /// The resolution of a bucket after the change.
  limits::ResolutionRef resolve(const table::Draft& draft, std::string_view entity, std::string_view resource,
                                Time at) const;
  /// The newest stamp of entities that stay and whose limits or plan change, by resource; an empty one: all
  /// of them.
  static std::map<std::string, std::map<std::string, Time>> new_stamps(const table::Draft& draft);
  /// The parent of an entity before the changes; empty: none.
  std::string parent_before(const std::string& entity) const;
  /// The plan of an entity before the changes; empty: none.
  std::string plan_before(const std::string& entity) const;

  const std::string_view name_space_;
  const store::Changes& changes_;
  int attempts_ = 0;
  Time now_ = 0;
  Head head_;
  table::Tenant tenant_;  ///< what was read
  /// Entities that are listed as members of a plan that is deleted, and whose records do not name it: another
  /// program has changed them.
  table::NameSets not_members_;

 private:
  /// Nothing: start over.
  Result<std::optional<std::vector<store::Changed>>> attempt();
  Result<void> read_concerned();
  Result<void> read_ancestors();
  Result<void> read_concerned_plans();
  Result<void> read_members(const std::string& plan);
  Result<void> find_plans_of_damaged();
  /// Whether an entity is listed among the members of a plan.
  Result<bool> is_listed(const std::string& plan, const std::string& entity);
  Result<std::vector<std::string>> list_all(const Listing& listing);
  Result<std::vector<store::Changed>> draft_all(table::Draft& draft);
  void tell(std::size_t done);

  Catalog& catalog_;
  std::set<std::string> levels_read_;    ///< found or not
  std::set<std::string> entities_read_;  ///< the same
  std::set<std::string> plans_read_;     ///< the same
  std::set<std::string> damaged_;        ///< entities whose record cannot be used
  std::size_t told_ = 0;
};

}  // namespace weir::remote
