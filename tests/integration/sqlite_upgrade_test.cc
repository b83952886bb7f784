// Files of the previous version.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/check_store.h"
#include "app/migrate_store.h"
#include "integration/version_1.h"
#include "store/sqlite/database.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class FileOfVersion1 : public testing::Test {
 protected:
  FileOfVersion1() {
    auto database = sqlite::Database::open(path, sqlite::Access::write);
    EXPECT_TRUE(database) << database.error().message;
    auto written = (*database)->execute(version_1::file);
    EXPECT_TRUE(written) << written.error().message;
  }
  /// As the one whose acquires are in the file.
  Limiter open() {
    auto limiter = Limiter::open(url, {.clock = &clock, .principal = "anonymous"});
    EXPECT_TRUE(limiter) << limiter.error().message;
    return *std::move(limiter);
  }
  std::int64_t number(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::read);
    auto result = (*database)->number(sql);
    EXPECT_TRUE(result) << result.error().message;
    return *result;
  }
  std::string bytes() const {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  static BucketLimit limit_of(Limiter& limiter, const char* entity, std::string_view name) {
    const auto buckets = limiter.buckets(entity);
    EXPECT_EQ(buckets->items.size(), 1U);
    for (const BucketLimit& limit : buckets->items[0].limits) {
      if (limit.name == name) return limit;
    }
    ADD_FAILURE() << entity << " has no " << name;
    return buckets->items[0].limits[0];
  }

  tests::Folder folder;
  std::string path = folder.file("weir.db");
  std::string url = "sqlite:" + path;
  FakeClock clock{version_1::written_at};
};

TEST_F(FileOfVersion1, KeepsItsLimitsEntitiesAndAudit) {
  Limiter limiter = open();
  EXPECT_EQ(number("PRAGMA user_version"), 3);
  EXPECT_TRUE(limiter.warnings().empty());
  const auto system = limiter.limits(Level::system());
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(system->limits[1].limit, *Limit::parse("50000/day"));
  EXPECT_EQ(system->bucket_ttl_refill_multiplier, 3);
  EXPECT_EQ(system->on_unavailable, OnUnavailable::allow);
  EXPECT_FALSE(limiter.limits(Level::resource("gpt-4"))) << "deleted";
  const auto synced = limiter.limits(Level::entity("key", "other"));
  EXPECT_EQ(synced->owner, Owner::sync);
  EXPECT_EQ(synced->expires_at, 1794973512135);
  const auto entity = limiter.entity("key");
  EXPECT_EQ(entity->parent, "project");
  EXPECT_TRUE(entity->cascade);
  EXPECT_EQ(entity->metadata.at("team"), "a");
  EXPECT_EQ(limiter.audit()->items.size(), 7U);
  ASSERT_TRUE(limiter.set_limits(Level::resource("gpt-4"), {{"rpm", "5/day"}})) << "and can be changed";
  EXPECT_EQ(limiter.audit()->items.size(), 8U);
}

TEST_F(FileOfVersion1, KeepsItsBucketsAndTheirDormantLimits) {
  Limiter limiter = open();
  EXPECT_EQ(limit_of(limiter, "key", "rpm").consumed, Amount(7));
  EXPECT_EQ(limit_of(limiter, "project", "tpm").consumed, Amount(1200));
  const BucketLimit old = limit_of(limiter, "dozy", "old");
  EXPECT_FALSE(old.in_force);
  EXPECT_EQ(old.tokens, Amount(60));
  ASSERT_TRUE(limiter.acquire("dozy", "gpt-4", {{"rpm", 8}})->admitted());
  EXPECT_TRUE(limiter.acquire("dozy", "gpt-4", {{"rpm", 1}})->refused());
  ASSERT_TRUE(limiter.set_limits(Level::entity("dozy", "gpt-4"), {{"rpm", "10/day"}, {"old", "100/day"}}));
  EXPECT_TRUE(limiter.acquire("dozy", "gpt-4", {{"old", 61}})->refused())
      << "it comes back with what it held";
  EXPECT_TRUE(limiter.acquire("dozy", "gpt-4", {{"old", 60}})->admitted());
}

