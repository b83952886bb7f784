// Requests that wait for refill: the queues alone, and a thousand callers on one bucket of a memory store, by
// a clock that the test moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "app/open_store.h"
#include "limiter/core.h"
#include "limiter/waiting_acquire.h"
#include "limiter/waiting_queues.h"
#include "weir/clock.h"

namespace weir::limiter {
namespace {

using Event = WaitingQueues::Event;
using Joined = WaitingQueues::Joined;

struct Place : WaitingQueues::Place {};

TEST(WaitingQueues, TheFirstTriesAndThoseBehindItWaitInOrder) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  Place first, second, third;
  EXPECT_EQ(queues.join(first, "a", 1000), Joined::first);
  EXPECT_EQ(queues.join(second, "a", 1000), Joined::behind);
  EXPECT_EQ(queues.join(third, "a", 1000), Joined::behind);
  queues.rest(first, 0, 100, woken);
  queues.rest(second, 0, std::nullopt, woken);
  queues.rest(third, 0, std::nullopt, woken);
  EXPECT_TRUE(woken.empty());
  EXPECT_EQ(queues.next(), 100);
  queues.advance(99, woken);
  EXPECT_TRUE(woken.empty());
  queues.advance(100, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&first}));
  EXPECT_EQ(first.event(), Event::turn);
  woken.clear();
  queues.leave(first, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&second}));
  EXPECT_EQ(second.event(), Event::turn);
  woken.clear();
  queues.leave(second, woken);
  queues.leave(third, woken);
  EXPECT_EQ(queues.size(), 0U);
}

TEST(WaitingQueues, BucketsDoNotWaitForEachOther) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  Place one, other;
  EXPECT_EQ(queues.join(one, "a", 1000), Joined::first);
  EXPECT_EQ(queues.join(other, "b", 1000), Joined::first);
  queues.leave(one, woken);
  queues.leave(other, woken);
  EXPECT_TRUE(woken.empty());
}

TEST(WaitingQueues, APlaceThatBecomesTheFirstWhileItIsBusyHasItsTurnWhenItRests) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  Place first, second;
  queues.join(first, "a", 1000);
  queues.join(second, "a", 1000);
  queues.leave(first, woken);
  EXPECT_TRUE(woken.empty()) << "it is looking";
  queues.rest(second, 5, std::nullopt, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&second}));
  EXPECT_EQ(second.event(), Event::turn);
  queues.leave(second, woken);
}

TEST(WaitingQueues, DeadlinesEndAWaitAndTheLastTryIsAtTheDeadline) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  Place first, second, third;
  queues.join(first, "a", 1000);
  queues.join(second, "a", 300);
  queues.join(third, "a", 1000);
  queues.rest(first, 0, 1000, woken);
  queues.rest(second, 0, std::nullopt, woken);
  queues.rest(third, 0, std::nullopt, woken);
  queues.advance(300, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&second}));
  EXPECT_EQ(second.event(), Event::timeout);
  woken.clear();
  queues.leave(second, woken);
  EXPECT_TRUE(woken.empty()) << "the first is still the first";
  queues.advance(1000, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&first, &third}));
  EXPECT_EQ(first.event(), Event::turn);
  EXPECT_EQ(third.event(), Event::timeout);
  woken.clear();
  queues.leave(first, woken);
  EXPECT_TRUE(woken.empty()) << "the third is about to give up";
  queues.leave(third, woken);
}

TEST(WaitingQueues, HurryAndCloseEndWaits) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  Place first, second, late;
  queues.join(first, "a", 1000);
  queues.join(second, "a", 1000);
  queues.rest(first, 0, 500, woken);
  queues.hurry(second, woken);
  EXPECT_TRUE(woken.empty()) << "it is busy";
  queues.rest(second, 0, std::nullopt, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&second}));
  EXPECT_EQ(second.event(), Event::timeout);
  woken.clear();
  queues.close(woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&first}));
  queues.leave(first, woken);
  queues.leave(second, woken);
  woken.clear();
  EXPECT_EQ(queues.join(late, "a", 1000), Joined::first);
  queues.rest(late, 0, 500, woken);
  EXPECT_EQ(late.event(), Event::timeout);
  queues.leave(late, woken);
}

