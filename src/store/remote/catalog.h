// The catalog of a remote store: the common part of Redis and DynamoDB. A store implements listing of names,
// and reading of records and entities.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lock.h"
#include "bucket/state.h"
#include "store/catalog.h"
#include "store/client_version.h"
#include "store/remote/catalog_cache.h"

namespace weir::remote {

/// Names that a store keeps in order.
struct Listing {
  enum class Of : unsigned char { limits, entities, children, plans, members };
  Of of = Of::limits;            ///< keys of table::level_key(), ids, or names of plans
  std::string owner = {};        ///< the parent of children, the plan of members
  std::string begins_with = {};  ///< what the names begin with
};

/// Safe to use from any thread. Changes and listings block their caller and complete on its thread; called
/// from a completion on the client's thread, they fail.
class Catalog : public store::Catalog {
 public:
  void change(const store::Changes& changes, store::Completion<std::vector<store::Changed>> done) final;
  void mark(std::string_view name_space, store::Completion<limits::NamespaceMark> done) final;
  void list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                   const store::Paging& paging,
                   store::Completion<store::Page<store::StoredLimitsItem>> done) final;
  void entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) final;
  void children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                store::Completion<store::Page<std::string>> done) final;
  void entities(std::string_view name_space, const store::Paging& paging,
                store::Completion<store::Page<Entity>> done) final;
  void plan(std::string_view name_space, std::string_view name,
            store::Completion<limits::PlanRecordRef> done) final;
  void plans(std::string_view name_space, const store::Paging& paging,
             store::Completion<store::Page<store::StoredPlan>> done) final;
  void members(std::string_view name_space, std::string_view plan, const store::Paging& paging,
               store::Completion<store::Page<std::string>> done) final;
  void audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
             store::Completion<store::Page<store::AuditEvent>> done) final;

  // These block their caller. Names that do not exist are left out.
  virtual Result<store::Page<std::string>> list(std::string_view name_space, const Listing& listing,
                                                const store::Paging& paging) = 0;
  virtual Result<std::map<std::string, limits::LimitsRecordRef>> limits_by_key(
      std::string_view name_space, const std::set<std::string>& keys) = 0;
  /// A record that cannot be used is an error that names it.
  using EntitiesById = std::map<std::string, Result<Entity>>;
  virtual Result<EntitiesById> entities_by_id(std::string_view name_space,
                                              const std::set<std::string>& ids) = 0;
  /// One that cannot be used has no limits, and says so.
  using PlansByName = std::map<std::string, limits::PlanRecordRef>;
  virtual Result<PlansByName> plans_by_name(std::string_view name_space,
                                            const std::set<std::string>& names) = 0;
  /// Visits events, newest first, from the cursor on until `visit` returns false. An empty subject: all.
  virtual Result<void> for_each_event(std::string_view name_space, std::string_view subject,
                                      const store::Paging& paging,
                                      const std::function<bool(store::AuditEvent event)>& visit) = 0;

 protected:
  /// The cache must outlive the catalog.
  explicit Catalog(CatalogCache& cache) : cache_(cache) {}

  virtual Time now() const = 0;
  virtual Time keep_audit_for() const = 0;
  /// Fails where a change cannot be made at all.
  virtual Result<void> check_may_change() const = 0;
  /// Called before the first use of a feature that earlier programs cannot read. Blocks. Never lowers the
  /// version.
  virtual Result<void> require_client(int version) = 0;
  /// Makes the changes. Called by one thread at a time.
  virtual Result<std::vector<store::Changed>> make_changes(const store::Changes& changes) = 0;

  /// The answer of limits() from a record that was read; empty: there is none.
  Result<limits::LimitsRecordRef> limits_of(std::string_view name_space, const Level& level,
                                            Result<limits::LimitsRecordRef> read);

 private:
  Result<store::Page<store::StoredLimitsItem>> list_limits_now(std::string_view name_space,
                                                               const store::LimitsFilter& filter,
                                                               const store::Paging& paging);
  Result<store::Page<store::StoredPlan>> plans_now(std::string_view name_space, const store::Paging& paging);
  Result<store::Page<std::string>> ids(std::string_view name_space, const Listing& listing,
                                       const store::Paging& paging);
  Result<store::Page<Entity>> entities_now(std::string_view name_space, const store::Paging& paging);

  CatalogCache& cache_;
  base::Mutex changing_;  ///< serializes the changes of this process
  int required_ WEIR_GUARDED_BY(changing_) = store::plain_client;
};

/// Adds an item to a page whose cursor is `name(item)` of its last item. False: the page is full, and another
/// one follows.
template <class T, class Name>
bool add(store::Page<T>& page, std::size_t limit, T item, Name&& name) {
  if (page.items.size() == limit) {
    if (limit > 0) page.next = std::invoke(name, page.items.back());
    return false;
  }
  page.items.push_back(std::move(item));
  return true;
}

}  // namespace weir::remote
