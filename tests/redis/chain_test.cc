// Chains of any depth with any number of limits: new buckets, buckets that exist, refusals, and what each
// costs.
#include <gtest/gtest.h>

#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::RedisServer;
using tests::scripts_run;

struct Shape {
  int depth;
  int limits;
};

class RedisChain : public testing::TestWithParam<Shape> {
 protected:
  RedisServer server;
  Limiter limiter = *Limiter::open(server.patient_url());

  static const char* limit(int i) {
    constexpr const char* names[] = {"l00", "l01", "l02", "l03", "l04", "l05", "l06", "l07",
                                     "l08", "l09", "l10", "l11", "l12", "l13", "l14", "l15"};
    return names[i];
  }
  static std::string entity(int i) { return "e" + std::to_string(i); }
  std::vector<Charge> each(int amount) const {
    std::vector<Charge> charges;
    for (int i = 0; i < GetParam().limits; ++i) charges.push_back({limit(i), amount});
    return charges;
  }
  void SetUp() override {
    std::vector<NamedLimit> limits;
    for (int i = 0; i < GetParam().limits; ++i) limits.push_back({limit(i), *Limit::parse("100/365d")});
    ASSERT_TRUE(limiter.set_limits(Level::system(), limits));
    for (int i = 0; i + 1 < GetParam().depth; ++i)
      ASSERT_TRUE(limiter.put_entity({.id = entity(i), .parent = entity(i + 1), .cascade = true}));
  }
  void expect_consumed(int amount) {
    for (int i = 0; i < GetParam().depth; ++i) {
      const auto buckets = limiter.buckets(entity(i));
      ASSERT_TRUE(buckets) << buckets.error().message;
      ASSERT_EQ(buckets->items.size(), 1U) << entity(i);
      ASSERT_EQ(buckets->items[0].limits.size(), static_cast<std::size_t>(GetParam().limits));
      for (const auto& one : buckets->items[0].limits)
        EXPECT_EQ(one.consumed, Amount(amount)) << entity(i) << " " << one.name;
    }
  }
};

TEST_P(RedisChain, IsChargedAndAnsweredAgainAndAgain) {
  for (int i = 1; i <= 3; ++i) {
    const auto decision = limiter.acquire(entity(0), "r", each(10));
    ASSERT_TRUE(decision) << decision.error().message;
    ASSERT_TRUE(decision->admitted());
    ASSERT_EQ(decision->limits().size(), static_cast<std::size_t>(GetParam().depth * GetParam().limits));
    for (const LimitStatus status : decision->limits()) EXPECT_EQ(status.remaining, Amount(100 - 10 * i));
  }
  expect_consumed(30);
  const auto refused = limiter.acquire(entity(0), "r", each(71));
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_TRUE(refused->refused());
  expect_consumed(30);
}

TEST_P(RedisChain, IsOneCommandAdmittedOrRefusedAndTwoWhereBucketsAreNew) {
  // A script that the server does not know is sent twice.
  ASSERT_TRUE(limiter.acquire(entity(0), "other", each(10)));
  const auto commands = [&](int amount) {
    const long before = scripts_run(server);
    const auto decision = limiter.acquire(entity(0), "r", each(amount));
    EXPECT_TRUE(decision) << decision.error().message;
    return scripts_run(server) - before;
  };
  EXPECT_EQ(commands(10), 2);
  EXPECT_EQ(commands(10), 1);
  EXPECT_EQ(commands(90), 1) << "refused";
}

TEST_P(RedisChain, ALeaseOfItIsSettledAndRolledBack) {
  ASSERT_TRUE(limiter.acquire(entity(0), "r", each(1))->admitted());
  auto settled = limiter.acquire(entity(0), "r", each(10));
  auto undone = limiter.acquire(entity(0), "r", each(20));
  ASSERT_TRUE(settled && undone);
  const auto report = settled->lease().settle(each(12));
  ASSERT_TRUE(report) << report.error().message;
  for (const LimitStatus status : *report) EXPECT_EQ(status.remaining, Amount(100 - 33));
  const auto after = undone->lease().rollback();
  ASSERT_TRUE(after) << after.error().message;
  for (const LimitStatus status : *after) EXPECT_EQ(status.remaining, Amount(100 - 13));
  expect_consumed(13);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RedisChain,
                         testing::Values(Shape{1, 1}, Shape{1, 2}, Shape{1, 16}, Shape{2, 3}, Shape{3, 1},
                                         Shape{3, 2}, Shape{8, 1}, Shape{8, 2}, Shape{8, 16}),
                         [](const auto& shape) {
                           return "depth_" + std::to_string(shape.param.depth) + "_limits_" +
                                  std::to_string(shape.param.limits);
                         });

}  // namespace
}  // namespace weir
