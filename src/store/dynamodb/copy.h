// Reads and writes the content of a table, for copies between stores.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/copy.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/dynamodb/request.h"

namespace weir::dynamodb {

/// Not safe for concurrent use. A read of the content reads the table twice.
class TableCopy final : public store::CopyWriter {
 public:
  /// Opens the table, which creates its version record where there is none.
  static Result<std::unique_ptr<TableCopy>> open(StoreOptions options);

  Result<store::CopySettings> settings() override;
  Result<void> read(const store::CopyScope& scope, const store::CopyPages::Visit& visit) override;

  Result<std::string> unfinished() override;
  Result<void> begin(const std::string& copy, const store::CopySettings& settings) override;
  /// Buckets expire at whole seconds here, rounded up. The marker of a lease needs an entity to be kept
  /// beside.
  bool fit(store::CopyRecord& record) const override;
  Result<void> put(const std::vector<store::CopyRecord>& page) override;
  Result<void> end() override;

 private:
  explicit TableCopy(std::shared_ptr<DynamoStore> store)
      : store_(std::move(store)), context_(store_->context()) {}

  Result<Item> version_record();
  /// Visits every item of the table. `keys_only`: without the other attributes.
  Result<void> for_each_item(bool keys_only, const std::function<Result<void>(const Item& item)>& visit);
  Result<std::set<std::string>> namespaces();
  static Result<void> add_item(const Item& item, store::CopyPages& pages);

  Result<void> prepare(const std::vector<store::CopyRecord>& page);
  Result<void> raise_head(const std::string& name_space, const store::CopyNeeds& needs);
  Result<void> write_together(const std::vector<ItemWrite>& writes, const store::CopyRecord& first);

  const std::shared_ptr<DynamoStore> store_;
  Context& context_;
  store::CopySettings settings_;
  std::set<std::pair<std::string, std::string>> registered_;  ///< namespaces and resources that have usage
};

}  // namespace weir::dynamodb
