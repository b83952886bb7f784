// Writes limits, plans, entities and the audit as rows of the file.
#pragma once

#include <string>
#include <string_view>

#include "limits/plan.h"
#include "limits/record.h"
#include "store/catalog.h"
#include "store/sqlite/database.h"

namespace weir::sqlite {

/// Each call writes within the caller's transaction. Bound to a connection; not safe for concurrent use.
class CatalogRows {
 public:
  explicit CatalogRows(Database& database);

  Result<void> write_limits(std::string_view name_space, const Level& level,
                            const limits::LimitsRecord& record);
  /// An empty record deletes the plan.
  Result<void> write_plan(std::string_view name_space, const std::string& name,
                          const limits::PlanRecordRef& plan);
  Result<void> write_entity(std::string_view name_space, const Entity& entity);
  Result<void> delete_entity(std::string_view name_space, std::string_view id);
  Result<void> write_event(std::string_view name_space, const store::AuditEvent& event);
  /// Keeps earlier programs from opening the file.
  Result<void> require_client(int version) {
    return require_client_.begin().bind(std::int64_t{version}).run();
  }

 private:
  /// The key of a row of limits.
  struct LimitsRow {
    std::string_view name_space;
    std::string_view entity;
    std::string_view resource;
    bool from_file = false;  ///< of the plan that it belongs to
  };
  Result<void> write_limits(const LimitsRow& at, const limits::LimitsRecord& record);

  Statement upsert_limits_;
  Statement require_client_;
  Statement upsert_entity_;
  Statement delete_entity_;
  Statement delete_sets_;
  Statement add_event_;
};

}  // namespace weir::sqlite
