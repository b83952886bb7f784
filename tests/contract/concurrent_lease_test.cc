// Leases that hold concurrent limits: extending, adjusting and ending them, by their holder or by id.
#include "contract/concurrent.h"

namespace weir::contract {
namespace {

TEST_P(Concurrent, AnotherProcessEndsExtendsAndAdjustsALease) {
  set_system({{"calls", "5:concurrent"}, {"tpm", "100/min"}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  Decision decision = acquire("key", {{"calls", 2}, {"tpm", 10}}, lasting(8s));
  const std::string id = *decision.lease().id();
  auto adjusted = other.adjust(id, {{"calls", 1}, {"tpm", -5}}, "a");
  ASSERT_TRUE(adjusted) << adjusted.error().message;
  EXPECT_EQ(remaining("key", "calls"), "2");
  adjusted = other.adjust(id, {{"calls", 1}}, "a");
  ASSERT_TRUE(adjusted);
  EXPECT_EQ(remaining("key", "calls"), "2") << "the same key again";
  EXPECT_ERROR("invalid-argument", "than the lease holds", other.adjust(id, {{"calls", -4}}, "b"));
  ASSERT_TRUE(other.adjust(id, {{"calls", -2}}, "c"));
  EXPECT_EQ(remaining("key", "calls"), "4");
  advance(6s);
  const auto extended = other.extend(id, 16s);
  ASSERT_TRUE(extended) << extended.error().message;
  EXPECT_GE(*extended, now() + 16'000);
  EXPECT_LE(*extended, now() + 18'000);
  advance(10s);
  EXPECT_EQ(remaining("key", "calls"), "4") << "past the first deadline";
  ASSERT_TRUE(limiter.adjust(id, {{"calls", 1}}, "d")) << "this process extends and changes it too";
  EXPECT_EQ(remaining("key", "calls"), "3");
  const auto later = limiter.extend(id, 60s);
  ASSERT_TRUE(later);
  EXPECT_GT(*later, *extended);
  EXPECT_EQ(*limiter.extend(id, 1s), *later) << "never to an earlier time";
  advance(std::chrono::milliseconds(*extended - now()));
  EXPECT_EQ(remaining("key", "calls"), "3");
  auto settled = other.settle(id, {{"tpm", 20}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(remaining("key", "calls"), "5");
  EXPECT_TRUE(other.settle(id, {{"tpm", 20}}));
  EXPECT_ERROR("conflict", "settled", limiter.extend(id, 1min));
  EXPECT_EQ(remaining("key", "calls"), "5");
}

TEST_P(Concurrent, ALeaseThatItsHolderExtendedAndAdjustedIsStillEndedByItsId) {
  set_system({{"calls", "5:concurrent"}, {"tpm", "100/min"}});
  Decision decision = acquire("key", {{"calls", 2}, {"tpm", 10}}, lasting(8s));
  const std::string id = *decision.lease().id();
  ASSERT_TRUE(decision.lease().extend(60s));
  ASSERT_TRUE(decision.lease().adjust({{"tpm", 5}}));
  const auto extended = limiter.extend(id, 70s);
  ASSERT_TRUE(extended) << extended.error().message;
  ASSERT_TRUE(decision.lease().adjust({{"tpm", -3}}));
  const auto settled = limiter.settle(id, {{"tpm", 20}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(remaining("key", "calls"), "5");
  EXPECT_EQ(remaining("key", "tpm"), "80");
}

TEST_P(Concurrent, ALeaseCannotBeExtendedAfterItsDeadline) {
  set_system({{"calls", "1:concurrent"}, {"rpm", "10/min"}});
  Decision kept = acquire("key", {{"calls", 1}}, lasting(1s));
  const auto first = kept.lease().extend(10s);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(kept.lease().deadline(), *first);
  advance(5s);
  const std::string id = *kept.lease().id();
  EXPECT_TRUE(take("key", 1).refused());
  advance(std::chrono::milliseconds(*first - now() - 1));
  EXPECT_TRUE(take("key", 1).refused());
  advance(1ms);
  EXPECT_ERROR("expired", "deadline", kept.lease().extend(1s));
  EXPECT_ERROR("expired", "deadline", limiter.extend(id, 1s));
  Decision next = take("key", 1);
  ASSERT_TRUE(next.admitted());
  EXPECT_ERROR("expired", "deadline", limiter.rollback(id));
  EXPECT_TRUE(take("key", 1).refused()) << "the slot of the next is still held";
  // A lease without slots.
  Decision rate = acquire("key", {{"rpm", 1}}, lasting(1s));
  const std::string rate_id = *rate.lease().id();
  const auto moved = limiter.extend(rate_id, 30s);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(*moved, now() + 30'000);
  advance(20s);
  ASSERT_TRUE(limiter.settle(rate_id, {{"rpm", 3}}));
  EXPECT_ERROR("invalid-argument", "at least 1 ms", limiter.extend(rate_id, 0ms));
  EXPECT_ERROR("invalid-argument", "at least 1 ms",
               limiter.acquire("key", resource, {{"rpm", 1}}, lasting(-1ms)));
}

TEST_P(Concurrent, AnOldLeaseDoesNotChangeTheNextOneOfItsKey) {
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  AcquireOptions options = lasting(1s);
  options.idempotency_key = "k";
  Decision old = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  const std::string id = *old.lease().id();
  ASSERT_TRUE(limiter.extend(id, 2s));
  advance(5s);
  Decision next = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  ASSERT_TRUE(next.admitted());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(remaining("key", "calls"), "2");
    EXPECT_ERROR("expired", "deadline", limiter.settle(id, {}));
    EXPECT_ERROR("expired", "deadline", limiter.extend(id, 1min));
    EXPECT_ERROR("expired", "deadline", old.lease().rollback());
    EXPECT_EQ(remaining("key", "calls"), "2");
    ASSERT_TRUE(next.lease().extend(1min));
  }
  const std::string next_id = *next.lease().id();
  Decision again = acquire("key", {{"calls", 1}, {"rpm", 1}}, options);
  EXPECT_EQ(again.lease().deadline(), next.lease().deadline());
  advance(30s);
  ASSERT_TRUE(limiter.adjust(next_id, {{"calls", 1}}, "a")) << "every id of the next one is good";
  ASSERT_TRUE(again.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "3");
}

TEST_P(Concurrent, AClockThatIsBehindABucketHoldsForTheWholeLease) {
  set_system({{"calls", "1:concurrent"}, {"rpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  advance(-1s);
  Decision held = take("key", 1, 100ms);
  ASSERT_TRUE(held.admitted());
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  EXPECT_GE(held.lease().deadline(), now() + 100);
  ASSERT_TRUE(held.lease().extend(200ms));
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  advance(std::chrono::milliseconds(held.lease().deadline() - now() - 1));
  EXPECT_TRUE(take("key", 1, 100ms).refused());
  advance(1ms);
  EXPECT_TRUE(take("key", 1, 100ms).admitted());
}

TEST_P(Concurrent, HoldsEndAfterARestartToo) {
  set_system({{"calls", "2:concurrent"}, {"rpm", "10/min"}});
  ASSERT_TRUE(acquire("key", {{"calls", 2}, {"rpm", 1}}, lasting(1s)).admitted());
  if (GetParam().name == "memory") return;
  limiter = *Limiter::open("memory:");
  limiter = *store_->open({});
  EXPECT_TRUE(take("key", 1).refused());
  advance(2s);
  EXPECT_EQ(remaining("key", "calls"), "2");
  EXPECT_TRUE(acquire("key", {{"calls", 2}, {"rpm", 1}}).admitted());
}

TEST_P(Concurrent, TheDeadlineOfTheOptionsMayBeLongerThanAYear) {
  auto opened = store_->open({.lease_deadline = std::chrono::hours(24) * 1000});
  ASSERT_TRUE(opened);
  set_system({{"rpm", "10/min"}});
  Limiter& patient = GetParam().name == "memory" ? limiter : *opened;
  EXPECT_TRUE(patient.acquire("key", resource, {{"rpm", 1}}));
  Decision decision = acquire("key", {{"rpm", 1}});
  EXPECT_ERROR("invalid-argument", "at least 1 ms", decision.lease().extend(0ms));
  EXPECT_ERROR("invalid-argument", "a year", decision.lease().extend(std::chrono::hours(24) * 366));
}

TEST_P(Concurrent, AProcessThatSawAnEarlierBucketExtendsALease) {
  set_system({{"calls", "1:concurrent"}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened);
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  ASSERT_TRUE(other.acquire("key", resource, {{"calls", 1}}, lasting(1s)));
  advance(1h);
  Decision decision = take("key", 1, 8s);
  ASSERT_TRUE(decision.admitted());
  const auto extended = other.extend(*decision.lease().id(), 60s);
  ASSERT_TRUE(extended) << extended.error().message;
  advance(30s);
  EXPECT_TRUE(take("key", 1).refused()) << "held until the next deadline";
  advance(std::chrono::milliseconds(*extended - now()));
  EXPECT_TRUE(take("key", 1).admitted());
}

TEST_P(Concurrent, ListingsAgreeWithThemselvesWhereALimitWasARateBeforeItsLeaseIsExtended) {
  set_system({{"calls", "5:concurrent"}, {"rpm", "100/min"}});
  Decision decision = acquire("key", {{"calls", 2}, {"rpm", 1}}, lasting(60s));
  ASSERT_TRUE(decision.admitted());
  set_system({{"calls", "5/min"}, {"rpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  set_system({{"calls", "5:concurrent"}, {"rpm", "100/min"}});
  ASSERT_TRUE(decision.lease().extend(120s));
  const BucketLimit calls = limiter.buckets("key")->items[0].limits[0];
  std::int64_t held = 0;
  for (const HeldAmount& one : calls.held) held += one.amount.millitokens();
  // On DynamoDB the bucket has not followed the last change yet.
  if (calls.limit.kind() == Kind::concurrent) {
    EXPECT_EQ(calls.tokens, Amount::milli(5000 - held));
    EXPECT_EQ(remaining("key", "calls"), calls.tokens.to_string());
  }
}

TEST_P(Concurrent, AKeyedAcquireIsHeldOnce) {
  set_system({{"calls", "3:concurrent"}, {"rpm", "10/min"}});
  Decision first = acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k");
  advance(3s);
  Decision again = acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k");
  ASSERT_TRUE(first.admitted() && again.admitted());
  EXPECT_EQ(*first.lease().id(), *again.lease().id());
  EXPECT_EQ(remaining("key", "calls"), "2");
  ASSERT_TRUE(again.lease().settle({}));
  EXPECT_EQ(remaining("key", "calls"), "3");
  EXPECT_TRUE(acquire_keyed("key", {{"calls", 1}, {"rpm", 1}}, "k").admitted());
  EXPECT_EQ(remaining("key", "calls"), "3") << "the lease has ended";
}

}  // namespace
}  // namespace weir::contract
