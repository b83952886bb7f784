// Logs in folders that other users can write to, where any path may be a link that one of them made.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "decision_log/line_file.h"
#include "support/folder.h"
#include "telemetry/access_log.h"

namespace weir {
namespace {

class LogLinks : public testing::Test {
 protected:
  LogLinks() { std::ofstream(precious) << "precious"; }
  static std::string error_of_access_log(const std::string& path) {
    const auto log = telemetry::AccessLog::open(path, {});
    return log ? "no error" : log.error().message;
  }
  static std::string error_of_lines(const std::string& path) {
    const auto lines = decision_log::LineFile::open(path);
    return lines ? "no error" : lines.error().message;
  }
  void link_to(const std::string& target) const { ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0); }
  static void expect_refused(const std::string& error) {
    EXPECT_NE(error.find("it is a symbolic link in a folder that others can write to"), std::string::npos)
        << error;
  }

  tests::Folder folder;
  tests::Folder own;
  std::string path = folder.file("log");
  std::string precious = own.file("precious");
};

TEST_F(LogLinks, OfOtherUsersAreNotWrittenThrough) {
  link_to(precious);
  for (const mode_t mode : {01777U, 0777U}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    expect_refused(error_of_access_log(path));
    expect_refused(error_of_lines(path));
  }
  std::filesystem::remove(precious);
  expect_refused(error_of_access_log(path));
  expect_refused(error_of_lines(path));
  EXPECT_FALSE(std::filesystem::exists(precious)) << "nothing was made at its other end";
}

TEST_F(LogLinks, ThatAppearWhileALogIsOpenAreNotWrittenThrough) {
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  const auto log = telemetry::AccessLog::open(path, {});
  const auto lines = decision_log::LineFile::open(path);
  ASSERT_TRUE(log && lines);
  ASSERT_TRUE((*log)->reopen() && (*lines)->reopen());
  std::filesystem::remove(path);
  link_to(precious);
  expect_refused((*log)->reopen().error().message);
  expect_refused((*lines)->reopen().error().message);
}

TEST_F(LogLinks, InThePlaceOfTheNextMetricsFileAreNotWrittenThrough) {
  ASSERT_EQ(::symlink(precious.c_str(), (path + ".next").c_str()), 0);
  EXPECT_TRUE(base::replace_file(path, "metrics", 0644));
  EXPECT_EQ(base::read_file(path).value(), "metrics");
  EXPECT_EQ(base::read_file(precious).value(), "precious");
  EXPECT_TRUE(base::replace_file(path, "more metrics", 0644));
  EXPECT_EQ(base::read_file(path).value(), "more metrics");
}

TEST_F(LogLinks, InAFolderThatNobodyElseCanWriteToAreFollowed) {
  link_to(precious);
  EXPECT_EQ(error_of_access_log(path), "no error");
  EXPECT_EQ(error_of_lines(path), "no error");
}

TEST_F(LogLinks, OfTheSystemAndPipesAreFollowed) {
  for (const char* const device : {"/dev/stdout", "/dev/stderr", "/dev/null"}) {
    EXPECT_EQ(error_of_access_log(device), "no error") << device;
    EXPECT_EQ(error_of_lines(device), "no error") << device;
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(error_of_access_log(path), "no error");
  EXPECT_EQ(error_of_lines(path), "no error");
  ::close(reader);
}

}  // namespace
}  // namespace weir
