// DynamoDB, by the real DynamoDB Local, which takes a while to start: one for all tests of this program.
#include "contract/contract.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/dynamodb/request.h"
#include "support/dynamodb_local.h"

namespace weir::contract {
namespace {

/// A table of its own. Limiters on it share what is in it, as processes do.
class InTable final : public StoreUnderTest {
 public:
  explicit InTable(const std::string& more) {
    tests::DynamoDbLocal& server = tests::DynamoDbLocal::shared();
    const std::string table = server.table();
    url_ = "dynamodb://" + table + "?endpoint=" + server.url() + "&deadline_ms=60000&refuse_ms=0" + more;
    const SystemClock system;
    base::SystemEntropy entropy;
    auto client =
        dynamodb::connect({.table = table, .endpoint = server.url(), .deadline = 60s}, system, entropy);
    EXPECT_TRUE(client);
    const auto made = dynamodb::make_table(**client, table, {});
    EXPECT_TRUE(made) << made.error().message;
  }
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(url_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }

 private:
  std::string url_;
  // In the future, so that DynamoDB itself, which has another clock, deletes nothing.
  FakeClock clock_{2'000'000'000'000};
};

}  // namespace

namespace {

/// Whatever the behaviours did: no write to a bucket was made by anything but the machines.
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
