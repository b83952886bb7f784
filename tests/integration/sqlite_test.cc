// What only a file can do: be there again, be somebody else's, be damaged, be full.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "app/check_store.h"
#include "app/open_store.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// Root may write everything, whatever its permissions say. From here on this process may not.
void give_up_privileges() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) ::_exit(1);
}

class SqliteFile : public testing::Test {
 protected:
  Result<Limiter> open(Options options = {}) {
    options.clock = &clock;
    return Limiter::open(url, options);
  }
  std::string error_of_opening() {
    auto limiter = open();
    return limiter ? "no error" : limiter.error().message;
  }
  std::shared_ptr<store::Store> open_store() {
    base::SystemEntropy entropy;
    return *app::open_store(url, {}, std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock),
                            entropy);
  }
  /// The file by another connection.
  std::int64_t number(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::read);
    EXPECT_TRUE(database) << database.error().message;
    auto result = (*database)->number(sql);
    EXPECT_TRUE(result) << result.error().message;
    return *result;
  }
  void run(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::write);
    ASSERT_TRUE(database) << database.error().message;
    auto done = (*database)->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::string bytes() const {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  void write_bytes(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }

  tests::Folder folder;
  std::string path = folder.file("weir.db");
  std::string url = "sqlite:" + path;
  FakeClock clock;
};

TEST_F(SqliteFile, WhatIsHeldOfConcurrentLimitsIsThereAgain) {
  std::string id;
  {
    auto limiter = *open();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"calls", "3:concurrent"}, {"rpm", "100/min"}}));
    auto decision = limiter.acquire("key", "gpt-4", {{"calls", 2}, {"rpm", 1}}, {.lease_for = 60s});
    ASSERT_TRUE(decision && decision->admitted());
    id = *decision->lease().id();
    ASSERT_TRUE(limiter.extend(id, 120s));
  }
  for (int i = 0; i < 2; ++i) {
    clock.advance(40s);
    auto limiter = *open();
    EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"calls", 2}})->refused());
    auto other = limiter.acquire("key", "gpt-4", {{"calls", 1}});
    ASSERT_TRUE(other->admitted());
    ASSERT_TRUE(other->lease().settle({}));
  }
  auto limiter = *open();
  const auto settled = limiter.settle(id, {{"rpm", 3}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"calls", 3}})->admitted());
}

TEST_F(SqliteFile, IsThereAgainAfterItWasClosed) {
  std::string lease;
  {
    auto limiter = open({.principal = "alice"});
    ASSERT_TRUE(limiter) << limiter.error().message;
    ASSERT_TRUE(
        limiter->set_limits(Level::system(), {{"rpm", "100/day"}},
                            {.bucket_ttl_refill_multiplier = 3, .on_unavailable = OnUnavailable::allow}));
    ASSERT_TRUE(limiter->set_limits(Level::resource("gpt-5"), {{"rpm", "100/day"}},
                                    {.usage = false, .inherit = true}));
    ASSERT_TRUE(limiter->set_limits(Level::entity("key", "gpt-4"), {{"rpm", "10/day:20"}},
                                    {.owner = Owner::sync, .expires_in = 1h, .from_file = true}));
    ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true, .name = "Key"}));
    lease = *limiter->acquire("key", "gpt-4", {{"rpm", 4}})->lease().id();
  }
  auto limiter = open();
  ASSERT_TRUE(limiter) << limiter.error().message;
  const auto system = limiter->limits(Level::system());
  EXPECT_EQ(system->bucket_ttl_refill_multiplier, 3);
  EXPECT_EQ(system->on_unavailable, OnUnavailable::allow);
  EXPECT_EQ(system->usage, std::nullopt);
  EXPECT_EQ(limiter->limits(Level::resource("gpt-5"))->usage, false);
  EXPECT_TRUE(limiter->limits(Level::resource("gpt-5"))->inherit);
  const auto own = limiter->limits(Level::entity("key", "gpt-4"));
  EXPECT_EQ(own->owner, Owner::sync);
  EXPECT_EQ(own->expires_at, clock.now() + 3'600'000);
  EXPECT_TRUE(own->from_file);
  EXPECT_EQ(limiter->entity("key")->parent, "project");
  EXPECT_EQ(limiter->children("project")->items, std::vector<std::string>{"key"});
  EXPECT_EQ(limiter->audit()->items.size(), 4U);
  EXPECT_EQ(limiter->audit()->items[0].principal, "alice");
  EXPECT_EQ(limiter->available("key", "gpt-4")->limits()[0].remaining, Amount(6));
  ASSERT_TRUE(limiter->rollback(lease));
  EXPECT_EQ(limiter->available("key", "gpt-4")->limits()[0].remaining, Amount(10));
}

