// A thousand callers that wait for one bucket of a memory store.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "unit/waiting.h"

namespace weir::limiter {
namespace {

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
