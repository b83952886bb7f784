// Copies between a file and Redis: what is refused, resumed and compared. The way through DynamoDB is in
// copy_dynamodb_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/copy_store.h"
#include "app/open_store.h"
#include "copy/content.h"
#include "support/folder.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"

namespace weir::tests {
namespace {

using app::copy_store;

class StoreCopy : public testing::Test {
 protected:
  StoreCopy() : content_(filled(source_, 7)) {}
  std::string file(const char* name) const { return "sqlite:" + folder_.file(name); }

  Folder folder_;
  const std::string source_ = "sqlite:" + folder_.file("source.db");
  const Content content_;
};

void expect_same(const Result<app::CopyReport>& report) {
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->differences, std::vector<std::string>());
  EXPECT_EQ(report->left_out, app::CountsByKind());
}

TEST_F(StoreCopy, ThroughRedisAndBackGivesTheSameContent) {
  RedisServer redis;
  const std::string before = content_.read(source_);
  for (const char* const part :
       {"\"in_force\":false", "\"tokens\":-", "\"held\"", "\"grants\"", "\"window\":\"hour\"",
        "\"plan\":\"pro\"", "\"owner\":\"sync\"", "\"inherit\":true", "child team", "member key"})
    EXPECT_NE(before.find(part), std::string::npos) << part << " is part of the content";
  const auto first = copy_store(source_, redis.patient_url(), {});
  expect_same(first);
  for (const std::uint64_t count : first->copied) EXPECT_GT(count, 0U) << "something of every kind";
  EXPECT_EQ(content_.read(redis.patient_url()), before);
  const auto second = copy_store(redis.patient_url(), file("back.db"), {});
  expect_same(second);
  EXPECT_EQ(second->copied, first->copied);
  EXPECT_EQ(content_.read(file("back.db")), before);
  EXPECT_EQ(content_.read(source_), before) << "the source stays as it is";
}

TEST_F(StoreCopy, ThroughAClusterGivesTheSameContent) {
  RedisCluster cluster;
  const std::string url = cluster.url() + "&deadline_ms=20000";
  const std::string before = content_.read(source_);
  expect_same(copy_store(source_, url, {}));
  EXPECT_EQ(content_.read(url), before);
  expect_same(copy_store(url, file("back.db"), {}));
  EXPECT_EQ(content_.read(file("back.db")), before);
}

TEST_F(StoreCopy, LeasesOfTheSourceCanBeSettledInTheTarget) {
  expect_same(copy_store(source_, file("target.db"), {}));
  auto limiter = Limiter::open(file("target.db"), {.name_space = "acme"});
  ASSERT_TRUE(limiter) << limiter.error().message;
  const auto settled = limiter->settle(content_.leases().plain, {{"rpm", 2}});
  ASSERT_TRUE(settled) << settled.error().message;
  const auto again = limiter->adjust(content_.leases().adjusted, {{"rpm", 2000}}, "more");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_LT(again->find("rpm")->remaining, Amount(0)) << "charged once: the marker came along";
  const auto given_back = limiter->settle(content_.leases().of_grants, {{"rpm", 1}});
  ASSERT_TRUE(given_back) << given_back.error().message;
  const auto buckets = limiter->buckets("granted");
  ASSERT_TRUE(buckets);
  for (const BucketLimit& limit : buckets->items[0].limits) {
    if (limit.name != "rpm") continue;
    ASSERT_EQ(limit.grants.size(), 2U);
    EXPECT_EQ(limit.grants[0].amount, Amount(6)) << "given back to the grant that ends";
    EXPECT_EQ(limit.grants[1].amount, Amount(9));
  }
  const auto before = limiter->available("calls", "gpt-4");
  ASSERT_TRUE(limiter->rollback(content_.leases().of_a_call));
  const auto after = limiter->available("calls", "gpt-4");
  EXPECT_EQ(before->limits().find("calls")->remaining, Amount(37));
  EXPECT_EQ(after->limits().find("calls")->remaining, Amount(40));
}

TEST_F(StoreCopy, UsageGoesOnInTheTargetWhereTheSourceStopped) {
  RedisServer redis;
  expect_same(copy_store(source_, redis.patient_url(), {}));
  auto limiter = Limiter::open(redis.patient_url(), {.name_space = "acme"});
  const auto events = [&] {
    const auto totals = limiter->top_usage({.entity = "lease", .resource = "gpt-4"}, "rpm", 1);
    return totals && !totals->empty() ? totals->front().events : -1;
  };
  const std::int64_t before = events();
  ASSERT_TRUE(limiter->settle(content_.leases().plain, {{"rpm", 2}}));
  EXPECT_EQ(events(), before + 1);
}

TEST_F(StoreCopy, OneNamespaceIsCopiedAlone) {
  app::CopyOptions options;
  options.name_space = "acme";
  expect_same(copy_store(source_, file("target.db"), options));
  auto store = Limiter::open(file("target.db"));
  EXPECT_EQ(*store->namespaces(), std::vector<Namespace>{{.name = "acme"}});
}

TEST_F(StoreCopy, RefusesATargetThatHasSomethingInIt) {
  {
    ASSERT_TRUE(Limiter::open(file("target.db"))->set_limits(Level::system(), {{"rpm", "1/min"}}));
  }
  const auto refused = copy_store(source_, file("target.db"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_NE(refused.error().message.find("not empty: it has the limits of the system"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(Limiter::open(file("target.db"))->list_limits()->items.size(), 1U);
  expect_same(copy_store(source_, file("other.db"), {}));
  EXPECT_FALSE(copy_store(source_, file("other.db"), {}))
      << "a copy that has ended is a store like any other";
}

TEST_F(StoreCopy, GoesOnWhereItWasStopped) {
  RedisServer redis;
  int pages = 0;
  app::CopyOptions stopping;
  stopping.stop = [&] { return ++pages == 2; };
  const auto stopped = copy_store(source_, redis.patient_url(), stopping);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(stopped->stopped);
  const auto other = copy_store(file("missing.db"), redis.patient_url(), {});
  EXPECT_FALSE(other);
  expect_same(copy_store(source_, file("second.db"), {}));
  const auto another = copy_store(file("second.db"), redis.patient_url(), {});
  ASSERT_FALSE(another);
  EXPECT_NE(another.error().message.find("unfinished copy of another source"), std::string::npos)
      << another.error().message;
  const auto resumed = copy_store(source_, redis.patient_url(), {});
  expect_same(resumed);
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(content_.read(redis.patient_url()), content_.read(source_));
}

TEST_F(StoreCopy, DoesNotGoOnIfTheSourceHasChangedMeanwhile) {
  app::CopyOptions stopping;
  stopping.stop = [] { return true; };
  ASSERT_TRUE(copy_store(source_, file("target.db"), stopping));
  {
    ASSERT_TRUE(Limiter::open(source_)->set_limits(Level::system(), {{"rpm", "1/min"}}));
  }
  const auto refused = copy_store(source_, file("target.db"), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("limits of the system in namespace \"default\" has changed"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(StoreCopy, NamesWhatAUsedSourceHasChanged) {
  RedisServer redis;
  expect_same(copy_store(source_, redis.patient_url(), {}));
  auto limiter = Limiter::open(redis.patient_url(), {.name_space = "acme"});
  bool changed = false;
  app::CopyOptions options;
  options.progress = [&](const app::CopyProgress& progress) {
    if (progress.checking || std::exchange(changed, true)) return;
    ASSERT_TRUE(limiter->set_limits(Level::resource("new"), {{"rpm", "1/min"}}));
  };
  const auto report = copy_store(redis.patient_url(), file("target.db"), options);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_FALSE(report->differences.empty());
  const std::string& first = report->differences.front();
  EXPECT_NE(first.find("limits of resource \"new\" in namespace \"acme\" is only in the source"),
            std::string::npos)
      << first;
}

TEST_F(StoreCopy, RefusesUrlsThatCannotBeCopied) {
  const auto code = [](std::string_view from, std::string_view to) {
    const auto report = copy_store(from, to, {.wait_for_file = std::chrono::milliseconds(0)});
    return report ? std::string("copied") : name_of(report.error().code) + (" " + report.error().message);
  };
  EXPECT_EQ(code("memory:", source_).substr(0, 25), "invalid-argument --from: ");
  EXPECT_EQ(code(source_, "memory:").substr(0, 23), "invalid-argument --to: ");
  EXPECT_EQ(code(source_, "mongodb://x").substr(0, 23), "invalid-argument --to: ");
  EXPECT_EQ(code(source_, source_).substr(0, 43), "invalid-argument --from and --to are the sa");
  EXPECT_EQ(code(file("missing.db"), source_).substr(0, 21), "not-found the source:");
  const auto holder = Limiter::open(source_);
  EXPECT_EQ(code(source_, "redis://127.0.0.1:1").substr(0, 21), "conflict the source: ") << "in use";
}

}  // namespace
}  // namespace weir::tests
