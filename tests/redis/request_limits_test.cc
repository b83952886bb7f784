// Limits that are sent with a request: a change of its lease tries them first, and puts nothing in force.
#include <gtest/gtest.h>

#include "app/open_store.h"
#include "limiter/pending.h"
#include "store/completion.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::RedisServer;
using tests::scripts_run;

class RequestLimitsOnRedis : public testing::Test {
 protected:
  RedisServer server;
  std::shared_ptr<const Clock> clock = std::make_shared<SystemClock>();
  std::shared_ptr<base::Entropy> entropy = std::make_shared<base::SystemEntropy>();
  limiter::Core core{{clock, entropy, *app::open_store(server.patient_url(), {}, clock, *entropy)}, {}};
  Limiter limiter = *Limiter::open(server.patient_url());
  const std::vector<Charge> call{{"tpm", 500}, {"calls", 1}};

  static RequestLimits limits(const char* tpm) {
    return *RequestLimits::make(std::vector<LimitText>{{"tpm", tpm}, {"calls", "20:concurrent"}});
  }
  /// An acquire of `key` with these limits, whose lease is taken.
  void acquire(limiter::PendingChange& lease, const RequestLimits& sent) {
    auto decision = core.acquire("key", "r", call, {.limits = &sent});
    ASSERT_TRUE(decision && decision->admitted());
    lease.take(*decision, &sent);
  }
  void settle(limiter::PendingChange& lease, int tpm) {
    const Charge used[] = {{"tpm", tpm}};
    const auto settled = store::wait_for<void>([&](store::Completion<void> done) {
      lease.start_taken({detail::LeaseVerb::settle, {}, used}, done);
    });
    EXPECT_TRUE(settled) << settled.error().message;
  }
  BucketLimit stored(std::string_view name) {
    const auto page = limiter.buckets("key");
    for (const BucketLimit& limit : page->items.at(0).limits) {
      if (limit.name == name) return limit;
    }
    throw std::out_of_range("no such limit");
  }
};

TEST_F(RequestLimitsOnRedis, ASettleUnderTheSameLimitsIsOneCommand) {
  const RequestLimits sent = limits("1000/365d");
  for (int round = 1; round <= 3; ++round) {
    limiter::PendingChange lease(core);
    acquire(lease, sent);
    const long before = scripts_run(server);
    settle(lease, 100);
    EXPECT_EQ(scripts_run(server) - before, 1);
    EXPECT_EQ(stored("tpm").consumed, Amount(100 * round));
    EXPECT_TRUE(stored("calls").held.empty());
  }
}

TEST_F(RequestLimitsOnRedis, ASettleKeepsTheLimitsThatALaterRequestHasBrought) {
  limiter::PendingChange lease(core);
  acquire(lease, limits("1000/365d"));
  limiter::PendingChange later(core);
  acquire(later, limits("3000/365d"));
  settle(lease, 100);
  EXPECT_EQ(stored("tpm").limit.capacity(), Amount(3000));
  EXPECT_EQ(stored("tpm").consumed, Amount(600));
  EXPECT_EQ(stored("calls").held.size(), 1U);
  settle(later, 200);
  EXPECT_EQ(stored("tpm").limit.capacity(), Amount(3000));
  EXPECT_EQ(stored("tpm").consumed, Amount(300));
}

TEST_F(RequestLimitsOnRedis, ASettleWorksAfterARecordOfSyncHasExpired) {
  const std::vector<NamedLimit> set{{"tpm", *Limit::parse("2000/365d")}};
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), set,
                                 {.owner = Owner::sync, .expires_in = std::chrono::milliseconds(1)}));
  // The record has an expiry in whole seconds of the server's clock, which no test can set.
  ASSERT_TRUE(tests::eventually([&] { return !core.effective_limits("key", "r"); }));
  for (int round = 1; round <= 2; ++round) {
    limiter::PendingChange lease(core);
    acquire(lease, limits("1000/365d"));
    settle(lease, 100);
    EXPECT_EQ(stored("tpm").consumed, Amount(100 * round));
    EXPECT_TRUE(stored("calls").held.empty());
  }
}

TEST_F(RequestLimitsOnRedis, ASettleFollowsTheLimitsThatAnOperatorHasSetMeanwhile) {
  limiter::PendingChange lease(core);
  acquire(lease, limits("1000/365d"));
  const std::vector<NamedLimit> set{{"tpm", *Limit::parse("2000/365d")},
                                    {"calls", *Limit::parse("20:concurrent")}};
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), set));
  settle(lease, 100);
  EXPECT_EQ(stored("tpm").limit.capacity(), Amount(2000));
  EXPECT_EQ(stored("tpm").consumed, Amount(100));
  EXPECT_TRUE(stored("calls").held.empty());
}

}  // namespace
}  // namespace weir
