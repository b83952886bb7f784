// Limits, entities and the audit in DynamoDB.
#pragma once

#include <mutex>

#include "store/catalog.h"
#include "store/dynamodb/opening.h"
#include "store/dynamodb/site.h"

namespace weir::dynamodb {

/// Safe to use from any thread. What resolutions need is read without blocking; the rest blocks its caller.
class DynamoCatalog final : public store::Catalog {
 public:
  DynamoCatalog(Site& site, const Opening& opening) : site_(site), opening_(opening) {}

  void change(const store::Changes& changes, store::Completion<std::vector<store::Changed>> done) override;
  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;
  void limits(std::string_view name_space, const Level& level,
              store::Completion<limits::LimitsRecordRef> done) override;
  void list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                   const store::Paging& paging,
                   store::Completion<store::Page<store::StoredLimitsItem>> done) override;
  void entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) override;
  void children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                store::Completion<store::Page<std::string>> done) override;
  void entities(std::string_view name_space, const store::Paging& paging,
                store::Completion<store::Page<Entity>> done) override;
  void audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
             store::Completion<store::Page<store::AuditEvent>> done) override;

 private:
  Result<limits::LimitsRecordRef> limits_now(std::string_view name_space, const Level& level);
  Result<store::Page<store::StoredLimitsItem>> list_limits_now(std::string_view name_space,
                                                               const store::LimitsFilter& filter,
                                                               const store::Paging& paging);
  Result<store::Page<Entity>> entities_now(std::string_view name_space, const store::Paging& paging);

  Site& site_;
  const Opening& opening_;
  std::mutex changing_;  ///< changes of this process do not get in each other's way
};

}  // namespace weir::dynamodb
