// The traces that break the design of the seeds as it was first written down: each is told as what a user
// would have seen, and played against the table with the writes of two or three clients in the order that did
// the harm.
//
// Clients are stores of their own, with images from before: remember() freezes what a client has seen, and
// the next operation starts from it.
#include <thread>

#include "dynamodb/table.h"

namespace weir::dynamodb {
namespace {

/// 2 tokens, one more each second: one tick of the traces is a second.
class Traces : public testing::Test {
 protected:
  /// The entity's own, under which nothing expires: a bucket that may expire has a further condition that
  /// would stand in the way of some traces.
  void limits(const char* rpm) {
    Limiter admin = table.limiter();
    ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", rpm}}));
  }
  /// A client that has seen the bucket as it is now.
  Limiter client_that_looked() {
    Limiter client = table.limiter();
    EXPECT_TRUE(client.available("key", "gpt-4"));
    return client;
  }
  static bool admits(Limiter& client, int tokens) {
    auto decision = client.acquire("key", "gpt-4", {{"rpm", tokens}});
    EXPECT_TRUE(decision) << decision.error().message;
    return decision && decision->admitted();
  }
  static std::string remaining(Limiter& client) {
    auto look = client.available("key", "gpt-4");
    EXPECT_TRUE(look);
    return look->limits().find("rpm")->remaining.to_string();
  }
  std::int64_t tokens() const { return table.number("key", "b_rpm_tk"); }
  Time refilled_at() const { return table.number("key", "rf"); }
  std::int64_t consumed() const { return table.number("key", "b_rpm_tc"); }
  void tick(int seconds = 1) { table.clock.advance(std::chrono::seconds(seconds)); }

