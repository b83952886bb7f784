// Rows of a file that something else than weir has written.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "app/check_store.h"
#include "store/sqlite/database.h"
#include "support/folder.h"
#include "support/stored_records.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::Mutator;
using tests::StoredEntity;

class SqliteBadRows : public testing::Test {
 protected:
  /// In memory, where there is such a folder: what the disk keeps is not the question here.
  tests::Folder folder{std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                                 : std::filesystem::temp_directory_path()};
  const std::string path = folder.file("weir.db");
  FakeClock clock{1'700'000'000'000};

  Limiter open() {
    auto opened = Limiter::open("sqlite:" + path, {.clock = &clock});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  std::string findings() {
    const auto found = app::check_store("sqlite:" + path, {});
    std::string text;
    for (const auto& finding : *found) {
      if (finding.what.starts_with("record")) text += finding.detail + "\n";
    }
    return text;
  }
  void run(const std::string& sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::write);
    ASSERT_TRUE(database) << database.error().message;
    auto done = (*database)->execute(sql.c_str());
    ASSERT_TRUE(done) << done.error().message;
  }

  /// A column of a table, and what names the rows of an entity.
  struct Column {
    const char* table;
    const char* name;
    bool number;
    const char* of_entity;
  };
  static constexpr Column columns[] = {
      {"limits", "limits", false, "entity"},
      {"limits", "limits", false, "entity"},
      {"limits", "earlier", false, "entity"},
      {"limits", "stamp", true, "entity"},
      {"limits", "expires_at_ms", true, "entity"},
      {"limits", "bucket_ttl_refill_multiplier", true, "entity"},
      {"limits", "resource", false, "entity"},
      {"entities", "parent", false, "id"},
      {"entities", "metadata", false, "id"},
      {"entities", "created_at_ms", true, "id"},
      {"buckets", "balances", false, "entity"},
      {"buckets", "limit_set", true, "entity"},
      {"buckets", "refilled_at_ms", true, "entity"},
      {"buckets", "expires_at_ms", true, "entity"},
      {"buckets", "version", true, "entity"},
      {"buckets", "resource", false, "entity"},
      {"buckets", "usage_hour_ms", true, "entity"},
      {"buckets", "usage_segment", true, "entity"},
      {"buckets", "usage_events", true, "entity"},
      {"buckets", "usage_amounts", false, "entity"},
      {"usage", "start_ms", true, "entity"},
      {"usage", "events", true, "entity"},
      {"usage", "amounts", false, "entity"},
      {"leases", "amounts", false, nullptr},
      {"leases", "keys", false, nullptr},
      {"leases", "buckets", false, nullptr},
      {"leases", "deadline_ms", true, nullptr},
      {"limit_sets", "limits", false, nullptr},
  };

  /// Changes one column of a row of the entity, or of a row that entities share.
  static void damage(sqlite::Database& database, Mutator& random, const std::string& id) {
    const Column& column = columns[random.below(std::size(columns))];
    const std::string shared = std::string(column.name) + " IN (SELECT " + column.name + " FROM " +
                               column.table + " ORDER BY random() LIMIT 1)";
    const std::string where =
        " WHERE " +
        (column.of_entity == nullptr ? shared : std::string(column.of_entity) + " = '" + id + "'");
    std::string before;
    sqlite3_stmt* statement = nullptr;
    const std::string select =
        std::string("SELECT ") + column.name + " FROM " + column.table + where + " LIMIT 1";
    ASSERT_EQ(sqlite3_prepare_v2(database.handle(), select.c_str(), -1, &statement, nullptr), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
      before = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    const std::string update =
        std::string("UPDATE OR IGNORE ") + column.table + " SET " + column.name + " = ?1" + where;
    ASSERT_EQ(sqlite3_prepare_v2(database.handle(), update.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database.handle());
    const std::string text = random.text(before);
    if (column.number) {
      sqlite3_bind_int64(statement, 1, std::strtoll(random.number().c_str(), nullptr, 10));
    } else {
      sqlite3_bind_text(statement, 1, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    }
    sqlite3_step(statement);
    sqlite3_finalize(statement);
  }
};

TEST_F(SqliteBadRows, ARowOfLimitsThatCannotBeReadLeavesTheFileUsableAndIsReplaced) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::resource("r"), {{"rpm", "5/min"}}));
    ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
  }
  for (const char* const text :
       {R"({"rpm":{"capacity":200,"burst":100}})", R"({"rpm":{"capacity":1e13}})",
        R"({"rpm":{"capacity":-5}})", R"({"rpm":)", R"({"no name":{"capacity":5}})", "[]", "17"}) {
    SCOPED_TRACE(text);
    run(std::string("UPDATE limits SET limits = '") + text + "' WHERE entity = 'key'");
    EXPECT_NE(findings().find("entity \"key\" on resource \"r\""), std::string::npos) << findings();
    Limiter limiter = open();
    const auto got = limiter.limits(Level::entity("key", "r"));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::unavailable);
    ASSERT_EQ(limiter.warnings().size(), 1U);
    EXPECT_NE(limiter.warnings()[0].find("entity \"key\" on resource \"r\""), std::string::npos);
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::resource);
    EXPECT_EQ(limiter.list_limits()->items.size(), 1U);
    ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::entity);
  }
  EXPECT_EQ(findings(), "every record can be used\n");
}

