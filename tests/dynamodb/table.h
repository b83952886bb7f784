// A table of its own in DynamoDB Local, and items as they lie in it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/dynamodb_store.h"
#include "support/dynamodb_local.h"
#include "weir/weir.h"

namespace weir::dynamodb {

using namespace std::chrono_literals;

/// In the future, so that DynamoDB itself, which has another clock, deletes nothing.
inline constexpr Time start_of_time = 2'000'000'000'000;

/// Safe to use from any thread, but for advance().
class TestTable {
 public:
  explicit TestTable(std::string more = {}) : more_(std::move(more)) {
    tests::DynamoDbLocal& server = tests::DynamoDbLocal::shared();
    table = server.table();
    endpoint = server.url();
    client = *connect({.table = table, .endpoint = endpoint, .deadline = 60s}, system_, entropy_);
    const auto made = make_table(*client, table, {});
    EXPECT_TRUE(made) << made.error().message;
  }
  std::string url(const std::string& through = {}) const {
    return "dynamodb://" + table + "?endpoint=" + (through.empty() ? endpoint : through) +
           "&deadline_ms=60000&refuse_ms=0" + more_;
  }
  /// As another process would open it.
  Limiter limiter(const std::string& through = {}) {
    auto opened = Limiter::open(url(through), {.clock = &clock});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  std::shared_ptr<DynamoStore> store(StoreOptions options = {}, const std::string& through = {}) {
    options.table = table;
    options.endpoint = through.empty() ? endpoint : through;
    options.deadline = 60s;
    if (!options.clock) options.clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock);
    auto opened = DynamoStore::open(options);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  /// An item as it is now; empty if there is none.
  Item item(const Key& key) const {
    auto asked = client->ask("BatchGetItem", batch_get(table, std::span(&key, 1)).json, true);
    EXPECT_TRUE(asked.ok());
    return asked.answer.items.empty() ? Item() : asked.answer.items[0];
  }
  Item bucket(std::string_view entity, std::string_view resource = "gpt-4") const {
    return item(bucket_key("default", entity, resource));
  }
  std::int64_t number(std::string_view entity, std::string_view attribute) const {
    const auto found = wire::aws::integer_of(bucket(entity), attribute);
    EXPECT_TRUE(found) << attribute;
    return found.value_or(-1);
  }
  void put(const Item& one) const {
    // Past the code that counts writes to buckets: this is somebody else's.
    std::string json;
    wire::aws::append_json(json, one);
    const auto asked =
        client->ask("PutItem", R"({"TableName":")" + table + R"(","Item":)" + json + "}", true);
    EXPECT_TRUE(asked.ok()) << asked.failure->message;
  }

  std::string table;
  std::string endpoint;
  FakeClock clock{start_of_time};
  std::unique_ptr<aws::DynamoClient> client;

 private:
  const std::string more_;
  SystemClock system_;
  base::SystemEntropy entropy_;
};

}  // namespace weir::dynamodb
