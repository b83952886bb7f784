// usage: tables, the top, bars, CSV, JSON, and following.
#include <gtest/gtest.h>

#include "cli/shell.h"
#include "cli/usage_chart.h"
#include "cli/usage_range.h"

namespace weir::cli {
namespace {

constexpr Time midnight = 1'700'006'400'000;  // 2023-11-15, the day of the clock
constexpr std::chrono::milliseconds an_hour = std::chrono::hours(1);

class UsageCommand : public testing::Test {
 protected:
  UsageCommand() {
    shell.clock.set(midnight);
    EXPECT_EQ(shell.run("limits set --system -l rpm:100/s -l tpm:100000/s"), 0) << shell.err;
  }
  void charge(const std::string& entity, const std::string& resource, const std::string& amounts) {
    ASSERT_EQ(shell.run("acquire " + entity + " " + resource + " " + amounts), 0) << shell.err;
    shell.clock.advance(std::chrono::seconds(2));
  }
  /// A day of two keys; the clock is at noon of the next.
  void spend_a_day() {
    charge("key-1", "gpt-4", "-c rpm=1 -c tpm=500");
    shell.clock.advance(an_hour);
    for (int i = 0; i < 4; ++i) charge("key-1", "gpt-4", "-c rpm=1 -c tpm=1000.5");
    charge("key-2", "gpt-4", "-c rpm=2 -c tpm=20000");
    charge("key-1", "embed", "-c rpm=1");
    shell.clock.set(midnight + 5 * an_hour.count());
    charge("key-1", "gpt-4", "-c rpm=1");
    shell.clock.set(midnight + 36 * an_hour.count());
  }
  bool shows(const std::string& text) const { return shell.out.find(text) != std::string::npos; }
  bool complains(const std::string& text) const { return shell.err.find(text) != std::string::npos; }

