// The access rights of the file and its companions: the lease key is in the file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/check_store.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/schema.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class SqliteAccess : public testing::Test {
 protected:
  std::string error_of_opening() const {
    const auto limiter = Limiter::open("sqlite:" + path);
    return limiter ? "no error" : limiter.error().message;
  }
  static unsigned mode_of(const std::string& file) {
    struct stat found{};
    return ::lstat(file.c_str(), &found) == 0 ? found.st_mode & 07777U : 0;
  }
  std::string warning() const {
    std::string all;
    const auto findings = app::check_store("sqlite:" + path, {});
    for (const app::Finding& finding : *findings)
      if (finding.severity != app::Severity::ok) all += finding.what + ": " + finding.detail + "\n";
    return all;
  }
  static std::string content(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  tests::Folder folder;
  std::string path = folder.file("weir.db");
  std::string elsewhere = folder.file("elsewhere");
};

TEST_F(SqliteAccess, IsForTheOwnerAloneWhateverTheUmaskIs) {
  for (const mode_t umask : {0U, 022U, 077U, 0777U}) {
    tests::Folder own;
    const std::string file = own.file("weir.db");
    const mode_t before = ::umask(umask);
    auto limiter = Limiter::open("sqlite:" + file);
    ::umask(before);
    ASSERT_TRUE(limiter) << limiter.error().message;
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "3/min"}}));
    for (const char* const companion : {"", "-wal", "-shm", "-lock"})
      EXPECT_EQ(mode_of(file + companion), 0600U) << companion << " with umask " << umask;
  }
}

TEST_F(SqliteAccess, IsNotMadeThroughALinkThatLeadsNowhere) {
  ASSERT_EQ(::symlink(elsewhere.c_str(), path.c_str()), 0);
  EXPECT_NE(error_of_opening().find("is a symbolic link"), std::string::npos) << error_of_opening();
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
}

TEST_F(SqliteAccess, IsNotOpenedThroughALinkToAnotherFile) {
  std::ofstream(elsewhere) << "";
  ASSERT_EQ(::symlink(elsewhere.c_str(), path.c_str()), 0);
  EXPECT_NE(error_of_opening().find("is a symbolic link; name the file itself"), std::string::npos)
      << error_of_opening();
  EXPECT_EQ(content(elsewhere), "");
}

TEST_F(SqliteAccess, HasALockThatIsNotWrittenThroughALink) {
  std::ofstream(elsewhere) << "precious";
  ASSERT_EQ(::symlink(elsewhere.c_str(), (path + "-lock").c_str()), 0);
  EXPECT_NE(error_of_opening().find("weir.db-lock: is a symbolic link"), std::string::npos)
      << error_of_opening();
  EXPECT_EQ(content(elsewhere), "precious");
  EXPECT_EQ(sqlite::holder_of(path), std::nullopt);
}

TEST_F(SqliteAccess, HasALogThatIsNotWrittenThroughALink) {
  for (const char* const companion : {"-wal", "-shm"}) {
    tests::Folder own;
    const std::string file = own.file("weir.db");
    ASSERT_TRUE(Limiter::open("sqlite:" + file));
    std::ofstream(elsewhere) << "precious";
    std::filesystem::remove(file + companion);
    ASSERT_EQ(::symlink(elsewhere.c_str(), (file + companion).c_str()), 0);
    EXPECT_FALSE(Limiter::open("sqlite:" + file)) << companion;
    EXPECT_EQ(content(elsewhere), "precious") << companion;
  }
}

TEST_F(SqliteAccess, MayBeInAFolderThatALinkLeadsTo) {
  const std::string real = folder.file("real");
  const std::string link = folder.file("link");
  ASSERT_TRUE(std::filesystem::create_directory(real));
  ASSERT_EQ(::symlink(real.c_str(), link.c_str()), 0);
  path = link + "/weir.db";
  EXPECT_EQ(error_of_opening(), "no error");
  EXPECT_EQ(mode_of(real + "/weir.db"), 0600U);
}

TEST_F(SqliteAccess, OfOthersIsAWarningAndStaysAsItIs) {
  ASSERT_EQ(error_of_opening(), "no error");
  EXPECT_EQ(warning(), "");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(error_of_opening(), "no error");
  EXPECT_EQ(mode_of(path), 0644U);
  EXPECT_EQ(warning(), "permissions: other users can read " + path +
                           " (mode 644), and the key of the leases in it; run: chmod 600 " + path + "*\n");
}

TEST_F(SqliteAccess, OfANamespaceIsCheckedWithoutTheOthers) {
  for (const char* const name_space : {"team-1", "team-2"}) {
    auto limiter = Limiter::open("sqlite:" + path, {.name_space = name_space});
    ASSERT_TRUE(limiter) << limiter.error().message;
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "3/min"}}));
    ASSERT_TRUE(limiter->put_entity({.id = "e"}));
  }
  const auto told = [&](const std::string& name_space) {
    const auto findings = app::check_namespace("sqlite:" + path, {}, name_space);
    std::string all;
    for (const app::Finding& finding : *findings) all += finding.what + ": " + finding.detail + "\n";
    return all;
  };
  EXPECT_EQ(told("team-1"), "schema: version " + std::to_string(sqlite::schema_version) +
                                "\nintegrity: every page and index is sound\nlimits: 1\nlimits in plans: "
                                "0\nentities: 1\nbuckets: 0\n"
                                "expired buckets not cleaned yet: 0\naudit events: 2\n");
  EXPECT_NE(told("").find("limits: 2\nlimits in plans: 0\nentities: 2\n"), std::string::npos) << told("");
}

}  // namespace
}  // namespace weir
