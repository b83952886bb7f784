// Runs the aggregator (usage/aggregator.h) on a table and its stream.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "store/aggregation.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/usage.h"
#include "usage/aggregator.h"

namespace weir::dynamodb {

struct AggregationOptions {
  StoreOptions store;
  usage::AggregatorOptions worker = {};  ///< the name is chosen, if it is empty
  /// How long usage is kept; nothing: as the table says.
  std::optional<store::UsageKept> kept = {};
  /// Called with messages for the operator, from any thread.
  std::function<void(const std::string& message)> report = {};
};

/// Counts in a thread of its own. Safe to use from any thread.
class Aggregation final : public store::Aggregation {
 public:
  /// Fails where the table has no stream with both images, or cannot be reached. Without
  /// store.must_be_reachable, it waits for a table that cannot be reached, and then begins to count.
  static Result<std::unique_ptr<Aggregation>> start(AggregationOptions options);
  /// Ends at once, without giving leases back.
  ~Aggregation() override;
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;

  /// Counts what was read and gives the leases back. Blocks, at most `patience`.
  void stop(std::chrono::milliseconds patience) override;
  /// Waits until everything was counted that was in the stream when this was called, in the shards that this
  /// worker reads. False: not within `patience`.
  bool count_all(std::chrono::milliseconds patience);
  store::AggregationState state() const override;

 private:
  class Call;
  struct Answered {
    std::uint64_t id = 0;
    usage::Answer answer;
    std::string trouble = {};
  };
  /// The stream of the table, and how long its usage is kept.
  struct Stream {
    std::string arn;
    std::string label;
    store::UsageKept kept;
  };
  Aggregation(AggregationOptions options, std::unique_ptr<aws::DynamoClient> table,
              std::unique_ptr<aws::DynamoClient> streams, std::unique_ptr<base::Entropy> entropy);

  Result<Stream> read_stream();
  Result<void> find_stream();
  bool wait_for_stream();
  void run();
  void carry_out(usage::Started started);
  void fold();
  void end(Answered answered);
  void tell(const usage::AggregatorCounts& before);
  bool is_registered(const usage::BucketId& bucket) const;
  void set_registered(const usage::BucketId& bucket);
  Time now() const { return clock_.now(); }

  const AggregationOptions options_;
  const SystemClock clock_;
  const std::unique_ptr<base::Entropy> entropy_;
  Stream stream_;  ///< once has_stream_ is set

  mutable base::Mutex mutex_;
  base::Condition changed_;
  usage::Aggregator machine_ WEIR_GUARDED_BY(mutex_);
  std::vector<Answered> answers_ WEIR_GUARDED_BY(mutex_);
  std::string trouble_ WEIR_GUARDED_BY(mutex_);
  bool has_stream_ WEIR_GUARDED_BY(mutex_) = false;
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;
  bool ended_ WEIR_GUARDED_BY(mutex_) = false;
  std::set<std::pair<std::string, std::string>> registered_ WEIR_GUARDED_BY(mutex_);  ///< resources

  std::unique_ptr<aws::DynamoClient> table_client_;
  std::unique_ptr<aws::DynamoClient> stream_client_;
  std::thread thread_;
  std::thread folding_thread_;
};

}  // namespace weir::dynamodb