TEST(WaitingQueues, ANudgeGivesTheFirstOfEachMatchingQueueATurn) {
  WaitingQueues queues;
  WaitingQueues::Woken woken;
  const std::string gpt = WaitingQueues::bucket_of("default", "key", "gpt-4");
  Place first, second, on_another, elsewhere;
  queues.join(first, gpt, 1000);
  queues.join(second, gpt, 1000);
  queues.join(on_another, WaitingQueues::bucket_of("default", "key", "search"), 1000);
  queues.join(elsewhere, WaitingQueues::bucket_of("tenant", "key", "gpt-4"), 1000);
  for (Place* const place : {&first, &on_another, &elsewhere}) queues.rest(*place, 0, 500, woken);
  queues.rest(second, 0, std::nullopt, woken);
  queues.nudge("default", "gpt-4", woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&first}));
  EXPECT_EQ(first.event(), Event::turn);
  woken.clear();
  queues.nudge("default", {}, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&on_another})) << "the other first one is busy";
  woken.clear();
  queues.rest(first, 0, 500, woken);
  EXPECT_EQ(woken, WaitingQueues::Woken({&first})) << "it may have been refused before the change";
  woken.clear();
  queues.rest(first, 0, 500, woken);
  EXPECT_TRUE(woken.empty()) << "once for each nudge";
  for (Place* const place : {&second, &first, &on_another, &elsewhere}) queues.leave(*place, woken);
}

TEST(WaitingQueues, KnowWhoHasOthersInFront) {
  WaitingQueues queues({.of_a_bucket = 2});
  WaitingQueues::Woken woken;
  Place first, second, without_room;
  EXPECT_FALSE(queues.is_behind_others(without_room, "a"));
  queues.join(first, "a", 1000);
  queues.join(second, "a", 1000);
  queues.join(without_room, "a", 1000);
  EXPECT_FALSE(queues.is_behind_others(first, "a"));
  EXPECT_TRUE(queues.is_behind_others(second, "a")) << "the first is busy, and may be about to be charged";
  EXPECT_TRUE(queues.is_behind_others(without_room, "a"));
  queues.rest(first, 0, 500, woken);
  EXPECT_TRUE(queues.is_behind_others(second, "a"));
  queues.leave(first, woken);
  EXPECT_FALSE(queues.is_behind_others(second, "a"));
  EXPECT_TRUE(queues.is_behind_others(without_room, "a"));
  queues.leave(second, woken);
  EXPECT_FALSE(queues.is_behind_others(without_room, "a"));
}

TEST(WaitingQueues, AreBounded) {
  WaitingQueues queues({.of_a_bucket = 2, .in_all = 3});
  WaitingQueues::Woken woken;
  Place places[4];
  EXPECT_EQ(queues.join(places[0], "a", 1), Joined::first);
  EXPECT_EQ(queues.join(places[1], "a", 1), Joined::behind);
  EXPECT_EQ(queues.join(places[2], "a", 1), Joined::full);
  EXPECT_EQ(queues.join(places[2], "b", 1), Joined::first);
  EXPECT_EQ(queues.join(places[3], "c", 1), Joined::full);
  queues.leave(places[3], woken);
  for (Place& place : places) queues.leave(place, woken);
  EXPECT_EQ(queues.size(), 0U);
}

/// A limiter on a memory store whose waiting requests are woken by the test.
class Waiting : public testing::Test {
 protected:
  explicit Waiting(const WaitingBounds& bounds = {})
      : room(std::make_shared<WaitingRoom>(clock, WaitingRoom::Driven::by_caller, bounds)) {}

  void set(const std::string& limit) {
    const auto stored = core.set_limits(Level::system(), *parse_limits({{"rpm", limit}}), {});
    ASSERT_TRUE(stored) << stored.error().message;
  }
  bool takes(Amount amount = 1) { return core.acquire("key", "gpt-4", charge(amount), {})->admitted(); }
  static std::vector<Charge> charge(Amount amount) { return {{"rpm", amount}}; }

  const std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  const std::shared_ptr<base::Entropy> entropy = std::make_shared<base::SystemEntropy>();
  const std::shared_ptr<WaitingRoom> room;
  Core core{{clock, entropy, *app::open_store("memory:", {}, clock, *entropy), room}, {}};
};

/// One request, with what its caller sees of it.
struct Caller {
  explicit Caller(Core& core, WaitingAcquire::Run run = {}) : acquire(core, std::move(run)) {}
  void start(Amount amount, std::chrono::milliseconds max_wait, std::string_view once = {}) {
    start_for("key", amount, max_wait, once);
  }
  void start_for(std::string_view entity, Amount amount, std::chrono::milliseconds max_wait,
                 std::string_view once = {}) {
    charges = {{"rpm", amount}};
    acquire.start(entity, "gpt-4", charges, {.idempotency_key = once, .max_wait = max_wait},
                  {[](void* self, Result<void>&& answer) {
                     static_cast<Caller*>(self)->result.emplace(std::move(answer));
                   },
                   this});
  }
  /// "waits", "admitted after 10", "refused after 10, retry in 5", or the error.
  std::string state() {
    if (!result) return "waits";
    if (!*result) return result->error().message;
    Decision& decision = acquire.decision();
    const std::string after = " after " + std::to_string(decision.waited().count());
    if (decision.admitted()) return "admitted" + after;
    if (!decision.retry_after()) return "never fits" + after;
    return "refused" + after + ", retry in " + std::to_string(decision.retry_after()->count());
  }

