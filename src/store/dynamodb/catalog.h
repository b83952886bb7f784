// Limits, entities and the audit in DynamoDB.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/lock.h"
#include "store/dynamodb/context.h"
#include "store/dynamodb/start_up.h"
#include "store/remote/catalog.h"

namespace weir::dynamodb {

/// Safe to use from any thread. find() does not block; everything else blocks its caller.
class DynamoCatalog final : public remote::Catalog {
 public:
  DynamoCatalog(Context& context, const StartUp& start_up)
      : remote::Catalog(context.memory), context_(context), start_up_(start_up) {}

  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;
  void limits(std::string_view name_space, const Level& level,
              store::Completion<limits::LimitsRecordRef> done) override;
  Result<store::Page<std::string>> list(std::string_view name_space, const remote::Listing& listing,
                                        const store::Paging& paging) override;
  Result<std::map<std::string, limits::LimitsRecordRef>> limits_by_key(
      std::string_view name_space, const std::set<std::string>& keys) override;
  Result<EntitiesById> entities_by_id(std::string_view name_space, const std::set<std::string>& ids) override;
  Result<PlansByName> plans_by_name(std::string_view name_space, const std::set<std::string>& names) override;
  Result<void> for_each_event(std::string_view name_space, std::string_view subject,
                              const store::Paging& paging,
                              const std::function<bool(store::AuditEvent event)>& visit) override;

  Result<void> require_client(int version) override;

 private:
  /// The keys of entities' limits that the index has, sorted: also of records that other programs wrote,
  /// which are not in our listing. A first page reads the index, the following ones use what it had.
  Result<std::vector<std::string>> indexed_limits(std::string_view name_space, bool first_page);
  /// The keys of one entity's limits, sorted.
  Result<std::vector<std::string>> limits_of_entity(std::string_view name_space, std::string_view prefix);

  Time now() const override { return context_.now(); }
  Time keep_audit_for() const override { return start_up_.keep_audit_for(); }
  Result<void> check_may_change() const override;
  Result<std::vector<store::Changed>> make_changes(const store::Changes& changes) override;

  Context& context_;
  const StartUp& start_up_;
  base::Mutex indexed_mutex_;
  /// By namespace.
  std::map<std::string, std::vector<std::string>, std::less<>> indexed_ WEIR_GUARDED_BY(indexed_mutex_);
};

}  // namespace weir::dynamodb
