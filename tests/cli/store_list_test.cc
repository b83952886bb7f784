// store list and top: what is left for everybody.
#include <gtest/gtest.h>

#include "cli/shell.h"

namespace weir::cli {
namespace {

class WhatIsLeft : public testing::Test {
 protected:
  WhatIsLeft() {
    EXPECT_EQ(shell.run("limits set --system -l rpm:10/min -l tpm:1000/min"), 0) << shell.err;
    EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=9 -c tpm=10"), 0) << shell.err;
    EXPECT_EQ(shell.run("acquire key-2 gpt-4 -c rpm=1 -c tpm=500"), 0) << shell.err;
    EXPECT_EQ(shell.run("acquire key-1 embed -c rpm=0.5"), 0) << shell.err;
  }
  bool shows(const std::string& text) const { return shell.out.find(text) != std::string::npos; }
  std::string complaint(const std::string& line) {
    EXPECT_EQ(shell.run(line), 2) << line;
    return shell.err.substr(0, shell.err.find('\n'));
  }

  Shell shell;
};

TEST_F(WhatIsLeft, IsListedForEveryLimitOfEveryEntity) {
  ASSERT_EQ(shell.run("store list --resource gpt-4"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "ENTITY  RESOURCE  LIMIT  LEFT  CAPACITY  LEFT %  CONSUMED  FULL\n"
            "key-1   gpt-4     rpm       1        10    10 %         9  in 54 s\n"
            "key-1   gpt-4     tpm     990     1,000    99 %        10  in 600 ms\n"
            "key-2   gpt-4     rpm       9        10    90 %         1  in 6.0 s\n"
            "key-2   gpt-4     tpm     500     1,000    50 %       500  in 30 s\n");
  shell.clock.advance(std::chrono::seconds(30));
  ASSERT_EQ(shell.run("store list --resource gpt-4 --by rpm"), 0) << shell.err;
  EXPECT_TRUE(shows("key-1   gpt-4     rpm       6 ")) << shell.out;
  EXPECT_FALSE(shows("tpm")) << shell.out;
  ASSERT_EQ(shell.run("store list"), 0) << shell.err;
  EXPECT_TRUE(shows("embed")) << shell.out;
}

TEST_F(WhatIsLeft, IsSortedAndNarrowed) {
  ASSERT_EQ(shell.run("store list --resource gpt-4 --sort remaining --by tpm"), 0) << shell.err;
  EXPECT_LT(shell.out.find("key-2"), shell.out.find("key-1")) << shell.out;
  ASSERT_EQ(shell.run("store list --resource gpt-4 --sort consumed --limit 1 -o json"), 0) << shell.err;
  EXPECT_TRUE(shell.out.starts_with(R"({"buckets":[{"entity":"key-1","resource":"gpt-4")")) << shell.out;
  EXPECT_FALSE(shows("key-2"));
  ASSERT_EQ(shell.run("store list --below 10%"), 0) << shell.err;
  EXPECT_EQ(shell.out, "") << "exactly 10 % is not below";
  EXPECT_NE(shell.err.find("no bucket with less than 10% left"), std::string::npos) << shell.err;
  ASSERT_EQ(shell.run("store list --below 10.001"), 0) << shell.err;
  EXPECT_TRUE(shows("key-1")) << shell.out;
  EXPECT_FALSE(shows("key-2")) << shell.out;
}

TEST_F(WhatIsLeft, ThatIsAskedForWronglySaysWhatToWrite) {
  EXPECT_EQ(complaint("store list --sort left"),
            "weir: --sort: \"left\" is not known; use entity, remaining or consumed");
  EXPECT_EQ(
      complaint("store list --below ten"),
      "weir: --below: \"ten\" is not a percentage above 0; write 10%, or 2.5% with up to three decimals");
  EXPECT_EQ(
      complaint("store list --below -5%"),
      "weir: --below: \"-5%\" is not a percentage above 0; write 10%, or 2.5% with up to three decimals");
  EXPECT_EQ(complaint("top --rows 0"), "weir: --rows: \"0\" is not a whole number from 1 to 1000");
  EXPECT_NE(complaint("store list --by 9").find("\"9\""), std::string::npos) << shell.err;
}

TEST_F(WhatIsLeft, IsShownOnceWithoutATerminal) {
  ASSERT_EQ(shell.run("top --once --resource gpt-4"), 0) << shell.err;
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos);
  EXPECT_TRUE(shell.out.starts_with("gpt-4, least left first, 2023-11-14 22:13:20 UTC\n")) << shell.out;
  EXPECT_TRUE(shows("key-1   gpt-4     rpm       1     10  10  ###  ")) << shell.out;
  EXPECT_TRUE(shows("key-2   gpt-4     tpm     500  1,000  50  ############  ")) << shell.out;
  EXPECT_LT(shell.out.find("key-1"), shell.out.find("key-2"));
  ASSERT_EQ(shell.run("top --once --rows 1 -o json"), 0) << shell.err;
  EXPECT_TRUE(shell.out.starts_with(R"({"at_ms":1700000000000,"buckets":[{"entity":"key-1")")) << shell.out;
  EXPECT_FALSE(shows("key-2"));
}

TEST_F(WhatIsLeft, IsDrawnAgainInPlaceOnATerminal) {
  shell.terminal = true;
  shell.environment["LANG"] = "C.UTF-8";
  int looks = 0;
  shell.wait = [&](std::chrono::milliseconds time) {
    EXPECT_EQ(time, std::chrono::seconds(5));
    if (++looks == 3) return false;
    EXPECT_TRUE(shell.limiter->acquire("key-2", "gpt-4", {{"tpm", 250}})->admitted());
    return true;
  };
  ASSERT_EQ(shell.run("top --resource gpt-4 --interval 5s"), 0) << shell.err;
  std::size_t frames = 0;
  for (std::size_t at = 0; (at = shell.out.find("\x1b[H", at)) != std::string::npos; ++at) ++frames;
  EXPECT_EQ(frames, 3U);
  EXPECT_TRUE(shows("\x1b[K\n")) << shell.out;
  EXPECT_TRUE(shows("+250")) << shell.out;
  EXPECT_TRUE(shows("\x1b[33m██████\x1b[0m")) << shell.out;
  ASSERT_EQ(shell.run("top --once --color never"), 0) << shell.err;
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos) << shell.out;
}

TEST_F(WhatIsLeft, IsDrawnBelowWithoutATerminalAndSurvivesAnOutage) {
  int looks = 0;
  shell.wait = [&](std::chrono::milliseconds) { return ++looks < 2; };
  ASSERT_EQ(shell.run("top --resource gpt-4"), 0) << shell.err;
  EXPECT_NE(shell.out.find("\n\ngpt-4, least left first"), std::string::npos) << shell.out;
  shell.unavailable = "away";
  EXPECT_EQ(shell.run("top --resource gpt-4"), 1);
  EXPECT_EQ(shell.err, "weir: away\n");
}

TEST(Top, SaysThatThereIsNoBucketYet) {
  Shell shell;
  ASSERT_EQ(shell.run("top --once"), 0) << shell.err;
  EXPECT_NE(shell.out.find("every resource, least left first"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("no bucket yet\n"), std::string::npos) << shell.out;
}

}  // namespace
}  // namespace weir::cli
