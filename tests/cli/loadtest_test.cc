// loadtest: calls to a service, their latencies, and the guard against loading somebody else's.
#include <gtest/gtest.h>

#include "cli/latencies.h"
#include "cli/served.h"
#include "cli/shell.h"

namespace weir::cli {
namespace {

using std::chrono::microseconds;

TEST(Latencies, HavePercentilesWithinAThirtySecond) {
  Latencies latencies;
  for (int i = 1; i <= 10'000; ++i) latencies.add(microseconds(i));
  EXPECT_EQ(latencies.count(), 10'000U);
  EXPECT_EQ(latencies.longest(), microseconds(10'000));
  EXPECT_EQ(latencies.mean(), microseconds(5000));
  for (const unsigned thousandths : {1U, 10U, 500U, 900U, 990U, 999U}) {
    const auto exact = static_cast<std::int64_t>(thousandths) * 10;
    const auto found = latencies.percentile(thousandths).count();
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact + exact / 32 + 1);
  }
  EXPECT_EQ(latencies.percentile(1000), microseconds(10'000));
}

TEST(Latencies, OfThreadsAreAdded) {
  Latencies a, b;
  EXPECT_EQ(a.percentile(500), microseconds(0));
  EXPECT_EQ(a.mean(), microseconds(0));
  EXPECT_TRUE(a.steps().empty());
  a.add(microseconds(3));
  b.add(microseconds(-5));
  b.add(std::chrono::hours(24 * 365));
  a.add(b);
  EXPECT_EQ(a.count(), 3U);
  EXPECT_EQ(a.percentile(1), microseconds(0));
  EXPECT_EQ(a.longest(), std::chrono::hours(24 * 365));
}

TEST(Latencies, ArePlottedByPowersOfTwo) {
  Latencies latencies;
  EXPECT_EQ(plot_of(latencies, Charset::ascii), "");
  for (int i = 0; i < 4; ++i) latencies.add(microseconds(900));
  latencies.add(microseconds(3000));
  EXPECT_EQ(plot_of(latencies, Charset::ascii),
            "below 1.02 ms  4  ########################################\n"
            "below 2.05 ms  0\n"
            "below 4.10 ms  1  ##########\n");
  EXPECT_EQ(latency_text(microseconds(850)), "850 us");
  EXPECT_EQ(latency_text(microseconds(12'340)), "12.3 ms");
  EXPECT_EQ(latency_text(microseconds(1'500'000)), "1.50 s");
}

class LoadTest : public testing::Test {
 protected:
  LoadTest() {
    shell.wait = [](std::chrono::milliseconds) { return true; };
  }
  int run(const std::string& line) { return shell.run(line + " --server " + served.url()); }
  bool shows(const std::string& text) const { return shell.out.find(text) != std::string::npos; }
  std::string complaint(const std::string& line) {
    EXPECT_EQ(shell.run(line), 2) << line;
    return shell.err.substr(0, shell.err.find('\n'));
  }

  Shell shell;
  Served served{"memory:", shell.clock};
};

TEST_F(LoadTest, CountsEveryCall) {
  ASSERT_EQ(run("loadtest key-1 gpt-4 -c rpm=1 -l rpm:1000/min --requests 300 --concurrency 3"), 0)
      << shell.err;
  EXPECT_TRUE(shell.out.starts_with("requests  300 in ")) << shell.out;
  EXPECT_TRUE(shows(" a second, 3 at a time\nadmitted  300\nlatency   p50 ")) << shell.out;
  EXPECT_TRUE(shows("below ")) << shell.out;
  EXPECT_FALSE(shows("refused"));
  ASSERT_EQ(run("available key-1 gpt-4 -l rpm:1000/min -o json"), 0) << shell.err;
  EXPECT_TRUE(shows("\"remaining\":699")) << "the first call checks the request: " << shell.out;
}

TEST_F(LoadTest, CountsRefusalsAsAnswers) {
  ASSERT_EQ(run("loadtest key-1 gpt-4 -c rpm=1 -l rpm:11/min --requests 50 --rate 100000 -o json"), 0)
      << shell.err;
  EXPECT_TRUE(
      shows(R"("concurrency":8,"admitted":10,"refused":40,"degraded":0,"failed":0,"latency_ms":{"mean":)"))
      << shell.out;
  EXPECT_TRUE(shows(R"("steps":[{"below_ms":)")) << shell.out;
}

TEST_F(LoadTest, EndsWhenTheUserEndsIt) {
  shell.wait = [](std::chrono::milliseconds) { return false; };
  ASSERT_EQ(run("loadtest key-1 gpt-4 -c rpm=1 -l rpm:10 --rate 1 --concurrency 1 --duration 1h"), 0)
      << shell.err;
  EXPECT_TRUE(shell.out.starts_with("requests  ")) << shell.out;
}

TEST_F(LoadTest, ThatCannotWorkSaysWhy) {
  EXPECT_EQ(run("loadtest key-1 gpt-4 -c rpm=1 --requests 5"), 1);
  EXPECT_NE(shell.err.find("no limits"), std::string::npos) << shell.err;
  EXPECT_EQ(
      complaint("loadtest key-1 gpt-4 -c rpm=1"),
      "weir: a load test asks a service; say which with --server, such as --server http://127.0.0.1:8080");
  EXPECT_EQ(complaint("loadtest key-1 gpt-4 -c rpm=1 --server http://limits.example.com"),
            "weir: \"limits.example.com\" is not this machine; if the service there is yours, and may be "
            "loaded, add "
            "--confirm limits.example.com");
  EXPECT_NE(
      complaint("loadtest key-1 gpt-4 -c rpm=1 --server http://127.example.com").find("is not this machine"),
      std::string::npos);
  EXPECT_EQ(complaint("loadtest key-1 gpt-4 -c rpm=1 --server http://limits.example.com --confirm yes"),
            "weir: --confirm \"yes\" is not the host of --server, which is \"limits.example.com\"");
  const std::string here = "loadtest key-1 gpt-4 -c rpm=1 --server http://127.0.0.1:1 ";
  EXPECT_EQ(complaint(here + "--requests 5 --duration 5s"),
            "weir: --requests and --duration both say when to end; say one");
  EXPECT_EQ(complaint(here + "--duration 2h"), "weir: --duration must be from 1ms to 1h");
  EXPECT_NE(complaint(here + "--concurrency 0").find("--concurrency"), std::string::npos);
  EXPECT_NE(complaint(here + "--rate fast").find("--rate"), std::string::npos);
}

}  // namespace
}  // namespace weir::cli
