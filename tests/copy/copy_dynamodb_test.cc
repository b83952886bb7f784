// Copies into a table of DynamoDB and out of it, with the real DynamoDB Local.
#include <gtest/gtest.h>

#include "app/copy_store.h"
#include "app/make_store.h"
#include "copy/content.h"
#include "store/dynamodb/aggregation.h"
#include "store/dynamodb/request.h"
#include "support/dynamodb_local.h"
#include "support/folder.h"
#include "support/redis_server.h"

namespace weir::tests {
namespace {

using app::copy_store;

std::string new_table() {
  DynamoDbLocal& server = DynamoDbLocal::shared();
  const std::string url =
      "dynamodb://" + server.table() + "?endpoint=" + server.url() + "&deadline_ms=60000&refuse_ms=0";
  const auto made = app::make_store(url, [](const std::string&) {});
  EXPECT_TRUE(made) << made.error().message;
  return url;
}

void expect_same(const Result<app::CopyReport>& report) {
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->differences, std::vector<std::string>());
  EXPECT_EQ(report->left_out, app::CountsByKind());
}

TEST(StoreCopyOnDynamoDb, ThroughEveryStoreAndBackGivesTheSameContent) {
  Folder folder;
  RedisServer redis;
  const std::string source = "sqlite:" + folder.file("source.db");
  const std::string last = "sqlite:" + folder.file("last.db");
  const std::string table = new_table();
  const Content content = filled(source, 11);
  const std::string before = content.read(source);
  expect_same(copy_store(source, redis.patient_url(), {}));
  expect_same(copy_store(redis.patient_url(), table, {}));
  EXPECT_EQ(content.read(table), before);
  expect_same(copy_store(table, last, {}));
  EXPECT_EQ(content.read(last), before);
  EXPECT_EQ(dynamodb::foreign_bucket_writes(), 0U);

  auto limiter = Limiter::open(last, {.name_space = "acme"});
  const auto settled = limiter->settle(content.leases().plain, {{"rpm", 2}});
  ASSERT_TRUE(settled) << settled.error().message;
  ASSERT_TRUE(limiter->rollback(content.leases().adjusted));
  ASSERT_TRUE(limiter->rollback(content.leases().of_a_call));
  EXPECT_EQ(limiter->available("calls", "gpt-4")->limits().find("calls")->remaining, Amount(40));
}

TEST(StoreCopyOnDynamoDb, ATableGoesOnWhereTheSourceStopped) {
  Folder folder;
  const std::string source = "sqlite:" + folder.file("source.db");
  const std::string table = new_table();
  const Content content = filled(source, 3);
  int pages = 0;
  app::CopyOptions stopping;
  stopping.stop = [&] { return ++pages == 2; };
  const auto stopped = copy_store(source, table, stopping);
  ASSERT_TRUE(stopped) << stopped.error().message;
  const auto resumed = copy_store(source, table, {});
  expect_same(resumed);
  EXPECT_TRUE(resumed->resumed);
  const auto again = copy_store(source, table, {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("not empty"), std::string::npos) << again.error().message;
  // The stream has every copied bucket, and none of their counters is new usage.
  const std::string before = content.read(table);
  dynamodb::AggregationOptions counting;
  counting.store = {.table = table.substr(11, table.find('?') - 11),
                    .endpoint = DynamoDbLocal::shared().url(),
                    .deadline = std::chrono::seconds(60)};
  counting.worker.batch = 1;
  const auto aggregation = dynamodb::Aggregation::start(counting);
  ASSERT_TRUE(aggregation) << aggregation.error().message;
  EXPECT_TRUE((*aggregation)->count_all(std::chrono::seconds(60))) << (*aggregation)->state().trouble;
  EXPECT_GT((*aggregation)->state().records, 0U);
  EXPECT_EQ(content.read(table), before);
  // Decisions and changes work on what the copy has left.
  auto limiter = Limiter::open(table, {.name_space = "acme"});
  ASSERT_TRUE(limiter->settle(content.leases().plain, {{"rpm", 2}}));
  ASSERT_TRUE(limiter->rollback(content.leases().of_a_call));
  const auto set = limiter->set_limits(Level::resource("gpt-4"), {{"rpm", "90/d"}});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(limiter->acquire("key", "gpt-4", {{"rpm", 0}}));
}

}  // namespace
}  // namespace weir::tests