  std::vector<Charge> charges;
  WaitingAcquire acquire;
  std::optional<Result<void>> result;
};

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

/// A thousand callers want twice what the bucket refills, for simulated minutes. Each calls again after its
/// answer, not before its time.
class Crowd : public Waiting {
 protected:
  static constexpr int callers = 1000;
  static constexpr Time refill_every = 10;  // milliseconds; each caller wants one in callers * this / 2
  static constexpr int capacity = 10;

  struct One {
    std::unique_ptr<Caller> caller;
    Time calls_at = 0;
    std::uint64_t number = 0;
    std::chrono::milliseconds max_wait{0};
    int admitted = 0;
  };

  void SetUp() override {
    const auto limit = Limit::parse(R"({"capacity":10,"refill_amount":1,"refill_period_ms":10})");
    ASSERT_TRUE(limit) << limit.error().message;
    const std::vector<NamedLimit> limits = {{"rpm", *limit}};
    ASSERT_TRUE(core.set_limits(Level::system(), limits, {}));
    ASSERT_TRUE(takes(capacity));
  }

  Time now() { return clock->now() - started; }

  void start(One& one) {
    one.number = ++arrivals;
    one.max_wait = std::chrono::milliseconds(waits(random));
    one.caller = std::make_unique<Caller>(core);
    one.caller->start(1, one.max_wait);
    one.calls_at += callers * refill_every / 2;
  }

  void take_answer(One& one) {
    const std::string state = one.caller->state();
    if (state.starts_with("admitted")) {
      answered.push_back(one.number);
      ++one.admitted;
    } else {
      ++refused;
      ASSERT_TRUE(state.starts_with("refused")) << state;
    }
    ASSERT_LE(one.caller->acquire.decision().waited(), one.max_wait);
    one.caller.reset();
    one.calls_at = std::max(one.calls_at, now());
  }

  void run(Time until) {
    started = clock->now();
    std::uniform_int_distribution<Time> phase(0, callers * refill_every / 2);
    for (One& one : all) one.calls_at = phase(random);
    while (now() < until) {
      for (One& one : all) {
        if (!one.caller && one.calls_at <= now()) start(one);
      }
      room->advance();
      for (One& one : all) {
        if (one.caller && one.caller->result) take_answer(one);
        if (HasFatalFailure()) return;
      }
      const Time allowance = now() / refill_every;
      ASSERT_LE(static_cast<Time>(answered.size()), allowance);
      if (room->size() != 0) {
        ASSERT_EQ(static_cast<Time>(answered.size()), allowance) << "at " << now();
      }
      step();
    }
  }
  /// No caller may wait any more when the callers are destroyed.
  void TearDown() override {
    room->close();
    room->advance();
  }

  /// To the next moment at which something happens.
  void step() {
    Time next = now() + 1000;
    for (const One& one : all) {
      if (!one.caller) next = std::min(next, std::max(one.calls_at, now() + 1));
    }
    if (const auto due = room->next()) next = std::min(next, std::max(now() + 1, now() + *due - room->now()));
    clock->set(started + next);
  }

  int least_admitted() const {
    return std::min_element(all.begin(), all.end(),
                            [](const One& one, const One& other) { return one.admitted < other.admitted; })
        ->admitted;
  }
  void expect_order() {
    for (std::size_t i = 1; i < answered.size(); ++i) ASSERT_LT(answered[i - 1], answered[i]);
  }

  std::mt19937 random{7};
  std::uniform_int_distribution<Time> waits{60'000, 60'000};
  std::vector<One> all{callers};
  std::vector<std::uint64_t> answered;  // the numbers of admitted requests, in the order of their answers
  std::uint64_t arrivals = 0;
  int refused = 0;
  Time started = 0;
};

TEST_F(Crowd, WhoWaitsLongEnoughIsAdmittedInOrder) {
  run(Time{3} * 60'000);
  if (HasFatalFailure()) return;
  expect_order();
  EXPECT_EQ(refused, 0);
  // A round of all callers takes ten seconds.
  EXPECT_GE(least_admitted(), 17);
  std::printf("%llu requests, %zu admitted, %d refused\n", static_cast<unsigned long long>(arrivals),
              answered.size(), refused);
}

TEST_F(Crowd, WhoGivesUpChangesNothingForTheOthers) {
  waits = std::uniform_int_distribution<Time>(500, 8'000);
  run(Time{3} * 60'000);
  if (HasFatalFailure()) return;
  expect_order();
  EXPECT_GT(refused, 1000);
  EXPECT_GE(least_admitted(), 5);
  std::printf("%llu requests, %zu admitted, %d refused\n", static_cast<unsigned long long>(arrivals),
              answered.size(), refused);
}

}  // namespace
}  // namespace weir::limiter