  Shell shell;
};

TEST_F(UsageCommand, ShowsALineForEachEntityAndResource) {
  spend_a_day();
  ASSERT_EQ(shell.run("usage key-1 --from yesterday --to today"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "2023-11-15 00:00 to 2023-11-16 00:00 UTC\n"
            "ENTITY  RESOURCE  rpm    tpm  EVENTS  EVENTS PER HOUR\n"
            "key-1   embed       1      0       1  .#......................\n"
            "key-1   gpt-4       6  4,502       6  ,#...,..................\n");
  shell.environment["LANG"] = "de_DE.UTF-8";
  ASSERT_EQ(shell.run("usage key-1 --from yesterday --to today --resource gpt-4 --by tpm"), 0) << shell.err;
  EXPECT_TRUE(shows("tpm PER HOUR\n")) << shell.out;
  EXPECT_TRUE(shows("▁█······")) << shell.out;
  ASSERT_EQ(shell.run("usage key-1 --window day --from 2023-11-01 --resource gpt-4"), 0) << shell.err;
  EXPECT_TRUE(shows("2023-11-01 00:00 to 2023-11-17 00:00 UTC\n")) << shell.out;
  EXPECT_TRUE(shows("EVENTS PER DAY\n")) << shell.out;
  EXPECT_TRUE(shows("·············█·\n")) << shell.out;
  ASSERT_EQ(shell.run("usage key-1 --from 8d --resource gpt-4"), 0) << shell.err;
  EXPECT_TRUE(shows("EVENTS PER 5 HOURS\n")) << shell.out;
}

TEST_F(UsageCommand, TellsWhoUsedAResourceMostYesterdayAndWhen) {
  spend_a_day();
  ASSERT_EQ(shell.run("usage --resource gpt-4 --top 1 --from yesterday --to today"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "2023-11-15 00:00 to 2023-11-16 00:00 UTC\n"
            "ENTITY  RESOURCE  rpm    tpm  EVENTS  MOST AT           EVENTS PER HOUR\n"
            "key-1   gpt-4       6  4,502       6  2023-11-15 01:00  ,#...,..................\n"
            "\n"
            "key-1 on gpt-4: rpm 6, tpm 4,502, 6 events\n"
            "2023-11-15 00:00  1  ##########\n"
            "2023-11-15 01:00  4  ########################################\n"
            "...\n"
            "2023-11-15 05:00  1  ##########\n");
  ASSERT_EQ(shell.run("usage --resource gpt-4 --top 2 --by tpm --from yesterday --to today"), 0) << shell.err;
  EXPECT_LT(shell.out.find("key-2"), shell.out.find("key-1")) << shell.out;
  ASSERT_EQ(shell.run("usage key-1 --top 5 --from yesterday --to today"), 0) << shell.err;
  EXPECT_LT(shell.out.find("gpt-4"), shell.out.find("embed")) << shell.out;
}

TEST_F(UsageCommand, SumsTheChildrenOfAnEntity) {
  ASSERT_EQ(shell.run("entity create key-1 --parent team --cascade"), 0) << shell.err;
  ASSERT_EQ(shell.run("entity create key-2 --parent team"), 0) << shell.err;
  spend_a_day();
  ASSERT_EQ(shell.run("usage --children-of team --from yesterday --to today"), 0) << shell.err;
  EXPECT_TRUE(shows("key-1   embed"));
  EXPECT_TRUE(shows("key-2   gpt-4")) << shell.out;
  EXPECT_FALSE(shows("team"));
  ASSERT_EQ(shell.run("usage team --from yesterday --to today"), 0) << shell.err;
  EXPECT_TRUE(shows("team    gpt-4       6  4,502")) << "cascade charges it, too\n" << shell.out;
  ASSERT_EQ(shell.run("usage --children-of team --top 1 --from yesterday --to today"), 0) << shell.err;
  EXPECT_TRUE(shows("key-1   every       7  4,502")) << shell.out;
}

TEST_F(UsageCommand, PrintsJsonAndCsv) {
  spend_a_day();
  ASSERT_EQ(shell.run("usage key-2 --from yesterday --to today -o json"), 0) << shell.err;
  EXPECT_EQ(
      shell.out,
      R"({"usage":[{"entity":"key-2","resource":"gpt-4","window":"hour","start":"2023-11-15T01:00:00Z",)"
      R"("limits":{"rpm":2,"tpm":20000},"events":1}]})"
      "\n");
  ASSERT_EQ(shell.run("usage key-1 --resource gpt-4 --from yesterday --to today -o csv"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "entity,resource,window,start,limit,amount,events\n"
            "key-1,gpt-4,hour,2023-11-15T00:00:00Z,rpm,1,1\n"
            "key-1,gpt-4,hour,2023-11-15T00:00:00Z,tpm,500,\n"
            "key-1,gpt-4,hour,2023-11-15T01:00:00Z,rpm,4,4\n"
            "key-1,gpt-4,hour,2023-11-15T01:00:00Z,tpm,4002,\n"
            "key-1,gpt-4,hour,2023-11-15T05:00:00Z,rpm,1,1\n");
  ASSERT_EQ(shell.run("usage --resource embed --top 3 --window day --from 2d -o json"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            R"({"usage":[],"top":[{"entity":"key-1","resource":"embed","limits":{"rpm":1},"events":1,)"
            R"("series":[{"entity":"key-1","resource":"embed","window":"day","start":"2023-11-15T00:00:00Z",)"
            R"("limits":{"rpm":1},"events":1}]}]})"
            "\n");
  ASSERT_EQ(shell.run("usage key-9 -o json"), 0) << shell.err;
  EXPECT_EQ(shell.out, "{\"usage\":[]}\n");
}

TEST_F(UsageCommand, DrawsABarForEachWindow) {
  spend_a_day();
  shell.environment["LC_ALL"] = "C.utf8";
  ASSERT_EQ(shell.run("usage --resource gpt-4 --plot --by tpm --from yesterday --to today"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "2023-11-15 00:00 to 2023-11-16 00:00 UTC, bars: tpm\n"
            "key-1 on gpt-4: rpm 6, tpm 4,502, 6 events\n"
            "2023-11-15 00:00    500  █████\n"
            "2023-11-15 01:00  4,002  ████████████████████████████████████████\n"
            "...\n"
            "2023-11-15 05:00      0\n"
            "\n"
            "key-2 on gpt-4: rpm 2, tpm 20,000, 1 event\n"
            "2023-11-15 01:00  20,000  ████████████████████████████████████████\n");
}

TEST_F(UsageCommand, FollowsWhatChangesUntilTheUserEndsIt) {
  charge("key-1", "gpt-4", "-c rpm=1 -c tpm=500");
  int looks = 0;
  bool charged = true;
  shell.wait = [&](std::chrono::milliseconds time) {
    EXPECT_EQ(time, std::chrono::seconds(5));
    if (looks == 0) charged = charged && shell.limiter->acquire("key-1", "gpt-4", {{"rpm", 2}}).ok();
    if (looks == 1) charged = charged && shell.limiter->acquire("key-1", "embed", {{"rpm", 1}}).ok();
    return ++looks < 4;
  };
  ASSERT_EQ(shell.run("usage key-1 --follow --interval 5s"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "2023-11-15 00:00  key-1 on gpt-4  rpm 1, tpm 500, events 1\n"
            "2023-11-15 00:00  key-1 on gpt-4  rpm 3 (+2), tpm 500, events 2 (+1)\n"
            "2023-11-15 00:00  key-1 on embed  rpm 1, events 1\n");
  EXPECT_TRUE(charged);
  looks = 2;
  ASSERT_EQ(shell.run("usage key-1 --resource embed --follow --interval 5s -o json"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            R"({"entity":"key-1","resource":"embed","window":"hour","start":"2023-11-15T00:00:00Z",)"
            R"("limits":{"rpm":1},"events":1})"
            "\n");
}

TEST_F(UsageCommand, TellsWhatIsWrong) {
  const auto complaint = [&](const std::string& line) {
    EXPECT_EQ(shell.run(line), 2) << line;
    return shell.err.substr(0, shell.err.find('\n'));
  };
  EXPECT_EQ(
      complaint("usage"),
      "weir: say whose usage: an ENTITY, --children-of P or --resource R, as in weir usage --resource gpt-4 "
      "--top 10");
  EXPECT_EQ(complaint("usage key-1 --children-of team"), "weir: say an ENTITY or --children-of P, not both");
  EXPECT_EQ(complaint("usage key-1 --window week"), "weir: --window: \"week\" is not known; use hour or day");
  EXPECT_EQ(complaint("usage key-1 --from yesterdya"),
            "weir: --from: \"yesterdya\" is not a moment; did you mean \"yesterday\"?");
  EXPECT_EQ(complaint("usage key-1 --from 2023-11-31"), "weir: --from: there is no day \"2023-11-31\"");
  EXPECT_EQ(complaint("usage key-1 --from 2023-11-14T05:00"),
            "weir: --from: \"2023-11-14T05:00\" is not a moment; write the time with its zone, as in "
            "2026-11-17T05:00:00Z or 2026-11-17T06:00:00+01:00");
  EXPECT_EQ(complaint("usage key-1 --to 17.11.2023"),
            "weir: --to: \"17.11.2023\" is not a moment; write today, yesterday, 24h or 7d (that long ago), "
            "2026-11-17 or 2026-11-17T05:00:00Z");
  EXPECT_EQ(
      complaint("usage key-1 --from today --to yesterday"),
      "weir: --from today (2023-11-15 00:00:00 UTC) must be before --to yesterday (2023-11-14 00:00:00 UTC)");
  EXPECT_EQ(complaint("usage key-1 --top 0"), "weir: --top: \"0\" is not a whole number from 1 to 100");
  EXPECT_EQ(complaint("usage key-1 --follow --top 3"), "weir: --follow prints what changes; leave out --top");
  EXPECT_EQ(complaint("usage key-1 --follow --to today"), "weir: --follow goes on; leave out --to");
  EXPECT_EQ(complaint("usage key-1 --interval 5s"), "weir: --interval is for --follow; add it");
  EXPECT_EQ(complaint("usage key-1 --plot -o json"), "weir: --plot draws for people; leave it out, or -o");
  EXPECT_EQ(complaint("usage key-1 -o yaml"), "weir: -o: \"yaml\" is not known; use table, json or csv");
  EXPECT_EQ(complaint("audit -o csv"), "weir: -o: \"csv\" is not known; use table or json");
  EXPECT_EQ(complaint("usage 'key 1'").substr(0, 26), "weir: entity \"key 1\" has a");
}

TEST_F(UsageCommand, SaysWhenThereIsNothing) {
  spend_a_day();
  EXPECT_EQ(shell.run("usage key-9"), 0);
  EXPECT_EQ(shell.out, "");
  EXPECT_TRUE(complains("no usage is counted from ")) << shell.err;
  EXPECT_EQ(shell.run("usage --resource gpt-4 --top 3 --by tokens --from 3d"), 0);
  EXPECT_TRUE(complains("for limit tokens; the limits that were used: rpm, tpm")) << shell.err;
}

TEST(UsageRange, ReadsWordsDatesAndLengthsOfTime) {
  constexpr Time now = midnight + 90 * 60'000;
  EXPECT_EQ(*read_moment("--from", "now", now), now);
  EXPECT_EQ(*read_moment("--from", "today", now), midnight);
  EXPECT_EQ(*read_moment("--from", "yesterday", now), midnight - 24 * an_hour.count());
  EXPECT_EQ(*read_moment("--from", "90min", now), midnight);
  EXPECT_EQ(*read_moment("--from", "7d", now), now - 7 * 24 * an_hour.count());
  EXPECT_EQ(*read_moment("--from", "2023-11-15", now), midnight);
  EXPECT_EQ(*read_moment("--from", "2023-11-15T01:00:00+01:00", now), midnight);
  for (const char* const wrong : {"", "tomorrow", "-1d", "1", "7 d", "d", "2023-11", "1e3"})
    EXPECT_FALSE(read_moment("--from", wrong, now)) << wrong;
}

TEST(UsageChart, ShowsEveryValueThatIsNotZero) {
  const std::vector<std::int64_t> values{0, 1, 500, 1000, -3};
  EXPECT_EQ(sparkline(values, Charset::utf8), "·▁▄█-");
  EXPECT_EQ(sparkline(values, Charset::ascii), "._;#-");
  EXPECT_EQ(sparkline({}, Charset::utf8), "");
  EXPECT_EQ(sparkline(std::vector<std::int64_t>{-1, -2}, Charset::ascii), "--");
  EXPECT_EQ(bar(1, 1'000'000, 10, Charset::utf8), "▏");
  EXPECT_EQ(bar(1'000'000, 1'000'000, 3, Charset::utf8), "███");
  EXPECT_EQ(bar(500, 1000, 3, Charset::utf8), "█▌");
  EXPECT_EQ(bar(500, 1000, 3, Charset::ascii), "##");
  EXPECT_EQ(bar(0, 10, 3, Charset::utf8), "");
  EXPECT_EQ(bar(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(), 2,
                Charset::ascii),
            "##");
}

TEST(UsageChart, IsInAsciiUnlessTheLocaleIsUtf8) {
  std::map<std::string, std::string> set;
  const auto charset = [&] {
    return charset_of([&](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(charset(), Charset::ascii);
  set["LANG"] = "en_US.UTF-8";
  EXPECT_EQ(charset(), Charset::utf8);
  set["LC_ALL"] = "C";
  EXPECT_EQ(charset(), Charset::ascii);
  set["LC_ALL"] = "C.utf8";
  EXPECT_EQ(charset(), Charset::utf8);
  set["TERM"] = "dumb";
  EXPECT_EQ(charset(), Charset::ascii);
}

}  // namespace
}  // namespace weir::cli
