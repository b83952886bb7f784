// The usage that the aggregator has counted.
#pragma once

#include "store/dynamodb/context.h"
#include "store/usage.h"
#include "usage/page_rows.h"

namespace weir::dynamodb {

/// Safe to use from any thread. Blocks its caller.
class DynamoUsage final : public store::UsageReader {
 public:
  explicit DynamoUsage(Context& context) : context_(context) {}
  void read(const store::UsageQuery& query, const store::Paging& paging,
            store::Completion<store::Page<Usage>> done) override;

 private:
  Result<void> read_entity(const store::UsageQuery& query, const usage::Position& after,
                           usage::PageRows& rows);
  Result<void> read_resource(const store::UsageQuery& query, const usage::Position& after,
                             usage::PageRows& rows, std::size_t limit);
  /// False: rows behind this one cannot be in the page.
  bool add(const Item& item, const store::UsageQuery& query, usage::PageRows& rows);

  Context& context_;
};

}  // namespace weir::dynamodb