TEST_F(SqliteBadRows, APlanHasTheRightMembersWhateverBecameOfTheirRows) {
  const LimitsPlan plan{.name = "gold", .limits = {{{"rpm", *Limit::parse("100/min")}}}};
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.put_plan(plan));
    for (const char* const id : {"again", "away", "erased"})
      ASSERT_TRUE(limiter.put_entity({.id = id, .plan = "gold"}));
  }
  run("UPDATE entities SET metadata = 'nonsense'");
  {
    Limiter limiter = open();
    EXPECT_EQ(limiter.delete_plan("gold").error().code, ErrorCode::conflict)
        << "their rows name it, and may be repaired by hand";
    ASSERT_TRUE(limiter.put_entity({.id = "again", .plan = "gold"}));
    ASSERT_TRUE(limiter.put_entity({.id = "away"}));
    ASSERT_TRUE(limiter.delete_entity("erased"));
    EXPECT_EQ(tests::members_of(limiter, "gold"), "again");
    EXPECT_EQ(limiter.delete_plan("gold").error().code, ErrorCode::conflict);
  }
  Limiter limiter = open();
  EXPECT_EQ(tests::members_of(limiter, "gold"), "again");
  EXPECT_EQ(limiter.effective_limits("again", "r")->source, Source::plan);
  ASSERT_TRUE(limiter.put_entity({.id = "again"}));
  EXPECT_TRUE(limiter.delete_plan("gold"));
}

TEST_F(SqliteBadRows, AParentHasTheRightChildrenWhateverBecameOfTheirRows) {
  {
    Limiter limiter = open();
    for (const char* const id : {"again", "away", "erased", "moved"})
      ASSERT_TRUE(limiter.put_entity({.id = id, .parent = "old"}));
  }
  run("UPDATE entities SET metadata = 'nonsense'");
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.put_entity({.id = "again", .parent = "old"}));
    ASSERT_TRUE(limiter.put_entity({.id = "away"}));
    ASSERT_TRUE(limiter.delete_entity("erased"));
    ASSERT_TRUE(limiter.put_entity({.id = "moved", .parent = "new"}));
    EXPECT_EQ(tests::children_of(limiter, "old"), "again");
  }
  Limiter limiter = open();
  EXPECT_EQ(tests::children_of(limiter, "old"), "again");
  EXPECT_EQ(tests::children_of(limiter, "new"), "moved");
}

TEST_F(SqliteBadRows, ABucketThatCannotBeReadIsAnErrorUntilItsEntityIsDeleted) {
  {
    Limiter limiter = open();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "5/min"}}));
    ASSERT_TRUE(limiter.put_entity({.id = "key"}));
    ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  }
  run("UPDATE buckets SET balances = '{\"rpm\":[9223372036854775807,0]}'");
  EXPECT_NE(findings().find("the bucket of \"key\" on \"r\""), std::string::npos) << findings();
  Limiter limiter = open();
  const auto decision = limiter.acquire("key", "r", {{"rpm", 1}});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(limiter.acquire("other", "r", {{"rpm", 1}})->admitted());
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "9/min"}}));
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
}

TEST_F(SqliteBadRows, RandomRowsAreErrorsOrAnswersAndCanBeRepaired) {
  Mutator random(19);
  constexpr std::size_t at_once = 100;
  constexpr std::size_t of_each = 3;
  const std::size_t records = tests::records_to_try(1000);
  for (std::size_t done = 0; done < records && !HasFailure(); done += of_each * at_once) {
    SCOPED_TRACE(done);
    std::filesystem::remove(path);
    std::vector<StoredEntity> entities;
    {
      Limiter limiter = open();
      tests::make_shared_records(limiter);
      for (std::size_t i = 0; i < at_once; ++i)
        entities.push_back(tests::make_records(limiter, "e" + std::to_string(i)));
    }
    {
      auto database = sqlite::Database::open(path, sqlite::Access::write);
      ASSERT_TRUE(database);
      ASSERT_TRUE((*database)->execute("BEGIN"));
      for (const StoredEntity& entity : entities) {
        for (std::size_t i = 0; i < of_each; ++i) damage(**database, random, entity.id);
      }
      ASSERT_TRUE((*database)->execute("COMMIT"));
    }
    EXPECT_NE(findings(), "every record can be used\n");
    Limiter limiter = open();
    tests::list_everything(limiter);
    for (const StoredEntity& entity : entities) {
      SCOPED_TRACE(entity.id);
      tests::read_everything(limiter, entity);
      tests::repair_everything(limiter, entity.id);
      if (HasFatalFailure()) return;
    }
    EXPECT_FALSE(limiter.warnings().empty());
  }
}

}  // namespace
}  // namespace weir
