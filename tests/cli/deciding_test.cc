// acquire, available and lease.
#include <gtest/gtest.h>

#include "cli/shell.h"

namespace weir::cli {
namespace {

class Deciding : public testing::Test {
 protected:
  Shell shell;
  /// The id of the lease in what a command printed as JSON.
  std::string lease() const {
    const std::string before = R"("lease":")";
    const std::size_t from = shell.out.find(before) + before.size();
    return shell.out.substr(from, shell.out.find('"', from) - from);
  }
  void expect_complaint(const std::string& line, const std::string& message) {
    EXPECT_EQ(shell.run(line), 2) << line;
    EXPECT_EQ(shell.err.substr(0, shell.err.find('\n')), message);
  }
};

TEST_F(Deciding, AnAcquireShowsEveryLimitOfEveryBucket) {
  ASSERT_EQ(shell.run("limits set --entity org -l tpm:50000/min"), 0);
  ASSERT_EQ(shell.run("limits set --system -l rpm:100/min:150 -l tpm:2000/min"), 0);
  ASSERT_EQ(shell.run("entity create key-1 --parent org --cascade"), 0);
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 -c tpm=500.5"), 0);
  EXPECT_EQ(shell.out,
            "admitted\n"
            "ENTITY  RESOURCE  LIMIT  REQUESTED  REMAINING  CAPACITY   BURST  SOURCE\n"
            "key-1   gpt-4     rpm            1         99       100     150  system\n"
            "key-1   gpt-4     tpm        500.5    1,499.5     2,000   2,000  system\n"
            "org     gpt-4     tpm        500.5   49,499.5    50,000  50,000  entity_default\n");
  EXPECT_EQ(shell.err, "");
}

TEST_F(Deciding, ARefusalSaysHowLongToWaitAndChargesNothing) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:2/min"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=2"), 0);
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=2"), 3);
  EXPECT_EQ(shell.out,
            "refused: retry in 1 min (59980 ms)\n"
            "ENTITY  RESOURCE  LIMIT  REQUESTED  REMAINING  CAPACITY  BURST   WAIT  SOURCE\n"
            "key-1   gpt-4     rpm            2          0         2      2  1 min  system\n");
  EXPECT_EQ(shell.err, "") << "a refusal is an answer";
  shell.clock.advance(std::chrono::seconds(60));
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=2"), 0);
}

TEST_F(Deciding, WhatNeverFitsSaysSo) {
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=3 -l rpm:2"), 3);
  EXPECT_TRUE(shell.out.starts_with("refused: never fits; ask for less, or raise the burst\n")) << shell.out;
}

TEST_F(Deciding, AvailableChargesNothingAndSaysWhatAnAcquireWouldAnswer) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:2/min"), 0);
  EXPECT_EQ(shell.run("available key-1 gpt-4"), 0);
  EXPECT_EQ(shell.out,
            "ENTITY  RESOURCE  LIMIT  REQUESTED  REMAINING  CAPACITY  BURST  SOURCE\n"
            "key-1   gpt-4     rpm            0          2         2      2  system\n");
  EXPECT_EQ(shell.run("available key-1 gpt-4 -c rpm=2"), 0);
  EXPECT_TRUE(shell.out.starts_with("would be admitted\n"));
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=2"), 0);
  EXPECT_EQ(shell.run("available key-1 gpt-4 -c rpm=1"), 3);
  EXPECT_TRUE(shell.out.starts_with("would be refused: retry in 30 s (29980 ms)\n")) << shell.out;
  EXPECT_EQ(shell.run("available key-1 gpt-4 -c rpm=1 -o json"), 3);
  EXPECT_TRUE(shell.out.starts_with(R"({"allowed":false,"retry_after_ms":29980,"limits":[{)")) << shell.out;
}

