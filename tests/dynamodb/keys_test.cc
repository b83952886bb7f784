// Keyed acquires: one that was given up is not admitted later.
#include "dynamodb/table.h"
#include "limiter/core.h"

namespace weir::dynamodb {
namespace {

class Keys : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "100/h"}})); }
  limiter::Core core(std::shared_ptr<const Clock> clock = nullptr) {
    if (!clock) clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock);
    return limiter::Core({clock, std::make_shared<base::SystemEntropy>(), table.store({.clock = clock})}, {});
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
  std::int64_t consumed() const { return table.number("key", "b_rpm_tc"); }

  TestTable table;
  const std::vector<Charge> charge{{"rpm", 5}};
  limiter::Core behind = core();
};

TEST_F(Keys, AnAcquireThatWasGivenUpIsNotAdmittedThroughABlock) {
  give_up(behind);
  ASSERT_TRUE(behind.set_access("key", {.access = Access::blocked, .reason = "abuse"}));
  const Decision blocked = acquire(behind);
  EXPECT_TRUE(blocked.refused());
  EXPECT_NE(blocked.block(), nullptr);
}

/// Somebody who came before.
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

}  // namespace
}  // namespace weir::dynamodb
