// Limits, plans, entities and the audit in memory.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "base/lock.h"
#include "store/audit.h"
#include "store/catalog.h"
#include "store/table/backing.h"
#include "store/table/draft.h"
#include "store/table/table.h"

namespace weir::table {

/// Safe to use from any thread. Every operation completes inline. Reads are rare: buckets keep their
/// resolution until the generation changes.
class TableCatalog final : public store::Catalog {
 public:
  /// The clock, the table and the backing (may be null) must outlive the catalog. Every change increments
  /// `generation`.
  TableCatalog(const Clock& clock, std::atomic<std::uint64_t>& generation, Table& table, Backing* backing)
      : clock_(clock), generation_(generation), table_(table), backing_(backing) {}

  /// The state of an earlier catalog on the same backing.
  struct Past {
    std::map<std::string, Tenant, std::less<>> tenants;  ///< without children, members and audit
    Time last_stamp = 0;
    std::uint64_t audit_sequence = 0;
    Time audited_to = 0;
  };
  /// Continues from that state. Must be called before anything else.
  void resume(Past past);

  void change(const store::Changes& changes, store::Completion<std::vector<store::Changed>> done) override;
  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;
  void keep_audit_for(Time duration) { keep_audit_for_ = duration; }
  /// Adds the namespaces that have limits, plans or entities.
  void add_namespaces(std::set<std::string>& names);
  /// See store::Store::erase_namespace().
  Result<void> erase_namespace(std::string_view name_space);
  void hold_changes() override { holds_.fetch_add(1, std::memory_order_relaxed); }
  void release_changes() override {
    holds_.fetch_sub(1, std::memory_order_relaxed);
    holds_.notify_all();
  }
  void limits(std::string_view name_space, const Level& level,
              store::Completion<limits::LimitsRecordRef> done) override;
  void mark(std::string_view name_space, store::Completion<limits::NamespaceMark> done) override;
  void list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                   const store::Paging& paging,
                   store::Completion<store::Page<store::StoredLimitsItem>> done) override;
  void entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) override;
  void children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                store::Completion<store::Page<std::string>> done) override;
  void entities(std::string_view name_space, const store::Paging& paging,
                store::Completion<store::Page<Entity>> done) override;
  void plan(std::string_view name_space, std::string_view name,
            store::Completion<limits::PlanRecordRef> done) override;
  void plans(std::string_view name_space, const store::Paging& paging,
             store::Completion<store::Page<store::StoredPlan>> done) override;
  void members(std::string_view name_space, std::string_view plan, const store::Paging& paging,
               store::Completion<store::Page<std::string>> done) override;
  void audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
             store::Completion<store::Page<store::AuditEvent>> done) override;

 private:
  Tenant& tenant(std::string_view name_space) WEIR_REQUIRES(mutex_);
  store::Page<std::string> list_names(std::string_view name_space, NameSets Tenant::* sets,
                                      std::string_view owner, const store::Paging& paging)
      WEIR_EXCLUDES(mutex_);
  Result<std::vector<store::Changed>> change_all(const store::Changes& changes) WEIR_EXCLUDES(mutex_);
  Result<void> hold_still(std::string_view name_space, const Draft& draft) WEIR_REQUIRES(mutex_);
  Result<void> adopt(std::string_view name_space, const Draft& draft, Time now, int multiplier)
      WEIR_REQUIRES(mutex_);
  void put_in_place(const store::Changes& changes, Draft& draft, std::vector<store::AuditEvent>& events,
                    Time now) WEIR_REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<std::uint64_t>& generation_;
  Table& table_;
  Backing* const backing_;
  std::atomic<Time> keep_audit_for_{store::keep_audit_for_by_default};
  std::atomic<int> holds_{0};  // decisions that wait for changes to pause
  base::Mutex mutex_;
  std::map<std::string, Tenant, std::less<>> tenants_ WEIR_GUARDED_BY(mutex_);
  Time last_stamp_ WEIR_GUARDED_BY(mutex_) = 0;
  std::uint64_t audit_sequence_ WEIR_GUARDED_BY(mutex_) = 0;
  Time audited_to_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::table
