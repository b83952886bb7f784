// Counts usage from events of AWS Lambda: an event source mapping reads the stream, keeps the shards and
// their order, and invokes a function with batches of records. Batches are repeated after a failure, as a
// whole or from a record on, which the cursors make harmless.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/dynamodb/stream_records.h"
#include "usage/aggregator.h"
#include "weir/result.h"

namespace weir::dynamodb {

/// An event. One without records is that of a schedule: time to fold old hours.
struct LambdaEvent {
  std::vector<StreamRecord> records;
};
Result<LambdaEvent> read_lambda_event(std::string_view json);

/// The table, as far as counting needs it.
class UsageTable {
 public:
  virtual ~UsageTable() = default;
  virtual Result<std::optional<usage::StreamCursor>> read(const usage::BucketId& bucket) = 0;
  /// How long usage is kept.
  virtual usage::Kept kept() const { return {}; }
  virtual Result<usage::Written> write(const usage::BucketId& bucket, const usage::Advance& step) = 0;
};

/// What came of a batch.
struct LambdaResult {
  usage::AggregatorCounts counts = {};
  /// The sequence number of the first record that was not counted; empty: all were. Lambda repeats the batch
  /// from there on.
  std::string failed_from = {};
  std::string trouble = {};  ///< why
  /// The answer to Lambda: {"batchItemFailures":[...]}.
  std::string json() const;
};
LambdaResult count(const LambdaEvent& event, UsageTable& table);

}  // namespace weir::dynamodb