TEST_F(SqliteFile, RemembersThatALeaseHasEnded) {
  std::string lease;
  {
    auto limiter = open();
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"tpm", "1000/day"}}));
    lease = *limiter->acquire("key", "r", {{"tpm", 500}})->lease().id();
    ASSERT_TRUE(limiter->adjust(lease, {{"tpm", 100}}, "k1"));
    ASSERT_TRUE(limiter->settle(lease, {{"tpm", 200}}));
  }
  auto limiter = open();
  EXPECT_TRUE(limiter->adjust(lease, {{"tpm", 100}}, "k1")) << "the same again";
  EXPECT_TRUE(limiter->settle(lease, {{"tpm", 200}})) << "the same again";
  EXPECT_FALSE(limiter->rollback(lease)) << "a different ending";
  EXPECT_EQ(limiter->available("key", "r")->limits()[0].remaining, Amount(800));
}

TEST_F(SqliteFile, KeepsWhatIsAdmittedInTheFileBeforeItAnswers) {
  auto limiter = open();
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/day"}}));
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
    EXPECT_EQ(number("SELECT tokens FROM balances"), 100 - i);
    EXPECT_EQ(number("SELECT consumed FROM balances"), i);
  }
}

TEST_F(SqliteFile, IsNotWrittenByRefusals) {
  auto limiter = open();
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "1/day"}}));
  ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  const auto store = open_store();
  auto& file = dynamic_cast<sqlite::SqliteStore&>(*store);
  ASSERT_TRUE(file.let_go_of_buckets());
  const auto before = file.counts().bucket_rows;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->refused());
  ASSERT_TRUE(file.let_go_of_buckets());
  EXPECT_LE(file.counts().bucket_rows, before + 1) << "the first may put the expiry off";
}

TEST_F(SqliteFile, IsSharedByLimitersInOneProgram) {
  auto first = open();
  auto second = open({.principal = "second"});
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(first->set_limits(Level::system(), {{"rpm", "1/day"}}));
  EXPECT_TRUE(first->acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_TRUE(second->acquire("key", "r", {{"rpm", 1}})->refused());
  FakeClock other;
  auto third = Limiter::open(url, {.clock = &other});
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().message.find("another clock"), std::string::npos) << third.error().message;
}

TEST_F(SqliteFile, BelongsToOneProcessAndSaysToWhich) {
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto limiter = open();
    char byte = limiter ? 'y' : 'n';
    static_cast<void>(::write(ready[1], &byte, 1));
    ::close(done[1]);
    static_cast<void>(::read(done[0], &byte, 1));
    ::_exit(0);
  }
  char byte = 'n';
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const std::string refused = error_of_opening();
  EXPECT_NE(refused.find("in use by"), std::string::npos) << refused;
  EXPECT_NE(refused.find("process " + std::to_string(child)), std::string::npos) << refused;
  ::close(done[0]);
  ::close(done[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(error_of_opening(), "no error") << "a process that ended without closing holds nothing";
}

TEST_F(SqliteFile, OfAnotherProgramIsLeftAlone) {
  run("CREATE TABLE notes (text)");
  const std::string before = bytes();
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("another program's"), std::string::npos) << message;
  EXPECT_EQ(bytes(), before);
}

