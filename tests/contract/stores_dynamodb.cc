// DynamoDB, by the real DynamoDB Local, which takes a while to start: one for all tests of this program.
#include "contract/contract.h"
#include "store/dynamodb/aggregation.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/dynamodb/request.h"
#include "store/dynamodb/usage_folding.h"
#include "support/dynamodb_local.h"

namespace weir::contract {
namespace {

/// A table of its own. Limiters on it share what is in it, as processes do.
class InTable final : public StoreUnderTest {
 public:
  explicit InTable(const std::string& more) {
    tests::DynamoDbLocal& server = tests::DynamoDbLocal::shared();
    const std::string table = server.table();
    counting_.store = {.table = table, .endpoint = server.url(), .deadline = 60s};
    counting_.worker.batch = 1;
    counting_.worker.poll_idle = 5;
    counting_.worker.poll_busy = 5;
    url_ = "dynamodb://" + table + "?endpoint=" + server.url() + "&deadline_ms=60000&refuse_ms=0" + more;
    client_ = *dynamodb::connect(counting_.store, system_, entropy_);
    const auto made = dynamodb::make_table(*client_, table, {});
    EXPECT_TRUE(made) << made.error().message;
  }
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(url_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }
  void collect_usage() override {
    if (!aggregation_) aggregation_ = *dynamodb::Aggregation::start(counting_);
    EXPECT_TRUE(aggregation_->count_all(60s)) << aggregation_->state().trouble;
    const auto kept = dynamodb::read_usage_kept(*client_, counting_.store.table);
    ASSERT_TRUE(kept);
    EXPECT_TRUE(dynamodb::fold_usage(*client_, counting_.store.table, clock_.now(), *kept));
  }

 private:
  const SystemClock system_;
  base::SystemEntropy entropy_;
  std::unique_ptr<aws::DynamoClient> client_;
  dynamodb::AggregationOptions counting_;
  std::unique_ptr<dynamodb::Aggregation> aggregation_;
  std::string url_;
  // In the future, so that DynamoDB itself, which has another clock, deletes nothing.
  FakeClock clock_{2'000'000'000'000};
};

}  // namespace

namespace {

/// After all behaviours: only the machines have made writes to buckets.
class OnlyMachinesWrite final : public testing::Environment {
  void TearDown() override { EXPECT_EQ(dynamodb::foreign_bucket_writes(), 0U); }
};
const testing::Environment* const only_machines_write =
    testing::AddGlobalTestEnvironment(new OnlyMachinesWrite);

}  // namespace

std::vector<StoreKind> stores() {
  return {{"dynamodb", [] { return std::make_unique<InTable>(""); }},
          {"dynamodb_without_cache", [] { return std::make_unique<InTable>("&cache_ms=0"); }}};
}

}  // namespace weir::contract
