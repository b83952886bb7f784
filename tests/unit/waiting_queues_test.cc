// The queues of requests that wait for refill.
#include "limiter/waiting_queues.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

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

}  // namespace
}  // namespace weir::limiter