TEST_F(SqliteFile, OfANewerVersionIsLeftAlone) {
  ASSERT_EQ(error_of_opening(), "no error");
  run("PRAGMA user_version = 99");
  const std::string before = bytes();
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("newer weir (file version 99"), std::string::npos) << message;
  EXPECT_EQ(bytes(), before);
}

TEST_F(SqliteFile, OfTheNextVersionIsLeftAlone) {
  ASSERT_EQ(error_of_opening(), "no error");
  ASSERT_EQ(number("PRAGMA user_version"), 3);
  run("PRAGMA user_version = 4");
  const std::string before = bytes();
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("newer weir (file version 4, this one knows 3)"), std::string::npos) << message;
  EXPECT_EQ(bytes(), before);
}

TEST_F(SqliteFile, WithAFeatureThatOnlyANewerWeirUnderstandsIsLeftAlone) {
  ASSERT_EQ(error_of_opening(), "no error");
  ASSERT_EQ(number("SELECT value FROM settings WHERE name = 'least_client'"), 2);
  run("UPDATE settings SET value = 6 WHERE name = 'least_client'");
  const std::string before = bytes();
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("only a newer weir understands (it asks for 6, this one knows 5)"),
            std::string::npos)
      << message;
  EXPECT_EQ(bytes(), before);
  const auto findings = app::check_store(url, {});
  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->back().severity, app::Severity::failure);
  EXPECT_EQ(findings->back().what, "schema");
}

TEST_F(SqliteFile, WithLimitsThatInheritShutsOutProgramsThatDoNotKnowThem) {
  {
    auto limiter = open();
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "10/min"}}));
    ASSERT_TRUE(limiter->set_limits(Level::resource("r"), {{"tpm", "10/min"}}));
  }
  EXPECT_EQ(number("SELECT value FROM settings WHERE name = 'least_client'"), 2);
  run("UPDATE limits SET later = '{\"new\":1}'");
  {
    auto limiter = open();
    ASSERT_TRUE(limiter->set_limits(Level::resource("r"), {{"tpm", "10/min"}}, {.inherit = true}));
  }
  EXPECT_EQ(number("SELECT value FROM settings WHERE name = 'least_client'"), 3);
  EXPECT_EQ(
      number("SELECT count(*) FROM limits WHERE resource = 'r' AND later = '{\"new\":1,\"inherit\":true}'"),
      1);
  {
    auto limiter = open();
    EXPECT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}, {"tpm", 1}})->admitted());
    ASSERT_TRUE(limiter->set_limits(Level::resource("r"), {{"tpm", "10/min"}}));
  }
  EXPECT_EQ(number("SELECT count(*) FROM limits WHERE resource = 'r' AND later = '{\"new\":1}'"), 1);
  EXPECT_EQ(number("SELECT value FROM settings WHERE name = 'least_client'"), 3) << "it is not lowered";
}

TEST_F(SqliteFile, KeepsFieldsOfLaterVersionsAsTheyAre) {
  const auto write = [this] {
    auto limiter = open();
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "10/min"}}));
    ASSERT_TRUE(limiter->put_entity({.id = "key", .name = std::to_string(clock.now())}));
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}}, {.idempotency_key = "once"})->admitted());
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  };
  write();
  for (const char* const table : {"limits", "entities", "buckets", "leases"})
    run(("UPDATE " + std::string(table) + " SET later = '{\"new\":1}'").c_str());
  const auto kept = [this](const std::string& table) {
    return number(("SELECT count(*) FROM " + table + " WHERE later = '{\"new\":1}'").c_str());
  };
  clock.advance(1s);
  write();
  for (const char* const table : {"limits", "entities", "buckets", "leases"})
    EXPECT_EQ(kept(table), 1) << table;
  clock.advance(8min);
  write();
  EXPECT_EQ(kept("buckets"), 0) << "it has expired and is another one";
  EXPECT_EQ(kept("limits"), 1);
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsLeftAlone) {
  write_bytes(std::string(5000, 'x'));
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("not a SQLite file"), std::string::npos) << message;
  EXPECT_EQ(bytes(), std::string(5000, 'x'));
}

