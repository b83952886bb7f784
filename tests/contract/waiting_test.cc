// Acquires that wait for refill instead of being refused.
#include <atomic>
#include <optional>
#include <thread>

#include "contract/contract.h"
#include "support/eventually.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Waiting);

/// An acquire on a thread of its own, which waits.
class Waiter {
 public:
  Waiter(Limiter& limiter, const std::string& resource, const AcquireOptions& options)
      : thread_([&limiter, resource, options, this] {
          decision_ = limiter.acquire("key", resource, {{"rpm", 1}}, options);
          done_ = true;
        }) {}
  ~Waiter() { thread_.join(); }

  bool done() const { return done_; }
  const Result<Decision>& decision() const { return *decision_; }

 private:
  std::atomic<bool> done_{false};
  std::optional<Result<Decision>> decision_;
  std::thread thread_;
};

TEST_P(Waiting, AnAcquireWaitsForRefill) {
  set_system({{"rpm", "2/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 2}}));
  Waiter waiter(limiter, resource, {.max_wait = 60s});
  EXPECT_TRUE(tests::eventually([&] {
    if (!waiter.done()) advance(100ms);
    return waiter.done();
  }));
  ASSERT_TRUE(waiter.decision()) << waiter.decision().error().message;
  EXPECT_TRUE(waiter.decision()->admitted());
}

TEST_P(Waiting, AWaitThatCannotEndInTimeIsRefusedAtOnce) {
  set_system({{"rpm", "2/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 2}}));
  const Decision late = acquire("key", {{"rpm", 1}}, {.max_wait = 29s});
  EXPECT_TRUE(late.refused());
  EXPECT_GT(*late.retry_after(), 29s);
  EXPECT_EQ(late.waited(), 0ms);
  EXPECT_TRUE(acquire("key", {{"rpm", 3}}, {.max_wait = 60s}).never_fits());
  EXPECT_ERROR("invalid-argument", "60000 ms",
               limiter.acquire("key", resource, {{"rpm", 1}}, {.max_wait = 61s}));
  EXPECT_ERROR("unknown-limit", "rpn", limiter.acquire("key", resource, {{"rpn", 1}}, {.max_wait = 60s}));
}

TEST_P(Waiting, TheRepetitionOfAKeyedAcquireDoesNotWaitBehindOthers) {
  set_system({{"rpm", "2/min"}});
  const AcquireOptions keyed{.idempotency_key = "call-1", .max_wait = 60s};
  Decision first = acquire("key", {{"rpm", 2}}, keyed);
  ASSERT_TRUE(first.admitted());
  Waiter waiter(limiter, resource, {.max_wait = 60s});
  for (int i = 0; i < 20; ++i) {
    Decision again = acquire("key", {{"rpm", 2}}, keyed);
    ASSERT_TRUE(again.admitted());
    EXPECT_EQ(*again.lease().id(), *first.lease().id());
  }
  EXPECT_TRUE(tests::eventually([&] {
    if (!waiter.done()) advance(100ms);
    return waiter.done();
  }));
  ASSERT_TRUE(waiter.decision()) << waiter.decision().error().message;
  EXPECT_TRUE(waiter.decision()->admitted());
}

}  // namespace
}  // namespace weir::contract
