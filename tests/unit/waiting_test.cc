// Requests that wait for refill, on a bucket of a memory store.
#include "unit/waiting.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::limiter {
namespace {

TEST_F(Waiting, ARequestIsAdmittedTheMomentRefillAllows) {
  set("60/min");
  ASSERT_TRUE(takes(60));
  Caller caller(core);
  caller.start(2, std::chrono::seconds(5));
  EXPECT_EQ(caller.state(), "waits");
  clock->advance(std::chrono::milliseconds(1999));
  room->advance();
  EXPECT_EQ(caller.state(), "waits");
  clock->advance(std::chrono::milliseconds(1));
  room->advance();
  EXPECT_EQ(caller.state(), "admitted after 2000");
  EXPECT_EQ(room->size(), 0U);
}

TEST_F(Waiting, AWaitThatCannotEndInTimeIsRefusedAtOnce) {
  set("60/min");
  ASSERT_TRUE(takes(60));
  Caller late(core), never(core), mistaken(core), long_wait(core);
  late.start(2, std::chrono::milliseconds(1999));
  EXPECT_EQ(late.state(), "refused after 0, retry in 2000");
  never.start(61, std::chrono::seconds(5));
  EXPECT_EQ(never.state(), "never fits after 0");
  long_wait.start(1, AcquireOptions::longest_wait + std::chrono::milliseconds(1));
  EXPECT_EQ(long_wait.state(), "a request waits for at least 0 and at most 60000 ms");
  mistaken.start(-1, std::chrono::seconds(5));
  EXPECT_EQ(mistaken.state(), R"(amount of "rpm" is negative; ask for 0 or more)");
  Caller first(core), behind(core), never_behind(core);
  first.start(2, std::chrono::seconds(5));
  behind.start(2, std::chrono::milliseconds(1999));
  EXPECT_EQ(behind.state(), "refused after 0, retry in 2000") << "also behind others";
  never_behind.start(61, std::chrono::seconds(5));
  EXPECT_EQ(never_behind.state(), "never fits after 0");
  clock->advance(std::chrono::seconds(2));
  room->advance();
  EXPECT_EQ(first.state(), "admitted after 2000");
}

TEST_F(Waiting, OneThatFitsDoesNotOvertakeOneThatWaits) {
  set("60/min");
  ASSERT_TRUE(takes(59));
  Caller large(core), small(core), patient(core);
  large.start(3, std::chrono::seconds(5));
  small.start(1, std::chrono::milliseconds(1500));
  patient.start(1, std::chrono::seconds(60));
  clock->advance(std::chrono::milliseconds(1500));
  room->advance();
  EXPECT_EQ(large.state(), "waits");
  EXPECT_EQ(small.state(), "refused after 1500, retry in 500") << "when the large one tries again";
  EXPECT_TRUE(takes(1)) << "a request that does not wait is decided at once";
  clock->advance(std::chrono::milliseconds(500));
  room->advance();
  EXPECT_EQ(large.state(), "waits") << "the other one took what it waited for";
  clock->advance(std::chrono::seconds(1));
  room->advance();
  EXPECT_EQ(large.state(), "admitted after 3000");
  EXPECT_EQ(patient.state(), "waits");
  clock->advance(std::chrono::seconds(1));
  room->advance();
  EXPECT_EQ(patient.state(), "admitted after 4000");
}

TEST_F(Waiting, AClockThatIsSetBackDelaysNobody) {
  set("60/min");
  ASSERT_TRUE(takes(60));
  Caller caller(core);
  caller.start(1, std::chrono::milliseconds(1200));
  clock->advance(-std::chrono::hours(1));
  room->advance();
  clock->advance(std::chrono::milliseconds(1200));
  room->advance();
  EXPECT_NE(caller.state(), "waits");
}

TEST_F(Waiting, AKeyedRequestIsChargedOnceAndItsRepetitionDoesNotWait) {
  set("60/min");
  Caller once(core);
  once.start(58, std::chrono::seconds(5), "call-1");
  EXPECT_EQ(once.state(), "admitted after 0");
  Caller first(core), again(core), other(core), other_again(core);
  first.start(5, std::chrono::seconds(5));
  EXPECT_EQ(first.state(), "waits");
  again.start(58, std::chrono::seconds(5), "call-1");
  EXPECT_EQ(again.state(), "admitted after 0") << "although others wait";
  EXPECT_EQ(*again.acquire.decision().lease().id(), *once.acquire.decision().lease().id());
  other.start(1, std::chrono::seconds(60), "call-2");
  other_again.start(1, std::chrono::seconds(60), "call-2");
  clock->advance(std::chrono::seconds(3));
  room->advance();
  EXPECT_EQ(first.state(), "admitted after 3000");
  EXPECT_EQ(other.state(), "waits");
  clock->advance(std::chrono::seconds(1));
  room->advance();
  EXPECT_EQ(other.state(), "admitted after 4000");
  EXPECT_EQ(other_again.state(), "admitted after 4000");
  EXPECT_EQ(*other_again.acquire.decision().lease().id(), *other.acquire.decision().lease().id());
  EXPECT_FALSE(takes(1)) << "charged once";
}

/// A request that would wait for a minute, and a change that lets it through at once.
class WokenByAChange : public Waiting {
 protected:
  void SetUp() override {
    set("1/min");
    ASSERT_TRUE(takes());
    caller.start(1, std::chrono::seconds(60));
    behind.start(1, std::chrono::seconds(60));
    clock->advance(std::chrono::seconds(1));
    room->advance();
    ASSERT_EQ(caller.state(), "waits");
  }
  void TearDown() override {
    room->close();
    room->advance();
  }
  std::string after_the_change() {
    room->advance();
    return caller.state();
  }

