// Folds hours of usage that are older than they are kept into days. Each day is one transaction that adds its
// hours to the day and deletes them, on condition that they are as they were read: so it happens once,
// whoever else does it at the same time, and whenever it is interrupted.
#pragma once

#include <functional>
#include <string>

#include "aws/dynamo_client.h"
#include "store/usage.h"
#include "weir/result.h"

namespace weir::dynamodb {

struct FoldingReport {
  std::uint64_t days = 0;   ///< made, or added to
  std::uint64_t hours = 0;  ///< deleted
  std::uint64_t later = 0;  ///< days that another process changed meanwhile; the next pass takes them
};

/// One pass over the resources whose usage was counted. `now`: hours that ended longer ago than they are kept
/// are folded. `stop`: ends the pass early. Blocks.
Result<FoldingReport> fold_usage(aws::DynamoClient& client, const std::string& table, Time now,
                                 const store::UsageKept& kept, const std::function<bool()>& stop = {});

/// How long usage is kept, as store::Store::keep_usage has set it.
Result<store::UsageKept> read_usage_kept(aws::DynamoClient& client, const std::string& table);

}  // namespace weir::dynamodb