  TestTable table;
};

TEST_F(Traces, ConcurrencyTraceOfTheSeed) {
  // 100 a minute, 90 left, written a second ago. A takes 3 and B takes 7 at the same moment.
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "100/min"}}));
  Limiter first = table.limiter();
  auto lease = first.acquire("key", "gpt-4", {{"rpm", 10}});
  ASSERT_TRUE(lease && lease->admitted());
  ASSERT_EQ(tokens(), 90'000);
  Limiter a = client_that_looked();
  Limiter b = client_that_looked();
  const Time then = table.clock.now();
  table.clock.advance(1s);
  EXPECT_TRUE(admits(a, 3));
  EXPECT_TRUE(admits(b, 7));
  // Granted since the epoch, and not since the last write: exact, and up to a thousandth more or less than
  // 1,667.
  const std::int64_t granted = table.clock.now() * 100'000 / 60'000 - then * 100'000 / 60'000;
  EXPECT_NEAR(static_cast<double>(granted), 1667, 1);
  EXPECT_EQ(tokens(), 90'000 + granted - 3'000 - 7'000);
  EXPECT_EQ(table.number("key", "rf"), table.clock.now());
  EXPECT_EQ(consumed(), 20'000);
}

TEST_F(Traces, TwoWritersInTheSameMillisecondDoNotSpendTheSameTokens) {  // S1
  limits("2/2s");
  Limiter first = table.limiter();
  ASSERT_TRUE(admits(first, 0));
  Limiter a = client_that_looked();
  Limiter b = client_that_looked();
  EXPECT_TRUE(admits(a, 2));
  EXPECT_EQ(refilled_at(), start_of_time) << "the write of a moves nothing that b could tell it by";
  EXPECT_FALSE(admits(b, 2));
  EXPECT_EQ(tokens(), 0);
}

TEST_F(Traces, AnAdjustBetweenReadAndWriteIsNotOverdrawn) {  // S2
  limits("2/2s");
  Limiter owner = table.limiter();
  auto lease = owner.acquire("key", "gpt-4", {{"rpm", 0}});
  ASSERT_TRUE(lease && lease->admitted());
  Limiter a = client_that_looked();
  ASSERT_TRUE(lease->lease().adjust({{"rpm", 2}}));
  EXPECT_FALSE(admits(a, 2));
  EXPECT_EQ(tokens(), 0);
}

TEST_F(Traces, ALateBlindWriteDoesNotLetAnotherOverdraw) {  // S3
  limits("30/30s");
  Limiter a = table.limiter();
  ASSERT_TRUE(admits(a, 0));
  Limiter b = client_that_looked();
  tick(1);
  EXPECT_TRUE(admits(a, 10));
  const Time then = table.clock.now();
  table.clock.advance(50ms);
  Limiter c = client_that_looked();
  // The image of b is from before that of c, and its first attempt fails.
  EXPECT_TRUE(admits(b, 15));
  EXPECT_EQ(refilled_at(), then) << "a blind write, which c cannot tell by the time of refill";
  table.clock.advance(200ms);
  EXPECT_FALSE(admits(c, 15)) << "it saw 20, and 5 are left";
  EXPECT_EQ(consumed(), 25'000);
  EXPECT_EQ(remaining(c), "5.25");
}

TEST_F(Traces, ARefundBetweenReadAndWriteDoesNotMakeTokens) {  // S4
  limits("2/2s");
  Limiter a = table.limiter();
  auto lease = a.acquire("key", "gpt-4", {{"rpm", 2}});
  ASSERT_TRUE(lease && lease->admitted());
  tick(2);
  Limiter b = client_that_looked();
  ASSERT_TRUE(lease->lease().rollback());
  EXPECT_TRUE(admits(b, 2)) << "it was full, refund or not";
  tick(1);
  EXPECT_FALSE(admits(b, 2)) << "one second gives one token";
  EXPECT_TRUE(admits(b, 1));
}

TEST_F(Traces, AnIdleBucketDoesNotRepayADebitThatCameLater) {  // S5
  limits("2/2s");
  Limiter a = table.limiter();
  auto lease = a.acquire("key", "gpt-4", {{"rpm", 0}});
  tick(500);
  ASSERT_TRUE(lease->lease().adjust({{"rpm", 2}}));
  EXPECT_EQ(remaining(a), "0");
}

TEST_F(Traces, ASlowBlindWriteDoesNotEatRefillThatNeverFitted) {  // S6
  limits("2/2s");
  Limiter a = table.limiter();
  ASSERT_TRUE(admits(a, 0));
  Limiter b = client_that_looked();
  tick(1);
  EXPECT_TRUE(admits(a, 1));
  tick(2);
  EXPECT_TRUE(admits(b, 1));
  EXPECT_EQ(remaining(a), "1") << "full again two seconds later, less one";
}

TEST_F(Traces, ADebtIsNotForgottenByExpiry) {  // S7
  ASSERT_TRUE(
      table.limiter().set_limits(Level::system(), {{"rpm", "2/2s"}}, {.bucket_ttl_refill_multiplier = 1}));
  Limiter a = table.limiter();
  auto lease = a.acquire("key", "gpt-4", {{"rpm", 1}});
  ASSERT_TRUE(lease->lease().adjust({{"rpm", 9}}));
  tick(5);
  EXPECT_FALSE(admits(a, 1)) << "8 in debt and 5 refilled";
}

TEST_F(Traces, AnAdjustAfterTheBucketVanishedDoesNotWedgeIt) {  // S8
  ASSERT_TRUE(
      table.limiter().set_limits(Level::system(), {{"rpm", "2/2s"}}, {.bucket_ttl_refill_multiplier = 1}));
  Limiter a = table.limiter();
  auto lease = a.acquire("key", "gpt-4", {{"rpm", 1}});
  tick(60);
  const Key key = bucket_key("default", "key", "gpt-4");
  ASSERT_TRUE(table.client->ask("DeleteItem", single_write(table.table, erase(key)).json, true).ok());
  ASSERT_TRUE(lease->lease().adjust({{"rpm", -1}}));
  EXPECT_TRUE(table.bucket("key").empty()) << "what is given back to a bucket that is gone makes none";
  EXPECT_TRUE(admits(a, 2));
  EXPECT_EQ(consumed(), 2'000);
  // The charge on top makes a whole one.
  ASSERT_TRUE(table.client->ask("DeleteItem", single_write(table.table, erase(key)).json, true).ok());
  ASSERT_TRUE(lease->lease().adjust({{"rpm", 1}}));
  EXPECT_EQ(tokens(), 1'000);
  EXPECT_EQ(refilled_at(), table.clock.now());
  EXPECT_TRUE(admits(a, 1));
  EXPECT_FALSE(admits(a, 1));
}

TEST_F(Traces, LoweringTheBurstIsNotOutrunByAClientThatReadBefore) {  // S11
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "4/4s"}}));
  ASSERT_TRUE(admits(admin, 0));
  Limiter a = client_that_looked();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "1/s"}}));
  EXPECT_FALSE(admits(a, 3));
  EXPECT_TRUE(admits(a, 1));
}

