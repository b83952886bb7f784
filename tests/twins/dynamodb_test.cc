// The real DynamoDB Local against the oracle.
#include <gtest/gtest.h>

#include "store/dynamodb/aggregation.h"
#include "store/dynamodb/dynamodb_store.h"
#include "support/dynamodb_local.h"
#include "twins/runner.h"

namespace weir::twins {
namespace {

using namespace std::chrono_literals;

/// A namespace of its own in the one table of this program.
class InTable final : public Store {
 public:
  explicit InTable(const std::string& more)
      : url_(table_url() + more), name_space_("w" + std::to_string(++made_)) {}
  Result<Limiter> open(const Options& options) override {
    Options in_namespace = options;
    in_namespace.name_space = name_space_;
    return Limiter::open(url_, in_namespace);
  }
  /// Counts what the stream has of this world. The oracle can tell the hour of every write, since `at` is the
  /// moment of the decision by the world's clock. The aggregator does not run beside the world: it would
  /// write each bucket many times instead of about once for each hour.
  std::string collect_usage() override {
    dynamodb::AggregationOptions options;
    options.store = {
        .table = table_name(), .endpoint = tests::DynamoDbLocal::shared().url(), .deadline = 60s};
    options.worker.batch = 1;
    options.worker.poll_idle = 5;
    options.worker.poll_busy = 5;
    auto aggregation = dynamodb::Aggregation::start(options);
    if (!aggregation) return "usage cannot be counted: " + aggregation.error().message;
    if (!(*aggregation)->count_all(60s))
      return "usage was not counted in a minute: " + (*aggregation)->state().trouble;
    const auto state = (*aggregation)->state();
    (*aggregation)->stop(30s);
    if (state.trimmed + state.made_good == 0) return {};
    return "records were lost: " + std::to_string(state.trimmed) + " trimmed, " +
           std::to_string(state.made_good) + " made good";
  }

 private:
  static const std::string& table_name() {
    static const std::string table = tests::DynamoDbLocal::shared().table();
    return table;
  }
  static const std::string& table_url() {
    static const std::string url = [] {
      tests::DynamoDbLocal& server = tests::DynamoDbLocal::shared();
      const std::string& table = table_name();
      const SystemClock system;
      base::SystemEntropy entropy;
      auto client =
          dynamodb::connect({.table = table, .endpoint = server.url(), .deadline = 60s}, system, entropy);
      EXPECT_TRUE(client);
      const auto made = dynamodb::make_table(**client, table, {});
      EXPECT_TRUE(made) << made.error().message;
      return "dynamodb://" + table + "?endpoint=" + server.url() + "&deadline_ms=60000&refuse_ms=0";
    }();
    return url;
  }
  static inline int made_ = 0;
  const std::string url_;
  const std::string name_space_;
};

/// Expiries have a margin: the bound of the clocks, the deadline of a write, a second, and one more for whole
/// seconds.
constexpr Time margin = 2'000 + 60'000 + 1'000 + 1'000;

// In the future, so that DynamoDB itself, which has another clock, deletes nothing.
constexpr Time first_moment = 2'000'000'000'000;

TEST(Twins, DynamoDb) {
  run_twins({"dynamodb",
             {.first_moment = first_moment,
              .clock_bound = 2'000,
              .shared = false,
              .reopens = true,
              .clock_goes_back = false,
              .blind_margin = margin,
              .counts_usage = true},
             [] { return std::make_unique<InTable>(""); }},
            10'000);
}

TEST(Twins, DynamoDbSharedWithoutACache) {
  run_twins({"dynamodb without a cache",
             {.first_moment = first_moment,
              .clock_bound = 2'000,
              .clock_goes_back = false,
              .blind_margin = margin,
              .counts_usage = true},
             [] { return std::make_unique<InTable>("&cache_ms=0"); }},
            2'000);
}

}  // namespace
}  // namespace weir::twins
