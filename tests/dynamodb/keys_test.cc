// Keyed acquires: one that was given up is not admitted later, and a key that is used again does not mix up
// its leases, also where the clocks of the processes differ.
#include "dynamodb/table.h"
#include "limiter/core.h"

namespace weir::dynamodb {
namespace {

using detail::LeaseVerb;

/// Two processes; the clock of one of them is a second ahead.
class Keys : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "100/h"}})); }
  limiter::Core core(std::shared_ptr<const Clock> clock = nullptr) {
    if (!clock) clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock);
    return limiter::Core({clock, std::make_shared<base::SystemEntropy>(), table.store({.clock = clock})}, {});
  }
  void advance(std::chrono::milliseconds by) {
    table.clock.advance(by);
    clock_ahead->advance(by);
  }
  Decision acquire(limiter::Core& limiter,
                   const AcquireOptions& options = {.idempotency_key = "K", .lease_for = 5s}) const {
    auto decision = limiter.acquire("key", "gpt-4", charge, options);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision ? *std::move(decision) : Decision();
  }
  /// As an acquire leaves it that was given up while a copy of it could still arrive.
  void give_up(limiter::Core& limiter) {
    const auto nonce = limiter.nonce_of({"default", "key", "gpt-4", charge}, "K");
    ASSERT_TRUE(nonce);
    table.put(write_marker(lease_key("default", "key", *nonce),
                           {.sequence = 1, .fence = true, .deadline = table.clock.now() + 600'000}));
  }
  static bool adjust(limiter::Core& limiter, const std::string& id, int by) {
    const std::vector<Charge> amounts{{"rpm", by}};
    return limiter.change_by_id(id, {.verb = LeaseVerb::adjust, .key = "a", .charges = amounts}).ok();
  }
  static std::string roll_back(limiter::Core& limiter, const std::string& id) {
    const auto done = limiter.change_by_id(id, {.verb = LeaseVerb::rollback});
    return done ? "done" : std::string(name_of(done.error().code));
  }
  std::int64_t consumed() const { return table.number("key", "b_rpm_tc"); }

  TestTable table;
  const std::vector<Charge> charge{{"rpm", 5}};
  const std::shared_ptr<FakeClock> clock_ahead = std::make_shared<FakeClock>(start_of_time + 1'000);
  limiter::Core behind = core();
  limiter::Core ahead = core(clock_ahead);
};

TEST_F(Keys, AnAcquireThatWasGivenUpIsNotAdmittedThroughABlock) {
  give_up(behind);
  ASSERT_TRUE(behind.set_access("key", {.access = Access::blocked, .reason = "abuse"}));
  const Decision blocked = acquire(behind);
  EXPECT_TRUE(blocked.refused());
  EXPECT_NE(blocked.block(), nullptr);
}

/// A request that was in the queue before.
struct InFront final : limiter::WaitingRoom::Waiter {
  void on_woken() override {}
};

TEST_F(Keys, AnAcquireThatWasGivenUpIsNotAdmittedWhileItWaits) {
  ASSERT_TRUE(behind.set_limits(Level::system(), *parse_limits({{"rpm", "5/h"}}), {}));
  ASSERT_TRUE(acquire(behind, {}).admitted());
  give_up(behind);
  limiter::WaitingRoom& room = behind.waiting();
  InFront in_front;
  room.join(in_front, limiter::WaitingQueues::bucket_of("default", "key", "gpt-4"), room.now() + 60'000);
  const Decision late = acquire(behind, {.idempotency_key = "K", .max_wait = 1s});
  room.leave(in_front);
  EXPECT_TRUE(late.refused());
  EXPECT_EQ(consumed(), 5'000);
}

TEST_F(Keys, ARollbackOfTheFirstLeaseByAnotherProcessGivesNothingBackOfTheSecond) {
  Decision first = acquire(behind);
  const std::string id = *first.lease().id();
  advance(4500ms);
  const Decision second = acquire(ahead);
  EXPECT_EQ(consumed(), 10'000) << "by the clock that is ahead the first lease is over";
  limiter::Core other = core();
  EXPECT_EQ(roll_back(other, id), "expired");
  EXPECT_EQ(consumed(), 10'000);
}

TEST_F(Keys, ARollbackOfTheFirstLeaseDoesNotEndTheSecond) {
  Decision first = acquire(behind);
  const std::string id = *first.lease().id();
  advance(4500ms);
  Decision second = acquire(ahead);
  EXPECT_EQ(roll_back(behind, id), "expired") << "it remembers the marker of the first lease";
  EXPECT_EQ(consumed(), 10'000);
  EXPECT_EQ(roll_back(ahead, *second.lease().id()), "done");
  EXPECT_EQ(consumed(), 5'000);
}

TEST_F(Keys, ARollbackOfTheSecondLeaseGivesBackWhatThatOneHolds) {
  Decision first = acquire(behind);
  ASSERT_TRUE(adjust(behind, *first.lease().id(), -1));
  advance(6s);
  Decision second = acquire(ahead);
  ASSERT_TRUE(adjust(ahead, *second.lease().id(), 3));
  EXPECT_EQ(consumed(), 12'000);
  EXPECT_EQ(roll_back(behind, *second.lease().id()), "done") << "it remembers the marker of the first lease";
  EXPECT_EQ(consumed(), 4'000);
}

TEST_F(Keys, ARollbackIsRefusedOnceALaterAcquireOfTheKeyWasGivenUp) {
  Decision first = acquire(behind);
  const std::string id = *first.lease().id();
  give_up(ahead);
  limiter::Core other = core();
  EXPECT_EQ(roll_back(other, id), "expired");
  EXPECT_EQ(consumed(), 5'000);
}

}  // namespace
}  // namespace weir::dynamodb