  Caller caller{core};
  Caller behind{core};
};

TEST_F(WokenByAChange, AnExemption) {
  ASSERT_TRUE(core.set_access("key", {.access = Access::exempt, .reason = "launch day"}));
  EXPECT_EQ(after_the_change(), "admitted after 1000");
  EXPECT_EQ(behind.state(), "admitted after 1000") << "it has its turn after the first";
}

TEST_F(WokenByAChange, AReset) {
  ASSERT_TRUE(core.reset("key", "gpt-4"));
  EXPECT_EQ(after_the_change(), "admitted after 1000");
}

TEST_F(WokenByAChange, ARaisedLimit) {
  set("600/min");
  EXPECT_EQ(after_the_change(), "waits") << "a raised limit gives nothing at once";
  clock->advance(std::chrono::milliseconds(100));
  EXPECT_EQ(after_the_change(), "admitted after 1100") << "but refills sooner";
}

TEST_F(WokenByAChange, AResetOfItsParent) {
  set("60/min");
  ASSERT_TRUE(core.put_entity({.id = "project"}));
  ASSERT_TRUE(core.put_entity({.id = "child", .parent = "project", .cascade = true}));
  ASSERT_TRUE(core.acquire("project", "gpt-4", charge(60), {})->admitted());
  Caller child(core);
  child.start_for("child", 30, std::chrono::seconds(60));
  room->advance();
  EXPECT_EQ(child.state(), "waits");
  ASSERT_TRUE(core.reset("project", {}));
  room->advance();
  EXPECT_EQ(child.state(), "admitted after 0");
}

TEST_F(WokenByAChange, ABlockRefusesAllThatWait) {
  ASSERT_TRUE(core.set_access("key", {.access = Access::blocked, .reason = "abuse"}));
  EXPECT_EQ(after_the_change(), "never fits after 1000");
  EXPECT_NE(caller.acquire.decision().block(), nullptr);
  EXPECT_EQ(behind.state(), "never fits after 1000");
}

TEST_F(WokenByAChange, AChangeThatFailsWakesNobody) {
  const auto due = room->next();
  EXPECT_FALSE(core.delete_limits(Level::resource("gpt-4")));
  EXPECT_FALSE(core.set_limits(Level::system(), std::vector<NamedLimit>(), {}));
  EXPECT_EQ(room->next(), due);
}

class CrowdedWaiting : public Waiting {
 protected:
  CrowdedWaiting() : Waiting({.of_a_bucket = 2}) {}
};

TEST_F(CrowdedWaiting, AFullQueueRefusesAtOnce) {
  set("60/min");
  ASSERT_TRUE(takes(59));
  Caller first(core), second(core), third(core), fourth(core);
  first.start(3, std::chrono::seconds(5));
  second.start(1, std::chrono::seconds(5));
  third.start(1, std::chrono::seconds(5));
  EXPECT_EQ(third.state(), "refused after 0, retry in 2000") << "it would fit, but others wait";
  fourth.start(4, std::chrono::seconds(5));
  EXPECT_EQ(fourth.state(), "refused after 0, retry in 3000");
  first.acquire.hurry();
  room->advance();
  EXPECT_EQ(first.state(), "refused after 0, retry in 2000");
  EXPECT_EQ(second.state(), "admitted after 0") << "it is the first now, and fits";
}

class CrowdedProcess : public Waiting {
 protected:
  CrowdedProcess() : Waiting({.in_all = 1}) {}
};

TEST_F(CrowdedProcess, ARequestThatNobodyOfItsBucketWaitsForIsDecidedAsIfItDidNotWait) {
  set("60/min");
  ASSERT_TRUE(takes(60));
  Caller first(core), other(core), large(core);
  first.start(1, std::chrono::seconds(5));
  other.start_for("other", 1, std::chrono::seconds(5));
  EXPECT_EQ(other.state(), "admitted after 0");
  EXPECT_FALSE(core.acquire("other", "gpt-4", charge(60), {})->admitted()) << "it was charged";
  large.start_for("other", 60, std::chrono::seconds(5));
  EXPECT_EQ(large.state(), "refused after 0, retry in 1000") << "there is no room for it to wait";
  room->close();
  room->advance();
  EXPECT_EQ(first.state(), "refused after 0, retry in 1000");
}

TEST_F(Waiting, AtItsDeadlineARequestThatFitsDoesNotOvertakeAFirstOneThatIsBeingDecided) {
  set("60/min");
  ASSERT_TRUE(takes(60));
  std::vector<std::function<void()>> steps;
  Caller first(core, [&](std::function<void()> step) { steps.push_back(std::move(step)); });
  Caller second(core), hurried(core);
  first.start(1, std::chrono::seconds(5));
  second.start(1, std::chrono::milliseconds(1500));
  hurried.start(1, std::chrono::seconds(5));
  clock->advance(std::chrono::milliseconds(1500));
  room->advance();
  ASSERT_EQ(steps.size(), 1U) << "the first is being decided, such as by a slow server";
  EXPECT_EQ(second.state(), "refused after 1500, retry in 1");
  clock->advance(std::chrono::milliseconds(500));
  hurried.acquire.hurry();
  room->advance();
  EXPECT_EQ(hurried.state(), "refused after 2000, retry in 1") << "its caller does not want it any more";
  steps[0]();
  EXPECT_EQ(first.state(), "admitted after 2000");
}

}  // namespace
}  // namespace weir::limiter