TEST_F(Traces, RaisingTheRateIsNotRetroactive) {  // S12
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", {"3/9s"}}}));
  ASSERT_TRUE(admits(admin, 3));
  tick(3);
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", {"9/3s"}}}));
  EXPECT_EQ(remaining(admin), "1");
}

TEST_F(Traces, ALimitThatWasRemovedDoesNotComeBackInPart) {  // S13
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "2/2s"}, {"tpm", "2/2s"}}));
  ASSERT_TRUE(admits(admin, 0));
  tick(60);
  Limiter a = client_that_looked();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "2/2s"}}));
  auto decision = a.acquire("key", "gpt-4", {{"rpm", 1}, {"tpm", 1}});
  EXPECT_FALSE(decision) << "tpm is not a limit any more";
  const Item item = table.bucket("key");
  EXPECT_EQ(wire::aws::find(item, "b_tpm_tk"), nullptr);
  EXPECT_EQ(wire::aws::find(item, "b_tpm_cp"), nullptr);
}

TEST_F(Traces, ALimitThatWasAddedIsNotRefusedWhileItIsFull) {  // S14
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "2/2s"}}));
  ASSERT_TRUE(admits(admin, 1));
  Limiter a = client_that_looked();
  Limiter b = client_that_looked();
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "2/2s"}, {"tpm", "2/2s"}}));
  ASSERT_TRUE(admits(a, 0));
  // Another process hears of the new limit with its next decision on the bucket.
  EXPECT_TRUE(admits(b, 0));
  auto decision = b.acquire("key", "gpt-4", {{"tpm", 2}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted());
}

TEST_F(Traces, ASlowLimitRefillsBesideAFastOneThatIsChargedAllTheTime) {  // S15
  Limiter a = table.limiter();
  ASSERT_TRUE(a.set_limits(Level::system(), {{"rpm", "1000/s"}, {"rph", "1/2s:2"}}));
  auto drained = a.acquire("key", "gpt-4", {{"rph", 1}});
  ASSERT_TRUE(drained && drained->admitted());
  for (int i = 0; i < 40; ++i) {
    table.clock.advance(50ms);
    ASSERT_TRUE(a.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  }
  EXPECT_TRUE(a.acquire("key", "gpt-4", {{"rph", 1}})->admitted()) << "two seconds give one";
}

TEST_F(Traces, AWriterWhoseClockWasAnHourAheadDoesNotStopTheOthersForAnHour) {
  const std::string url =
      "dynamodb://" + table.table + "?endpoint=" + table.endpoint + "&deadline_ms=60000&refuse_ms=0";
  Limiter limiter = *Limiter::open(url);
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "60/s"}}));
  ASSERT_TRUE(admits(limiter, 60));
  const SystemClock system;
  Item item = table.bucket("key");
  for (Attribute& attribute : item) {
    if (attribute.name == "rf") attribute.value = Value::of(system.now() + 3'600'000);
    if (attribute.name == "b_rpm_tk") attribute.value = Value::of(std::int64_t{1'000});
  }
  table.put(item);
  Limiter other = *Limiter::open(url);
  EXPECT_TRUE(admits(other, 1));
  EXPECT_LE(table.number("key", "rf"), system.now());
}

// S9 and S10, answers that get lost, are in faults_test.cc.

}  // namespace
}  // namespace weir::dynamodb
