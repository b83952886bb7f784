#include "store/dynamodb/lambda_function.h"

#include "base/text.h"
#include "store/dynamodb/usage_folding.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

const Clock& lambda_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

LambdaFunction::LambdaFunction(std::string table, std::unique_ptr<base::Entropy> entropy,
                               std::unique_ptr<aws::DynamoClient> client, const store::UsageKept& kept,
                               std::function<void(const std::string&)> report)
    : table_(std::move(table)),
      entropy_(std::move(entropy)),
      client_(std::move(client)),
      kept_(kept),
      report_(std::move(report)) {}

Result<std::unique_ptr<LambdaFunction>> LambdaFunction::open(const StoreOptions& options,
                                                             std::function<void(const std::string&)> report) {
  auto entropy = std::make_unique<base::SystemEntropy>();
  auto client = connect(options, lambda_clock(), *entropy);
  if (!client) return client.error();
  const auto kept = read_usage_kept(**client, options.table);
  if (!kept) return kept.error();
  return std::unique_ptr<LambdaFunction>(
      new LambdaFunction(options.table, std::move(entropy), *std::move(client), *kept, std::move(report)));
}

Result<std::string> LambdaFunction::invoke(std::string_view event) {
  const auto read = read_lambda_event(event);
  if (!read) return read.error();
  if (read->records.empty()) {
    const auto folded = fold_usage(*client_, table_, lambda_clock().now(), kept_);
    if (!folded) return folded.error();
    return LambdaResult().json();
  }
  const LambdaResult result = count(*read, *this);
  if (!result.trouble.empty()) report_(result.trouble);
  if (result.counts.malformed > 0)
    report_("a record of the stream has a bucket that something else than weir wrote; it is left out");
  return result.json();
}

aws::Asked LambdaFunction::ask(Request request) {
  // Reads, and writes under conditions that only one copy can meet.
  return client_->ask(std::move(request.operation), std::move(request.json), true);
}

Result<std::optional<usage::StreamCursor>> LambdaFunction::read(const usage::BucketId& bucket) {
  const auto asked = ask(latest_hour(table_, bucket));
  if (!asked.ok()) return aws::error_of(*asked.failure);
  if (asked.answer.items.empty()) return std::optional<usage::StreamCursor>();
  return read_cursor(asked.answer.items[0]);
}

Result<usage::Written> LambdaFunction::write(const usage::BucketId& bucket, const usage::Advance& step) {
  if (!registered_.contains({bucket.name_space, bucket.resource})) {
    const auto asked = ask(single_write(table_, registration(bucket)));
    if (!asked.ok()) return aws::error_of(*asked.failure);
    registered_.emplace(bucket.name_space, bucket.resource);
  }
  const auto asked = ask(usage_request(table_, bucket, step, kept_));
  if (asked.ok()) return usage::Written::done;
  if (asked.failure->kind == aws::DynamoFailure::Kind::condition) return usage::Written::refused;
  return aws::error_of(*asked.failure);
}

}  // namespace weir::dynamodb
