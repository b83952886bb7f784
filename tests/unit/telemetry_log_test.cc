// Lines of logs: readable by people and programs, whatever stands in them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/folder.h"
#include "telemetry/access_log.h"
#include "telemetry/log.h"

namespace weir::telemetry {
namespace {

using namespace std::chrono_literals;

constexpr Time then = 1'700'000'000'123;

std::string line(LogFormat format, std::string_view message, std::initializer_list<LogField> fields = {}) {
  std::ostringstream out;
  const FakeClock clock(then);
  Log(out, clock, {.format = format}).info(message, fields);
  return out.str();
}

TEST(LogLine, IsTimeLevelMessageAndFields) {
  EXPECT_EQ(
      line(LogFormat::text, "the store is unavailable", {{"error", "disk is full"}, {"tries", "3", true}}),
      "2023-11-14T22:13:20.123Z info the store is unavailable error=\"disk is full\" tries=3\n");
  EXPECT_EQ(
      line(LogFormat::json, "the store is unavailable", {{"error", "disk is full"}, {"tries", "3", true}}),
      R"({"time":"2023-11-14T22:13:20.123Z","level":"info","message":"the store is unavailable",)"
      R"("error":"disk is full","tries":3})"
      "\n");
}

TEST(LogLine, KeepsTheMillisecondsOfTimesBeforeTheEpoch) {
  std::string out;
  append_line(out, LogFormat::text, -1, "info", "m", {});
  EXPECT_EQ(out, "1969-12-31T23:59:59.999Z info m\n");
}

std::string text_value(std::string_view value) {
  const std::string all = line(LogFormat::text, "m", {{"f", value}});
  const std::string before = "2023-11-14T22:13:20.123Z info m f=";
  EXPECT_TRUE(all.starts_with(before)) << all;
  return all.substr(before.size());
}

TEST(LogLine, StaysOneLineWhateverIsInIt) {
  EXPECT_EQ(text_value("a\nb"), "a\\nb\n");
  EXPECT_EQ(text_value("a\r\n2023-11-14T22:13:20.123Z info forged x=1"),
            "\"a\\r\\n2023-11-14T22:13:20.123Z info forged x=1\"\n");
  EXPECT_EQ(text_value("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f\n");
  EXPECT_EQ(text_value("a\" b=\"c"), "\"a\\\" b=\\\"c\"\n");
  EXPECT_EQ(text_value("back\\slash"), "back\\\\slash\n");
  EXPECT_EQ(text_value(""), "\"\"\n");
  EXPECT_EQ(text_value(std::string("nul\0", 4)), "nul\\x00\n");
  EXPECT_EQ(text_value("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f\n");
  EXPECT_EQ(text_value("\xff\xc3"), "\\xff\\xc3\n");
  EXPECT_EQ(text_value("\xc2\x9b"
                       "31m"),
            "\\xc2\\x9b31m\n");
  EXPECT_EQ(text_value("\xe2\x80\xae"
                       "abc"),
            "\\xe2\\x80\\xaeabc\n");
  EXPECT_EQ(text_value("\xe2\x82\xac"), "\xe2\x82\xac\n");
  EXPECT_EQ(line(LogFormat::text, "a\nb"), "2023-11-14T22:13:20.123Z info a\\nb\n");
}

TEST(LogLine, IsOneJsonObjectWhateverIsInIt) {
  const auto value = [](std::string_view text) {
    const std::string all = line(LogFormat::json, "m", {{"f", text}});
    const std::string before = R"({"time":"2023-11-14T22:13:20.123Z","level":"info","message":"m","f":)";
    EXPECT_TRUE(all.starts_with(before)) << all;
    return all.substr(before.size(), all.size() - before.size() - 2);
  };
  EXPECT_EQ(value("a\nb"), R"("a\u000ab")");
  EXPECT_EQ(value("\",\"level\":\"error"), R"("\",\"level\":\"error")");
  EXPECT_EQ(value("\x1b[0m\x7f"), R"("\u001b[0m\u007f")");
  EXPECT_EQ(value("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(value("\xc2\x9b"), R"("\u009b")");
  EXPECT_EQ(value("\xe2\x80\xa8\xe2\x81\xa6"), R"("\u2028\u2066")");
  EXPECT_EQ(value("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(Log, LeavesOutWhatIsLessThanItsLevel) {
  std::ostringstream out;
  const FakeClock clock(then);
  Log log(out, clock, {.level = LogLevel::warning});
  log.write(LogLevel::debug, "one");
  log.info("two");
  log.warning("three");
  log.write(LogLevel::error, "four");
  EXPECT_EQ(out.str(), "2023-11-14T22:13:20.123Z warning three\n2023-11-14T22:13:20.123Z error four\n");
}

TEST(Log, KnowsItsWords) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("error"), LogLevel::error);
  EXPECT_EQ(parse_log_level("ERROR"), std::nullopt);
  EXPECT_EQ(parse_log_format("json"), LogFormat::json);
  EXPECT_EQ(parse_log_format("text"), LogFormat::text);
  EXPECT_EQ(parse_log_format(""), std::nullopt);
}

TEST(Log, KeepsLinesOfSeveralThreadsWhole) {
  std::ostringstream out;
  const FakeClock clock(then);
  Log log(out, clock, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log.info("a message", {{"field", "value"}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(out.str());
  int count = 0;
  for (std::string one; std::getline(lines, one); ++count)
    EXPECT_EQ(one, "2023-11-14T22:13:20.123Z info a message field=value");
  EXPECT_EQ(count, 800);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Waits until the file says what is wanted; what it says after a long time if it never does.
std::string content_once(const std::string& path, const std::string& wanted) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (content(path) != wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return content(path);
}

Access some_access() {
  return {.at = then,
          .remote = "127.0.0.1:50000",
          .method = "POST",
          .path = "/v1/acquire",
          .status = 200,
          .bytes = 312,
          .took = 45'678ns,
          .request_id = "weir-1"};
}

class AccessLogs : public testing::Test {
 protected:
  std::unique_ptr<AccessLog> open(const AccessLogOptions& options) {
    auto opened = AccessLog::open(path, options);
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  tests::Folder folder_;
  const std::string path = folder_.file("access.log");
  const std::string text =
      "2023-11-14T22:13:20.123Z info request remote=127.0.0.1:50000 method=POST path=/v1/acquire status=200 "
      "bytes=312 duration_ms=0.046 request_id=weir-1\n";
};

TEST_F(AccessLogs, HaveALineForEachRequestWhenTheyEnd) {
  auto log = open({.flush_every = 1h});
  log->add(some_access());
  Access more = some_access();
  more.principal = "alice";
  more.name_space = "team-2";
  more.trace_id = "0af7651916cd43dd8448eb211c80319c";
  log->add(more);
  EXPECT_EQ(content(path), "");
  log.reset();
  EXPECT_EQ(content(path),
            text + text.substr(0, text.size() - 1) +
                " principal=alice namespace=team-2 trace_id=0af7651916cd43dd8448eb211c80319c\n");
}

TEST_F(AccessLogs, CanBeJson) {
  open({.format = LogFormat::json, .flush_every = 1h})->add(some_access());
  EXPECT_EQ(content(path),
            R"({"time":"2023-11-14T22:13:20.123Z","level":"info","message":"request",)"
            R"("remote":"127.0.0.1:50000","method":"POST","path":"/v1/acquire","status":200,"bytes":312,)"
            R"("duration_ms":0.046,"request_id":"weir-1"})"
            "\n");
}

TEST_F(AccessLogs, AreWrittenSoonWithoutFurtherRequests) {
  const auto log = open({.flush_every = 1ms});
  log->add(some_access());
  EXPECT_EQ(content_once(path, text), text);
}

TEST_F(AccessLogs, AreWrittenAtOnceWhenThereIsMuch) {
  const auto log = open({.flush_every = 1h, .flush_at = 2 * text.size()});
  log->add(some_access());
  log->add(some_access());
  EXPECT_EQ(content_once(path, text + text), text + text);
}

TEST_F(AccessLogs, LoseLinesRatherThanFillTheMemory) {
  auto log = open({.flush_every = 1h, .most = 2 * text.size() + 1});
  for (int i = 0; i < 5; ++i) log->add(some_access());
  EXPECT_EQ(log->lost(), 3U);
  log.reset();
  EXPECT_EQ(content(path), text + text);
}

TEST_F(AccessLogs, CountWhatADiskDoesNotTake) {
  ASSERT_TRUE(std::filesystem::exists("/dev/full"));
  auto opened = AccessLog::open("/dev/full", {.flush_every = 1ms});
  ASSERT_TRUE(opened);
  (*opened)->add(some_access());
  (*opened)->add(some_access());
  const auto end = std::chrono::steady_clock::now() + 60s;
  while ((*opened)->lost() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ((*opened)->lost(), 2U);
}

TEST_F(AccessLogs, GoOnInANewFileAfterTheOldOneWasMoved) {
  auto log = open({.flush_every = 1ms});
  log->add(some_access());
  ASSERT_EQ(content_once(path, text), text);
  std::filesystem::rename(path, path + ".1");
  ASSERT_TRUE(log->reopen());
  log->add(some_access());
  EXPECT_EQ(content_once(path, text), text);
  EXPECT_EQ(content(path + ".1"), text);
}

TEST_F(AccessLogs, AreForNobodyElseToRead) {
  open({});
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07U, 0U);
}

TEST_F(AccessLogs, ThatCannotBeOpenedSaySo) {
  const auto opened = AccessLog::open(folder_.file("nowhere/access.log"), {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("nowhere/access.log cannot be written"), std::string::npos);
}

TEST_F(AccessLogs, KeepLinesOfSeveralThreadsWhole) {
  auto log = open({.flush_every = 1ms, .flush_at = 1000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) log->add(some_access());
    });
  }
  for (std::thread& thread : threads) thread.join();
  log.reset();
  std::string wanted;
  for (int i = 0; i < 2000; ++i) wanted += text;
  EXPECT_TRUE(content(path) == wanted);
}

}  // namespace
}  // namespace weir::telemetry
