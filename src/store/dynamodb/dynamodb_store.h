// `dynamodb://TABLE`: one table in DynamoDB, shared by any number of processes, which decide by conditional
// writes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "aws/dynamo_client.h"
#include "base/entropy.h"
#include "store/dynamodb/buckets.h"
#include "store/dynamodb/catalog.h"
#include "store/dynamodb/schema.h"
#include "store/dynamodb/start_up.h"
#include "store/store.h"

namespace weir::dynamodb {

struct StoreOptions {
  std::string table;
  std::string region = {};    ///< empty: as the environment or the profile says
  std::string endpoint = {};  ///< empty: as the environment says, or AWS's own
  std::string ca_file = {};
  /// How long a request may take, with all its attempts.
  std::chrono::milliseconds deadline{250};
  /// How long limits are remembered.
  std::chrono::milliseconds cache_for{60'000};
  /// How long a bucket that is known to be empty is refused without asking; 0: never.
  std::chrono::milliseconds refuse_for{100};
  /// How far clocks may differ.
  std::chrono::milliseconds clock_bound{2'000};
  bool settle_single = false;
  /// Whether opening fails while the table cannot be used. If not, calls fail until it can.
  bool must_be_reachable = true;
  /// For tests: the time of decisions. Everybody on the table must agree on it.
  std::shared_ptr<const Clock> clock = {};
};

/// A client as the options and the machine say. `system` must outlive it.
Result<std::unique_ptr<aws::DynamoClient>> connect(const StoreOptions& options, const Clock& system,
                                                   base::Entropy& entropy);

/// Safe to use from any thread.
class DynamoStore final : public store::Store {
 public:
  /// Fails with unavailable where DynamoDB cannot be reached, does not accept us, or has no such table,
  /// unless the options say that this is no reason not to begin.
  static Result<std::shared_ptr<DynamoStore>> open(const StoreOptions& options);
  ~DynamoStore() override;

  store::Buckets& buckets() override { return buckets_; }
  store::Catalog& catalog() override { return catalog_; }
  const store::LeaseKey& lease_key() const override { return start_up_.lease_key(); }
  Result<void> opened() const override { return start_up_.check(); }
  Result<void> health() const override;
  bool is_elsewhere() const override { return true; }
  bool every_change_is_marked() const override { return !context_.settle_single; }
  Time now() const override { return context_.now(); }
  Result<void> keep_audit_for(Time duration) override;
  /// Before the first use of something that programs before `version` of the schema cannot read: shuts them
  /// out when they open the table. Blocks. Nothing is lowered by it.
  Result<void> require_client(int version);
  std::vector<store::Counter> counters() const override;

  const aws::DynamoClient& client() const { return *client_; }
  const Counts& counts() const { return context_.counts; }
  const std::string& table() const { return context_.table; }

 private:
  DynamoStore(const StoreOptions& options, std::unique_ptr<aws::DynamoClient> client,
              std::shared_ptr<base::SystemEntropy> entropy, std::shared_ptr<const Clock> clock);

  const std::shared_ptr<base::SystemEntropy> entropy_;
  const std::shared_ptr<const Clock> clock_;
  std::unique_ptr<aws::DynamoClient> client_;
  Context context_;
  mutable StartUp start_up_;
  DynamoCatalog catalog_;
  DynamoBuckets buckets_;
};

}  // namespace weir::dynamodb
