// Concurrent limits beside rates on a chain: what an acquire and a settle cost, and when the process has to
// decide.
#include <gtest/gtest.h>

#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::RedisServer;
using tests::scripts_run;

class RedisConcurrent : public testing::Test {
 protected:
  RedisServer server;
  Limiter limiter = *Limiter::open(server.patient_url());
  const std::vector<Charge> call{{"rpm", 1}, {"tpm", 500}, {"usd", 2000}, {"calls", 1}};

  void SetUp() override {
    const std::vector<NamedLimit> limits{{"rpm", *Limit::parse("1000/365d")},
                                         {"tpm", *Limit::parse("1000000/365d")},
                                         {"usd", *Limit::parse("1250000/365d")},
                                         {"calls", *Limit::parse("20:concurrent")}};
    ASSERT_TRUE(limiter.set_limits(Level::system(), limits));
    ASSERT_TRUE(limiter.put_entity({.id = "key", .parent = "project", .cascade = true}));
    ASSERT_TRUE(limiter.put_entity({.id = "project", .parent = "organisation", .cascade = true}));
  }
  Decision acquire(AcquireOptions options = {}) {
    auto decision = limiter.acquire("key", "gpt-4", call, options);
    EXPECT_TRUE(decision && decision->admitted());
    return *std::move(decision);
  }
  /// The rest of a limit in each bucket of the chain, without the parts of a token that refill meanwhile.
  std::vector<Amount> left(std::string_view limit) {
    std::vector<Amount> all;
    const auto available = limiter.available("key", "gpt-4");
    for (const LimitStatus& status : available->limits()) {
      if (status.name == limit) all.push_back(Amount(status.remaining.millitokens() / 1000));
    }
    return all;
  }
  static std::vector<Amount> thrice(int amount) { return {Amount(amount), Amount(amount), Amount(amount)}; }
};

TEST_F(RedisConcurrent, ACallWithEveryKindOfLimitIsTwoCommands) {
  ASSERT_TRUE(acquire().lease().settle({}));
  for (int round = 1; round <= 5; ++round) {
    long before = scripts_run(server);
    Decision decision = acquire();
    EXPECT_EQ(scripts_run(server) - before, 1);
    EXPECT_EQ(left("calls"), thrice(19));
    before = scripts_run(server);
    const auto settled = decision.lease().settle({{"tpm", 380}});
    ASSERT_TRUE(settled) << settled.error().message;
    EXPECT_EQ(scripts_run(server) - before, 1);
    EXPECT_EQ(left("calls"), thrice(20));
    EXPECT_EQ(left("tpm"), thrice(1'000'000 - 500 - 380 * round));
  }
}

TEST_F(RedisConcurrent, ARefusalIsOneCommandAndWritesNothing) {
  std::vector<Decision> held;
  for (int i = 0; i < 20; ++i) held.push_back(acquire());
  const auto before = left("rpm");
  const long scripts = scripts_run(server);
  const auto refused = limiter.acquire("key", "gpt-4", call);
  ASSERT_TRUE(refused && refused->refused());
  EXPECT_EQ(scripts_run(server) - scripts, 1);
  EXPECT_EQ(left("rpm"), before);
  EXPECT_EQ(left("calls"), thrice(0));
  ASSERT_TRUE(held.back().lease().rollback());
  EXPECT_EQ(left("calls"), thrice(1));
}

TEST_F(RedisConcurrent, LeasesOfManyLengthsAreHeldApartAndGivenBackInAnyOrder) {
  std::vector<Decision> held;
  for (int i = 0; i < 20; ++i) held.push_back(acquire({.lease_for = std::chrono::hours(i + 1)}));
  EXPECT_EQ(left("calls"), thrice(0));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(held[static_cast<std::size_t>(i * 7 % 20)].lease().settle({}));
    EXPECT_EQ(left("calls"), thrice(i + 1));
  }
}

TEST_F(RedisConcurrent, AKeyedCallIsHeldOnceAndSettledByAnyProcess) {
  ASSERT_TRUE(acquire().lease().settle({}));
  const long before = scripts_run(server);
  Decision first = acquire({.idempotency_key = "once"});
  EXPECT_EQ(scripts_run(server) - before, 1);
  const std::string id = *first.lease().id();
  EXPECT_EQ(*acquire({.idempotency_key = "once"}).lease().id(), id);
  EXPECT_EQ(left("calls"), thrice(19));
  Limiter other = *Limiter::open(server.patient_url());
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto settled = other.settle(id, {{"tpm", 100}});
    ASSERT_TRUE(settled) << settled.error().message;
    EXPECT_EQ(left("calls"), thrice(20));
    EXPECT_EQ(left("tpm"), thrice(1'000'000 - 500 - 100));
  }
}

TEST_F(RedisConcurrent, ALimitThatBecameARateIsNotGivenBackTo) {
  Decision decision = acquire();
  const std::vector<NamedLimit> rates{{"rpm", *Limit::parse("1000/365d")},
                                      {"calls", *Limit::parse("20/365d")}};
  ASSERT_TRUE(limiter.set_limits(Level::system(), rates));
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  const auto before = left("calls");
  ASSERT_TRUE(decision.lease().settle({}));
  EXPECT_EQ(left("calls"), before);
}

}  // namespace
}  // namespace weir