TEST_F(FileOfVersion1, AnswersAnAcquireThatIsRepeatedAndGivesNothingBackForIt) {
  Limiter limiter = open();
  const auto consumed = [&] { return limit_of(limiter, "key", "rpm").consumed; };
  auto again = limiter.acquire("key", "gpt-4", {{"rpm", 6}, {"tpm", 1000}}, {.idempotency_key = "once-1"});
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->admitted());
  EXPECT_EQ(consumed(), Amount(7)) << "nothing is charged";
  const auto rolled_back = again->lease().rollback();
  ASSERT_TRUE(rolled_back) << rolled_back.error().message;
  EXPECT_EQ(consumed(), Amount(7)) << "which bucket it charged is not known";
  EXPECT_EQ(limit_of(limiter, "project", "rpm").consumed, Amount(7));
}

TEST_F(FileOfVersion1, RemembersHowALeaseEnded) {
  Limiter limiter = open();
  EXPECT_TRUE(limiter.adjust(version_1::settled_lease, {{"tpm", 100}}, "more")) << "the same again";
  EXPECT_TRUE(limiter.settle(version_1::settled_lease, {{"tpm", 200}})) << "the same again";
  EXPECT_FALSE(limiter.rollback(version_1::settled_lease)) << "a different ending";
  EXPECT_EQ(limit_of(limiter, "key", "tpm").consumed, Amount(1200));
}

TEST_F(FileOfVersion1, IsTheSameWhenItIsOpenedAgain) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}}, {.idempotency_key = "once-2"})->admitted());
  }
  Limiter limiter = open();
  EXPECT_EQ(limit_of(limiter, "key", "rpm").consumed, Amount(8));
  auto again = limiter.acquire("key", "gpt-4", {{"rpm", 1}}, {.idempotency_key = "once-2"});
  ASSERT_TRUE(again->admitted());
  ASSERT_TRUE(again->lease().rollback());
  EXPECT_EQ(limit_of(limiter, "key", "rpm").consumed, Amount(7))
      << "of a lease of version 2 the bucket is known";
  const auto findings = app::check_store(url, {.clock = &clock});
  ASSERT_TRUE(findings);
  for (const auto& finding : *findings)
    EXPECT_EQ(finding.severity, app::Severity::ok) << finding.what << ": " << finding.detail;
}

TEST_F(FileOfVersion1, IsBroughtUpToDateByMigrate) {
  const std::string before = bytes();
  auto dry = app::migrate_store(url, {.dry_run = true});
  ASSERT_TRUE(dry) << dry.error().message;
  EXPECT_EQ(dry->state, "pending");
  EXPECT_EQ(bytes(), before);
  const auto checked = app::check_store(url, {.clock = &clock});
  EXPECT_EQ(checked->back().severity, app::Severity::warning);
  EXPECT_NE(checked->back().detail.find("earlier version"), std::string::npos) << checked->back().detail;
  auto done = app::migrate_store(url, {.dry_run = false});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->state, "done");
  EXPECT_EQ(number("PRAGMA user_version"), 3);
  EXPECT_EQ(app::migrate_store(url, {.dry_run = true})->state, "done");
}

TEST_F(FileOfVersion1, ThatWasWrittenWhileTheClockWasAheadSaysSo) {
  clock.advance(-24h * 104);
  Limiter limiter = open();
  ASSERT_EQ(limiter.warnings().size(), 1U);
  EXPECT_NE(limiter.warnings()[0].find("104 days ahead"), std::string::npos) << limiter.warnings()[0];
}

TEST_F(FileOfVersion1, ThatDoesNotExistIsNotMadeByMigrate) {
  const auto missing = app::migrate_store("sqlite:" + folder.file("other.db"), {.dry_run = false});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace weir