TEST_F(SqliteFile, ThatIsDamagedSaysSo) {
  {
    auto limiter = open();
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/day"}}));
    for (int i = 0; i < 500; ++i)
      ASSERT_TRUE(limiter->set_limits(Level::resource("r" + std::to_string(i)), {{"rpm", "100/day"}}));
  }
  std::string content = bytes();
  for (std::size_t at = 8192; at + 64 < content.size(); at += 4096)
    content.replace(at, 64, std::string(64, '\xff'));
  write_bytes(content);
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("damaged"), std::string::npos) << message;
  EXPECT_EQ(bytes(), content);
  const auto findings = app::check_store(url, {});
  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->back().severity, app::Severity::failure);
}

TEST_F(SqliteFile, WhoseFolderDoesNotExistSaysSo) {
  url = "sqlite:" + folder.file("no/such/weir.db");
  const std::string message = error_of_opening();
  EXPECT_NE(message.find("folder exists"), std::string::npos) << message;
  url = "sqlite:" + folder.path();
  EXPECT_NE(error_of_opening(), "no error");
}

TEST_F(SqliteFile, IsOnlyMadeWhereThatWasAskedFor) {
  auto limiter = open({.create = false});
  ASSERT_FALSE(limiter);
  EXPECT_EQ(limiter.error().code, ErrorCode::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(SqliteFile, ThatMayNotBeWrittenSaysSo) {
  ASSERT_EQ(error_of_opening(), "no error");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    give_up_privileges();
    const std::string message = error_of_opening();
    static_cast<void>(::write(said[1], message.data(), message.size()));
    ::_exit(0);
  }
  ::close(said[1]);
  char text[1000] = {};
  static_cast<void>(::read(said[0], text, sizeof text - 1));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_NE(std::string(text).find("cannot be written"), std::string::npos) << text;
}

TEST_F(SqliteFile, IsCleanedOfWhatHasExpired) {
  auto limiter = open({.keep_audit_for = 24h});
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "10/min"}}));
  ASSERT_TRUE(limiter->set_limits(Level::entity("kept", "r"), {{"rpm", "10/min"}}));
  for (int i = 0; i < 1200; ++i)
    ASSERT_TRUE(limiter->acquire("once-" + std::to_string(i), "r", {{"rpm", 1}})->admitted());
  ASSERT_TRUE(limiter->acquire("kept", "r", {{"rpm", 1}})->admitted());
  const std::string lease = *limiter->acquire("kept", "r", {{"rpm", 1}})->lease().id();
  ASSERT_TRUE(limiter->rollback(lease));
  EXPECT_EQ(number("SELECT count(*) FROM buckets"), 1201);
  EXPECT_EQ(number("SELECT count(*) FROM leases"), 1);
  clock.advance(25h);
  auto& file = dynamic_cast<sqlite::SqliteStore&>(*open_store());
  // Three slices are one round, and it may be in the middle of one.
  for (int i = 0; i < 6; ++i) {
    auto cleaned = file.clean();
    ASSERT_TRUE(cleaned) << cleaned.error().message;
  }
  EXPECT_EQ(number("SELECT count(*) FROM buckets"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM leases"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM audit"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM limits"), 2);
}

TEST_F(SqliteFile, RemembersHowLongTheAuditIsKept) {
  {
    auto limiter = open({.keep_audit_for = 1h});
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "10/min"}}));
  }
  auto limiter = open();
  EXPECT_EQ(limiter->audit()->items.size(), 1U);
  clock.advance(1h);
  EXPECT_TRUE(limiter->audit()->items.empty());
}

TEST_F(SqliteFile, LeavesNothingBesideItWhenItIsClosed) {
  {
    ASSERT_TRUE(open());
  }
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(SqliteFile, IsFoundSoundByACheck) {
  EXPECT_EQ(app::check_store(url, {})->back().severity, app::Severity::failure) << "there is none yet";
  auto limiter = open();
  const auto findings = app::check_store(url, {});
  for (const auto& finding : *findings)
    EXPECT_EQ(finding.severity, app::Severity::ok) << finding.what << ": " << finding.detail;
}

}  // namespace
}  // namespace weir
