// A function of AWS Lambda that counts usage: events in, answers out.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "store/dynamodb/dynamodb_store.h"
#include "store/dynamodb/lambda_event.h"
#include "store/usage.h"

namespace weir::dynamodb {

/// Not safe for use by several threads at once.
class LambdaFunction final : private UsageTable {
 public:
  static Result<std::unique_ptr<LambdaFunction>> open(const StoreOptions& options,
                                                      std::function<void(const std::string&)> report);
  /// Counts the records of an event, or folds old hours where it has none. Fails on an event that cannot be
  /// read, and where folding fails.
  Result<std::string> invoke(std::string_view event);

 private:
  LambdaFunction(std::string table, std::unique_ptr<base::Entropy> entropy,
                 std::unique_ptr<aws::DynamoClient> client, const store::UsageKept& kept,
                 std::function<void(const std::string&)> report);
  Result<std::optional<usage::StreamCursor>> read(const usage::BucketId& bucket) override;
  Result<usage::Written> write(const usage::BucketId& bucket, const usage::Advance& step) override;
  usage::Kept kept() const override { return kept_; }
  aws::Asked ask(Request request);

  const std::string table_;
  const std::unique_ptr<base::Entropy> entropy_;
  const std::unique_ptr<aws::DynamoClient> client_;
  const store::UsageKept kept_;
  const std::function<void(const std::string&)> report_;
  std::set<std::pair<std::string, std::string>> registered_;  ///< resources
};

}  // namespace weir::dynamodb
