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
#include "store/dynamodb/usage_reader.h"
#include "store/store.h"

namespace weir::dynamodb {

struct StoreOptions {
  std::string table;
  std::string region = {};    ///< empty: from the environment or the profile
  std::string endpoint = {};  ///< empty: from the environment, or AWS's own
  /// Allows an endpoint on another machine without TLS.
  bool insecure = false;
  std::string ca_file = {};
  /// How long a request may take, with all its attempts.
  std::chrono::milliseconds deadline{250};
  /// How long limits are cached.
  std::chrono::milliseconds cache_for{60'000};
  /// For how long requests on a bucket that is known to be empty are refused without reading it; 0: never.
  std::chrono::milliseconds refuse_for{100};
  /// How far clocks may differ.
  std::chrono::milliseconds clock_bound{2'000};
  bool settle_single = false;
  /// Whether opening fails while the table is unavailable. If not, calls fail until it answers.
  bool must_be_reachable = true;
  /// For tests: the time of decisions. All processes on the table must use the same.
  std::shared_ptr<const Clock> clock = {};
};

/// The endpoint as a URL. Fails if requests and their session tokens would leave this machine without TLS.
Result<aws::Url> check_endpoint(const StoreOptions& options, std::string_view endpoint);

/// A client by the options and the environment. `system` must outlive it.
Result<std::unique_ptr<aws::DynamoClient>> connect(const StoreOptions& options, const Clock& system,
                                                   base::Entropy& entropy);
/// A client of the streams of tables.
Result<std::unique_ptr<aws::DynamoClient>> connect_to_streams(const StoreOptions& options,
                                                              const Clock& system, base::Entropy& entropy);

/// Safe to use from any thread.
class DynamoStore final : public store::Store {
 public:
  /// Fails with unavailable where DynamoDB cannot be reached, rejects the credentials, or has no such table,
  /// unless must_be_reachable is false.
  static Result<std::shared_ptr<DynamoStore>> open(const StoreOptions& options);
  ~DynamoStore() override;

  store::Buckets& buckets() override { return buckets_; }
  store::Catalog& catalog() override { return catalog_; }
  store::UsageReader& usage() override { return usage_; }
  const store::LeaseKey& lease_key() const override { return start_up_.lease_key(); }
  Result<void> opened() const override { return start_up_.check(); }
  Result<void> health() const override;
  bool is_elsewhere() const override { return true; }
  bool every_change_is_marked() const override { return !context_.settle_single; }
  Time now() const override { return context_.now(); }
  Result<void> keep_audit_for(Time duration) override;
  Result<void> keep_usage(const store::UsageKept& kept) override;
  Result<std::vector<std::string>> namespaces() override;
  Result<void> erase_namespace(std::string_view name_space) override;
  /// Called before the first use of a feature that programs before `version` of the schema cannot read: from
  /// then on they fail to open the table. Blocks. Never lowers the version.
  Result<void> require_client(int version);
  std::vector<store::Counter> counters() const override;
  std::vector<std::string> warnings() const override { return context_.bad.warnings(); }

  const aws::DynamoClient& client() const { return *client_; }
  const Counts& counts() const { return context_.counts; }
  DynamoCatalog& dynamo_catalog() { return catalog_; }
  Context& context() { return context_; }
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
  DynamoUsage usage_;
};

}  // namespace weir::dynamodb
