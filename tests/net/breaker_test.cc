#include "net/breaker.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

using std::chrono::milliseconds;

const Breaker::Moment began{std::chrono::seconds(1000)};

TEST(Breaker, OpensAfterSoManyCallsWithoutAnAnswer) {
  Breaker breaker({.failures = 3});
  EXPECT_FALSE(breaker.unanswered(began, "a"));
  EXPECT_FALSE(breaker.unanswered(began, "b"));
  EXPECT_FALSE(breaker.answered());
  EXPECT_FALSE(breaker.unanswered(began, "c"));
  EXPECT_FALSE(breaker.unanswered(began, "d"));
  EXPECT_FALSE(breaker.open());
  EXPECT_EQ(breaker.trouble(), "");
  EXPECT_TRUE(breaker.unanswered(began, "e"));
  EXPECT_TRUE(breaker.open());
  EXPECT_EQ(breaker.trouble(), "e");
}

TEST(Breaker, SaysOnceThatItOpensOrCloses) {
  Breaker breaker({.failures = 1});
  EXPECT_TRUE(breaker.unanswered(began, "a"));
  EXPECT_FALSE(breaker.unanswered(began, "b"));
  EXPECT_EQ(breaker.trouble(), "b") << "the last reason";
  EXPECT_FALSE(breaker.trip());
  EXPECT_TRUE(breaker.answered());
  EXPECT_FALSE(breaker.answered());
  EXPECT_FALSE(breaker.open());
  EXPECT_EQ(breaker.trouble(), "");
  EXPECT_TRUE(breaker.trip());
}

TEST(Breaker, StaysClosedWhileTheServerSaysSomething) {
  Breaker breaker({.failures = 1, .silence = milliseconds(100)});
  breaker.break_silence(began);
  EXPECT_FALSE(breaker.unanswered(began + milliseconds(99), "slow"));
  breaker.break_silence(began + milliseconds(99));
  EXPECT_FALSE(breaker.unanswered(began + milliseconds(198), "slow"));
  EXPECT_EQ(breaker.silent_for(began + milliseconds(198)), milliseconds(99));
  EXPECT_TRUE(breaker.unanswered(began + milliseconds(199), "silent"));
}

TEST(Breaker, KnowsWhatIsWrongBeforeItOpens) {
  Breaker breaker({}, "not connected yet");
  EXPECT_FALSE(breaker.open());
  EXPECT_EQ(breaker.trouble(), "not connected yet");
  breaker.blame("broke off");
  EXPECT_FALSE(breaker.open());
  EXPECT_TRUE(breaker.trip());
  EXPECT_EQ(breaker.trouble(), "broke off");
}

}  // namespace
}  // namespace weir::net
