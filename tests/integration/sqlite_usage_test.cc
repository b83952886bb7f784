// Usage in the file: it survives the end of the process, the cleaner and mistakes in its rows.
#include <gtest/gtest.h>

#include "app/open_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Time hour = 3'600'000;
constexpr Time day = 24 * hour;

class SqliteUsage : public testing::Test {
 protected:
  Limiter open(Options options = {}) {
    options.clock = &clock;
    auto limiter = Limiter::open("sqlite:" + path, options);
    EXPECT_TRUE(limiter) << limiter.error().message;
    return *std::move(limiter);
  }
  /// Cleans the whole file.
  void clean() const {
    base::SystemEntropy entropy;
    const std::shared_ptr<const Clock> same(std::shared_ptr<const Clock>(), &clock);
    auto store = app::open_store("sqlite:" + path, {}, same, entropy);
    ASSERT_TRUE(store) << store.error().message;
    auto& file = dynamic_cast<sqlite::SqliteStore&>(**store);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(file.clean());
  }
  void run(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::write);
    ASSERT_TRUE(database) << database.error().message;
    auto done = (*database)->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t number(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::read);
    auto result = (*database)->number(sql);
    EXPECT_TRUE(result) << result.error().message;
    return *result;
  }
  /// Everything that was used of the resource: millitokens of rpm, and events.
  static std::pair<std::int64_t, std::int64_t> total(Limiter& limiter,
                                                     const UsageFilter& filter = {.resource = "r"}) {
    std::pair<std::int64_t, std::int64_t> sum;
    Paging paging{.cursor = {}, .limit = 1000};
    do {
      const auto page = limiter.usage(filter, paging);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return sum;
      for (const Usage& row : page->items) {
        for (const UsedAmount& used : row.limits) sum.first += used.amount.millitokens();
        sum.second += row.events;
      }
      paging.cursor = page->next;
    } while (!paging.cursor.empty());
    return sum;
  }
  using Total = std::pair<std::int64_t, std::int64_t>;

  tests::Folder folder;
  const std::string path = folder.file("weir.db");
  FakeClock clock{1'700'000'000'000 / day * day};
};

TEST_F(SqliteUsage, AnOpenHourGoesOnInTheNextProcess) {
  for (int i = 0; i < 3; ++i) {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 2}})->admitted());
    EXPECT_EQ(total(limiter), Total(2000 * (i + 1), i + 1));
    clock.advance(1min);
  }
  EXPECT_EQ(number("SELECT count(*) FROM usage"), 0) << "the hour is in the bucket";
  clock.advance(1h);
  Limiter limiter = open();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_EQ(total(limiter), Total(7000, 4));
  EXPECT_EQ(number("SELECT count(*) FROM usage"), 1);
}

TEST_F(SqliteUsage, IsKeptWhereBucketsAreCleanedUp) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}}));
    for (int i = 0; i < 1200; ++i)
      ASSERT_TRUE(limiter.acquire("once-" + std::to_string(i), "r", {{"rpm", 1}})->admitted());
  }
  clock.advance(25h);
  clean();
  EXPECT_EQ(number("SELECT count(*) FROM buckets"), 0);
  Limiter limiter = open();
  EXPECT_EQ(total(limiter), Total(1'200'000, 1200));
  // The successor of a bucket that was cleaned up, and again after the memory of this process has dropped it.
  ASSERT_TRUE(limiter.acquire("once-7", "r", {{"rpm", 1}})->admitted());
  EXPECT_EQ(total(limiter, {.entity = "once-7"}), Total(2000, 2));
}

TEST_F(SqliteUsage, TheSuccessorOfABucketThatOnlyTheFileHasClosesItsHour) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}}));
    ASSERT_TRUE(limiter.put_entity({.id = "project"}));
    ASSERT_TRUE(limiter.put_entity({.id = "key", .parent = "project", .cascade = true}));
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 3}})->admitted());
  }
  clock.advance(20h);
  Limiter limiter = open();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_EQ(total(limiter, {.entity = "key"}), Total(4000, 2));
  EXPECT_EQ(total(limiter, {.entity = "project"}), Total(4000, 2));
  EXPECT_EQ(number("SELECT count(*) FROM usage"), 2);
  clean();
  EXPECT_EQ(total(limiter), Total(8000, 4)) << "nothing is counted twice";
}

TEST_F(SqliteUsage, HoursAreFoldedIntoDaysWithoutLosingAnything) {
  Limiter limiter =
      open({.keep_usage_hours_for = std::chrono::days(3), .keep_usage_days_for = std::chrono::days(30)});
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
  for (int i = 0; i < 10 * 24; ++i) {
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
    if (i % 5 == 0) {
      ASSERT_TRUE(limiter.acquire("other", "r", {{"rpm", 2}})->admitted());
    }
    clock.advance(1h);
    if (i % 24 == 13) clean();
  }
  clean();
  EXPECT_EQ(total(limiter, {.entity = "key"}), Total(240'000, 240));
  EXPECT_EQ(total(limiter, {.entity = "other"}), Total(96'000, 48));
  EXPECT_EQ(total(limiter, {.entity = "key", .window = UsageWindow::day}), Total(240'000, 240));
  EXPECT_EQ(number("SELECT count(*) FROM usage WHERE window = 'day' AND entity = 'key'"), 7);
  EXPECT_EQ(number("SELECT count(*) FROM usage WHERE window = 'hour' AND entity = 'key'"), 3 * 24);
  clock.advance(28 * 24h);
  clean();
  const auto [amount, events] = total(limiter, {.entity = "key"});
  EXPECT_LT(events, 5 * 24);
  EXPECT_EQ(amount, 1000 * events);
}

TEST_F(SqliteUsage, AFileOfThePreviousVersionCountsFromItsUpgradeOn) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 40}})->admitted());
  }
  run("DROP INDEX buckets_by_resource; DROP TABLE usage;"
      "ALTER TABLE buckets DROP COLUMN usage_hour_ms; ALTER TABLE buckets DROP COLUMN usage_segment;"
      "ALTER TABLE buckets DROP COLUMN usage_events; ALTER TABLE buckets DROP COLUMN usage_amounts;"
      "PRAGMA user_version = 2");
  Limiter limiter = open();
  EXPECT_EQ(limiter.buckets("key")->items[0].limits[0].consumed, Amount(40)) << "the bucket is the same";
  EXPECT_EQ(total(limiter), Total(0, 0));
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 5}})->admitted());
  EXPECT_EQ(total(limiter), Total(5000, 1));
}

TEST_F(SqliteUsage, RowsThatCannotBeUsedAreReportedAndKeepNothingFromWorking) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
    clock.advance(1h);
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  }
  run(R"(UPDATE usage SET amounts = '{"rpm":"many"}'; UPDATE buckets SET usage_amounts = '{"tpm":7}')");
  Limiter limiter = open();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 4}})->admitted());
  EXPECT_EQ(total(limiter), Total(4000, 1)) << "the hour counts from 0 again";
  std::string warnings;
  for (const std::string& warning : limiter.warnings()) warnings += warning + "\n";
  EXPECT_NE(warnings.find("the usage of \"key\" on \"r\""), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("left out"), std::string::npos) << warnings;
}

}  // namespace
}  // namespace weir