TEST_F(Deciding, TheTablePrintsALeaseWhenAskedAndJsonAlwaysHasIt) {
  ASSERT_EQ(shell.run("limits set --system -l tpm:1000/min"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=1"), 0);
  EXPECT_EQ(shell.out.find("lease"), std::string::npos);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=1 --lease"), 0);
  EXPECT_NE(shell.out.find("\nlease w1"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("within 10 min"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("\n  weir lease settle w1"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=1 -o json"), 0);
  EXPECT_TRUE(lease().starts_with("w1")) << shell.out;
}

TEST_F(Deciding, ALeaseIsAdjustedAndSettledByItsId) {
  ASSERT_EQ(shell.run("limits set --system -l tpm:1000/min"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=500 -o json"), 0);
  const std::string id = lease();
  EXPECT_EQ(shell.run("lease adjust " + id + " -c tpm=-120 --key part-1"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "adjusted\n"
            "ENTITY  RESOURCE  LIMIT  DIFFERENCE  REMAINING  CAPACITY  BURST  SOURCE\n"
            "key-1   gpt-4     tpm          -120        620     1,000  1,000  system\n");
  EXPECT_EQ(shell.run("lease adjust " + id + " -c tpm=-120 --key part-1"), 0);
  EXPECT_NE(shell.out.find(" 620 "), std::string::npos) << "the same key again changes nothing";
  EXPECT_EQ(shell.run("lease settle " + id + " -c tpm=400"), 0) << shell.err;
  EXPECT_TRUE(shell.out.starts_with("settled\n"));
  EXPECT_NE(shell.out.find(" 600 "), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("lease settle " + id + " -c tpm=400 -o json"), 0) << "the same again is no failure";
  EXPECT_TRUE(shell.out.starts_with(R"({"limits":[{"entity":"key-1")")) << shell.out;
  EXPECT_EQ(shell.run("lease rollback " + id), 1) << "it ended otherwise";
  EXPECT_EQ(shell.run("lease settle w1nonsense"), 1);
  EXPECT_NE(shell.err.find("is not known"), std::string::npos) << shell.err;
}

TEST_F(Deciding, ALeaseIsRolledBackUntilItsDeadline) {
  ASSERT_EQ(shell.run("limits set --system -l tpm:1000/min"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=500 -o json"), 0);
  EXPECT_EQ(shell.run("lease rollback " + lease()), 0);
  EXPECT_NE(shell.out.find("-500      1,000"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c tpm=500 -o json"), 0);
  shell.clock.advance(std::chrono::minutes(11));
  EXPECT_EQ(shell.run("lease rollback " + lease()), 1);
  EXPECT_NE(shell.err.find("past its deadline"), std::string::npos) << shell.err;
}

TEST_F(Deciding, ALeaseHoldsConcurrentLimitsAndIsExtended) {
  ASSERT_EQ(shell.run("limits set --system -l calls:1:concurrent"), 0) << shell.err;
  EXPECT_NE(shell.out.find("calls         1      1  concurrent"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c calls=1 --lease-for 40s -o json"), 0) << shell.err;
  EXPECT_NE(shell.out.find("\"deadline_ms\":"), std::string::npos) << shell.out;
  const std::string id = lease();
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c calls=1"), 3);
  EXPECT_EQ(shell.run("lease extend " + id + " --for 2min"), 0) << shell.err;
  EXPECT_TRUE(shell.out.starts_with("extended until ")) << shell.out;
  shell.clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c calls=1"), 3) << "past its first deadline";
  EXPECT_EQ(shell.run("store show key-1 gpt-4 -o json"), 0);
  EXPECT_NE(shell.out.find("\"held\":[{\"deadline_ms\":"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("lease settle " + id), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c calls=1"), 0);
  EXPECT_EQ(shell.run("lease extend " + id + " --for 2min"), 1);
  EXPECT_NE(shell.err.find("already settled"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("lease extend " + id), 2) << "how long is missing";
}

TEST_F(Deciding, AWaitIsBoundedAndTold) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:2/min"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait 5s"), 0) << shell.err;
  EXPECT_TRUE(shell.out.starts_with("admitted after 0 ms\n")) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait 1min -o json"), 0) << shell.err;
  EXPECT_NE(shell.out.find("\"waited_ms\":0"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait 5s"), 3) << "30 s are too long";
  EXPECT_TRUE(shell.out.starts_with("refused after 0 ms: retry in 30 s")) << shell.out;
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait 5s -o json"), 3);
  EXPECT_NE(shell.out.find("\"waited_ms\":0"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait 61s"), 2);
  EXPECT_NE(shell.err.find("--wait 61s: the longest wait is 1 min"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 --wait soon"), 2);
  EXPECT_NE(shell.err.find("--wait: \"soon\""), std::string::npos) << shell.err;
}

TEST_F(Deciding, BadAmountsAndLimitsNameTheOption) {
  expect_complaint("acquire e r -c rpm", R"(weir: -c "rpm": write NAME=AMOUNT, such as -c rpm=1)");
  expect_complaint("acquire e r -c rpm:1", R"(weir: -c "rpm:1": write NAME=AMOUNT, such as -c rpm=1)");
  expect_complaint("acquire e r -c rpm=x",
                   R"(weir: -c rpm: amount "x" is not a number in range; write a number such as 500 or 1.5)");
  expect_complaint(
      "acquire e r -c rpm=1.0001",
      R"(weir: -c rpm: amount "1.0001" has more than three decimals; write a number such as 500 or 1.5)");
  expect_complaint("acquire e r -c rpm=-1 -l rpm:5",
                   R"(weir: amount of "rpm" is negative; ask for 0 or more)");
  expect_complaint("acquire e r -c 1rpm=1", R"(weir: -c: limit name "1rpm" does not start with a letter)");
  expect_complaint("acquire e r -c rpm=1 -l rpm",
                   R"(weir: -l "rpm": write NAME:LIMIT, such as -l rpm:100/min or -l rpm:100/min:150)");
  expect_complaint(
      "acquire e r -c rpm=1 -l rpm:0/min:5",
      R"(weir: -l rpm: limit "0/min:5": capacity 0 blocks, so burst must be 0 too; leave burst out, )"
      "or raise capacity");
  expect_complaint(
      "acquire 'a b' r -c rpm=1 -l rpm:5",
      R"(weir: entity "a b" has a character that is not allowed; use letters, digits and _-.:@/+=)");
}

TEST_F(Deciding, WithoutLimitsItSaysHowToSetSome) {
  EXPECT_EQ(shell.run("acquire e r -c rpm=1"), 1);
  EXPECT_NE(shell.err.find("\nSet some, such as: weir limits set --system -l rpm:100/min\n"),
            std::string::npos);
  ASSERT_EQ(shell.run("limits set --system -l rpm:5"), 0);
  EXPECT_EQ(shell.run("acquire e r -c rmp=1"), 1);
  EXPECT_NE(shell.err.find("\"rmp\""), std::string::npos) << shell.err;
  EXPECT_NE(shell.err.find("weir limits effective"), std::string::npos) << shell.err;
}

TEST_F(Deciding, ColoursAreForTerminals) {
  const std::string line = "acquire e r -c rpm=1 -l rpm:5";
  ASSERT_EQ(shell.run(line), 0);
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos);
  shell.terminal = true;
  ASSERT_EQ(shell.run(line), 0);
  EXPECT_TRUE(shell.out.starts_with("\x1b[32madmitted\x1b[0m\n")) << shell.out;
  ASSERT_EQ(shell.run(line + " --color never"), 0);
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(shell.run("acquire e r -c rpm=x"), 2);
  EXPECT_TRUE(shell.err.starts_with("\x1b[31mweir:\x1b[0m -c rpm: ")) << shell.err;
  EXPECT_EQ(shell.run("acquire e r -c rpm=x --color never"), 2);
  EXPECT_TRUE(shell.err.starts_with("weir: -c rpm: ")) << shell.err;
  ASSERT_EQ(shell.run(line + " -o json"), 0);
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos) << "JSON is never coloured";
  shell.environment["NO_COLOR"] = "1";
  EXPECT_EQ(shell.run("acquire e r -c rpm=9 -l rpm:5"), 3);
  EXPECT_EQ((shell.out + shell.err).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace weir::cli
