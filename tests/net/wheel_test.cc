#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "net/timer_wheel.h"

namespace weir::net {
namespace {

struct WakeUp : Timer {
  void on_deadline() override { ++rung; }
  int rung = 0;
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
  EXPECT_EQ(near.rung, 0);
  wheel.advance(3);
  EXPECT_EQ(near.rung, 1);
  wheel.advance(4999);
  EXPECT_EQ(far.rung, 0);
  wheel.advance(5000);
  EXPECT_EQ(far.rung, 1);
  wheel.advance(20'000);
  EXPECT_EQ(near.rung + far.rung + cancelled.rung, 2);
}

RC_GTEST_PROP(TimerWheel, AgreesWithAListOfDeadlines, ()) {
  TimerWheel wheel;
  std::vector<WakeUp> bells(5);
  std::map<std::size_t, std::uint64_t> deadlines;
  const auto steps = *rc::gen::inRange(1, 200);
  std::uint64_t now = 0;
  for (int i = 0; i < steps; ++i) {
    const auto which = *rc::gen::inRange<std::size_t>(0, bells.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: {
        const auto deadline = now + *rc::gen::inRange<std::uint64_t>(1, 2000);
        wheel.set(bells[which], deadline);
        deadlines[which] = deadline;
        break;
      }
      case 1:
        TimerWheel::cancel(bells[which]);
        deadlines.erase(which);
        break;
      default:
        now += *rc::gen::inRange<std::uint64_t>(1, 1500);
        wheel.advance(now);
        for (std::size_t bell = 0; bell < bells.size(); ++bell) {
          const bool due = deadlines.contains(bell) && deadlines[bell] <= now;
          RC_ASSERT(bells[bell].rung == (due ? 1 : 0));
          bells[bell].rung = 0;
          if (due) deadlines.erase(bell);
        }
    }
  }
}

}  // namespace
}  // namespace weir::net
