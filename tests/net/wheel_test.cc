#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "net/timer_wheel.h"

namespace weir::net {
namespace {

struct WakeUp : Timer {
  void on_deadline() override { ++fired; }
  int fired = 0;
};

TEST(TimerWheel, FiresAtTheDeadlineAndNotBefore) {
  TimerWheel wheel;
  WakeUp near;
  WakeUp far;
  WakeUp cancelled;
  wheel.set(near, 3);
  wheel.set(far, 5000);
  wheel.set(cancelled, 3);
  TimerWheel::cancel(cancelled);
  wheel.advance(2);
  EXPECT_EQ(near.fired, 0);
  wheel.advance(3);
  EXPECT_EQ(near.fired, 1);
  wheel.advance(4999);
  EXPECT_EQ(far.fired, 0);
  wheel.advance(5000);
  EXPECT_EQ(far.fired, 1);
  wheel.advance(20'000);
  EXPECT_EQ(near.fired + far.fired + cancelled.fired, 2);
}

RC_GTEST_PROP(TimerWheel, AgreesWithAListOfDeadlines, ()) {
  TimerWheel wheel;
  std::vector<WakeUp> timers(5);
  std::map<std::size_t, std::uint64_t> deadlines;
  const auto steps = *rc::gen::inRange(1, 200);
  std::uint64_t now = 0;
  for (int i = 0; i < steps; ++i) {
    const auto which = *rc::gen::inRange<std::size_t>(0, timers.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: {
        const auto deadline = now + *rc::gen::inRange<std::uint64_t>(1, 2000);
        wheel.set(timers[which], deadline);
        deadlines[which] = deadline;
        break;
      }
      case 1:
        TimerWheel::cancel(timers[which]);
        deadlines.erase(which);
        break;
      default:
        now += *rc::gen::inRange<std::uint64_t>(1, 1500);
        wheel.advance(now);
        for (std::size_t timer = 0; timer < timers.size(); ++timer) {
          const bool due = deadlines.contains(timer) && deadlines[timer] <= now;
          RC_ASSERT(timers[timer].fired == (due ? 1 : 0));
          timers[timer].fired = 0;
          if (due) deadlines.erase(timer);
        }
    }
  }
}

}  // namespace
}  // namespace weir::net
