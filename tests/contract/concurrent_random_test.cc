// Leases of concurrent limits at random.
#include <algorithm>
#include <random>

#include "contract/concurrent.h"

namespace weir::contract {
namespace {

/// The leases of a test, with what each of them holds.
struct Held {
  Decision decision;
  std::string id;
  std::int64_t amount = 0;
  Time deadline = 0;
};

/// Leases of many lengths, so that the list of holds is full most of the time, ended, lost, extended and
/// adjusted at random.
TEST_P(Concurrent, RandomLeasesNeverHoldTooMuchAndGiveEverythingBack) {
  constexpr std::int64_t capacity = 20;
  set_system({{"calls", "20:concurrent"}, {"rpm", "100000/min"}});
  put("key", "top");
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  std::vector<Held> leases;
  int admitted = 0;
  int refused = 0;
  for (int i = 0; i < std::max(120, rounds(400)) && !HasFailure(); ++i) {
    std::erase_if(leases, [&](const Held& held) { return held.deadline <= now(); });
    std::int64_t live = 0;
    for (const Held& held : leases) live += held.amount;
    const std::int64_t free = std::stoll(remaining("key", "calls"));
    ASSERT_LE(free, capacity - live) << "more is free than is not held";
    ASSERT_EQ(remaining("top", "calls"), std::to_string(free));
    const std::int64_t verb = leases.empty() ? 0 : below(8);
    if (verb < 4) {
      const std::int64_t amount = 1 + below(9);
      const auto length = std::chrono::milliseconds(1 + below(1 << (4 + below(13))));
      Decision decision = acquire("key", {{"calls", amount}, {"rpm", 1}}, lasting(length));
      ASSERT_EQ(decision.admitted(), amount <= free);
      if (decision.admitted()) {
        ++admitted;
        EXPECT_GE(decision.lease().deadline(), now() + length.count());
        leases.push_back({std::move(decision), {}, amount, 0});
        leases.back().deadline = leases.back().decision.lease().deadline();
        if (below(2) == 0) leases.back().id = *leases.back().decision.lease().id();
      } else {
        ++refused;
        EXPECT_TRUE(decision.retry_after());
      }
    } else {
      const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(leases.size())));
      Held& held = leases[at];
      Lease& lease = held.decision.lease();
      const bool by_id = !held.id.empty() && below(2) == 0;
      if (verb == 4) {
        const auto length = std::chrono::milliseconds(1 + below(60'000));
        const auto extended = by_id ? limiter.extend(held.id, length) : lease.extend(length);
        ASSERT_TRUE(extended) << extended.error().message;
        ASSERT_GE(*extended, std::max(held.deadline, now() + length.count()));
        held.deadline = *extended;
      } else if (verb == 5) {
        const std::int64_t by = below(2) == 0 ? 1 : -1;
        const auto adjusted = by_id ? limiter.adjust(held.id, {{"calls", by}}, std::to_string(i))
                                    : lease.adjust({{"calls", by}});
        ASSERT_EQ(bool(adjusted), held.amount + by >= 0);
        if (adjusted) held.amount += by;
      } else {
        const auto ended = by_id ? (verb == 6 ? limiter.settle(held.id, {}) : limiter.rollback(held.id))
                                 : (verb == 6 ? lease.settle({}) : lease.rollback());
        ASSERT_TRUE(ended) << ended.error().message;
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    if (below(4) == 0) advance(std::chrono::milliseconds(below(3'000)));
  }
  EXPECT_GT(admitted, 20);
  EXPECT_GT(refused, 2);
  for (Held& held : leases) {
    if (held.deadline <= now()) continue;
    EXPECT_TRUE(held.decision.lease().rollback());
  }
  if (!leases.empty()) advance(200s);
  EXPECT_EQ(remaining("key", "calls"), "20");
  EXPECT_EQ(remaining("top", "calls"), "20");
}

}  // namespace
}  // namespace weir::contract
