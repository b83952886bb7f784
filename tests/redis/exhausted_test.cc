// Buckets that Redis has just found too empty are refused without asking: when that is so, when it is not,
// and that nobody is admitted by it.
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::RedisServer;

class ExhaustedOnRedis : public testing::Test {
 protected:
  RedisServer server;
  FakeClock clock{1'699'999'980'000};  ///< a whole minute, so that waits are whole

  // By somebody else, before the others are there: a process that hears of a change forgets what it has seen.
  ExhaustedOnRedis() {
    Limiter admin = open("");
    EXPECT_TRUE(admin.set_limits(Level::system(), {{"rpm", "10/min"}}));
    for (const char* const key : {"a", "b"}) {
      EXPECT_TRUE(admin.put_entity({.id = key, .parent = "project", .cascade = true}));
      EXPECT_TRUE(admin.set_limits(Level::entity_default(key), {{"rpm", "100/min"}}));
    }
  }
  Limiter open(const std::string& more = "&refuse_ms=100", int multiplier = 7) {
    auto limiter = Limiter::open(server.patient_url() + more,
                                 {.clock = &clock, .bucket_ttl_refill_multiplier = multiplier});
    EXPECT_TRUE(limiter) << limiter.error().message;
    return *std::move(limiter);
  }
  /// "admitted", "refused", "refused from memory", with the wait in milliseconds.
  static std::string ask(Limiter& limiter, int amount, std::string_view entity = "key") {
    auto decision = limiter.acquire(entity, "r", {{"rpm", amount}});
    if (!decision) return decision.error().message;
    if (decision->admitted()) return "admitted";
    const std::string how = decision->from_memory() ? "refused from memory" : "refused";
    if (decision->never_fits()) return how + " for ever";
    return how + " for " + std::to_string(decision->retry_after()->count());
  }
  long scripts() const { return tests::scripts_run(server); }
};

TEST_F(ExhaustedOnRedis, ASecondRefusalIsFromMemoryForAWhileAndSaysTheSame) {
  Limiter limiter = open();
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  const long before = scripts();
  clock.advance(50ms);
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 5950");
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 5950");
  EXPECT_EQ(scripts(), before);
  clock.advance(50ms);
  EXPECT_EQ(ask(limiter, 1), "refused for 5900") << "it is asked again after a while";
  EXPECT_EQ(scripts(), before + 1);
}

TEST_F(ExhaustedOnRedis, WithoutTheParameterItIsAlwaysAsked) {
  Limiter limiter = open("");
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
}

TEST_F(ExhaustedOnRedis, WhatHasRefilledOrStillFitsIsAsked) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 7), "admitted");
  EXPECT_EQ(ask(limiter, 5), "refused for 12000");
  EXPECT_EQ(ask(limiter, 4), "refused from memory for 6000");
  EXPECT_EQ(ask(limiter, 3), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000") << "nobody is admitted from memory, either";
}

TEST_F(ExhaustedOnRedis, WhoMayBeAdmittedWithinTheErrorOfTheClockIsAsked) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  clock.advance(5996ms);
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 4");
  clock.advance(1ms);
  EXPECT_EQ(ask(limiter, 1), "refused for 3");
  clock.advance(3ms);
  EXPECT_EQ(ask(limiter, 1), "admitted");
}

TEST_F(ExhaustedOnRedis, WhatCanNeverFitIsKnownToo) {
  Limiter limiter = open();
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 11), "refused for ever");
  EXPECT_EQ(ask(limiter, 11), "refused from memory for ever");
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 6000");
}

TEST_F(ExhaustedOnRedis, AWaitOfAnyLengthIsKnownAndKept) {
  Limiter limiter = open("&refuse_ms=60000", 1);
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  EXPECT_EQ(ask(limiter, 10), "refused from memory for 60000");
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 6000");
  clock.advance(60s);
  EXPECT_EQ(ask(limiter, 10), "admitted");
}

TEST_F(ExhaustedOnRedis, InAChainTheParentsBucketIsKnownToAll) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 10, "a"), "admitted");
  EXPECT_EQ(ask(limiter, 1, "a"), "refused for 6000");
  EXPECT_EQ(ask(limiter, 1, "a"), "refused from memory for 6000");
  EXPECT_EQ(ask(limiter, 1, "b"), "refused for 6000") << "its own bucket is not known";
  EXPECT_EQ(ask(limiter, 1, "b"), "refused from memory for 6000");
  auto lease = limiter.acquire("project", "other", {{"rpm", 10}});
  ASSERT_TRUE(lease && lease->admitted());
  ASSERT_TRUE(lease->lease().rollback());
  EXPECT_EQ(ask(limiter, 1, "b"), "refused from memory for 6000") << "of another resource";
}

TEST_F(ExhaustedOnRedis, WhatThisProcessGivesBackIsThereAtOnce) {
  Limiter limiter = open("&refuse_ms=60000");
  auto lease = limiter.acquire("a", "r", {{"rpm", 10}});
  ASSERT_TRUE(lease && lease->admitted());
  EXPECT_EQ(ask(limiter, 5, "b"), "refused for 30000");
  EXPECT_EQ(ask(limiter, 5, "b"), "refused from memory for 30000");
  ASSERT_TRUE(lease->lease().settle({{"rpm", 4}}));
  EXPECT_EQ(ask(limiter, 5, "b"), "admitted");
}

TEST_F(ExhaustedOnRedis, WhatAnotherProcessGivesBackIsThereAfterAWhile) {
  Limiter limiter = open();
  Limiter other = open();
  auto lease = other.acquire("key", "r", {{"rpm", 10}});
  ASSERT_TRUE(lease && lease->admitted());
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  ASSERT_TRUE(lease->lease().rollback());
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 6000");
  clock.advance(100ms);
  EXPECT_EQ(ask(limiter, 1), "admitted");
}

TEST_F(ExhaustedOnRedis, ChangedLimitsCountAtOnce) {
  Limiter limiter = open("&refuse_ms=60000");
  Limiter other = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  ASSERT_TRUE(limiter.set_limits(Level::entity_default("key"), {{"rpm", "60/min"}}));
  EXPECT_EQ(ask(limiter, 1), "refused for 1000");
  ASSERT_TRUE(other.set_limits(Level::entity_default("key"), {{"rpm", "600/min"}}));
  EXPECT_TRUE(tests::eventually([&] { return ask(limiter, 1) == "refused for 100"; })) << ask(limiter, 1);
}

TEST_F(ExhaustedOnRedis, ADeletedEntityBeginsAnewAtOnce) {
  Limiter limiter = open("&refuse_ms=60000");
  ASSERT_TRUE(limiter.put_entity({.id = "key"}));
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_EQ(ask(limiter, 1), "admitted");
}

TEST_F(ExhaustedOnRedis, AnAcquireThatIsMadeOnceAsks) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  AcquireOptions once;
  once.idempotency_key = "k";
  auto decision = limiter.acquire("key", "r", {{"rpm", 1}}, once);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->refused() && !decision->from_memory());
}

TEST_F(ExhaustedOnRedis, WhatIsKnownOfAServerIsForgottenWithTheConnection) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 10), "admitted");
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  server.ask({"DEL", "weir:default:{key}:b:key:r"});
  EXPECT_EQ(ask(limiter, 1), "refused from memory for 6000");
  server.ask({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(tests::eventually([&] { return ask(limiter, 1) == "admitted"; })) << ask(limiter, 1);
}

TEST_F(ExhaustedOnRedis, WhatThisProcessTakesIsNotLeftOutOfTheWait) {
  Limiter limiter = open("&refuse_ms=60000");
  EXPECT_EQ(ask(limiter, 7), "admitted");
  EXPECT_EQ(ask(limiter, 5), "refused for 12000");
  EXPECT_EQ(ask(limiter, 3), "admitted");
  EXPECT_EQ(ask(limiter, 5), "refused for 30000");
  EXPECT_EQ(ask(limiter, 5), "refused from memory for 30000");
}

TEST_F(ExhaustedOnRedis, ABucketThatHasToBeMadeToGrowIsMade) {
  {
    Limiter admin = open("");
    const std::string grows = R"({"capacity":10,"burst":20,"refill_amount":10,"refill_period_ms":60000})";
    ASSERT_TRUE(admin.set_limits(Level::entity_default("a"), {{"rpm", "10/min"}}));
    ASSERT_TRUE(admin.set_limits(Level::entity_default("project"), {{"tpm", grows}}));
  }
  Limiter limiter = open("&refuse_ms=60000");
  const auto both = [&](int rpm, int tpm) {
    auto decision = limiter.acquire("a", "r", {{"rpm", rpm}, {"tpm", tpm}});
    EXPECT_TRUE(decision) << decision.error().message;
    return std::pair(decision->admitted(), decision->from_memory());
  };
  const auto child = limiter.acquire("a", "r", {{"rpm", 10}});
  server.ask({"DEL", "weir:default:{project}:b:project:r"});
  EXPECT_EQ(both(10, 1), std::pair(false, false));
  EXPECT_EQ(both(10, 1), std::pair(false, true));
  EXPECT_EQ(both(10, 15), std::pair(false, false)) << "the parent's bucket has to be there for that";
  clock.advance(60s);
  EXPECT_EQ(both(10, 15), std::pair(true, false));
}

TEST_F(ExhaustedOnRedis, AnAdmissionAfterALookAtMemoryNamesNoWait) {
  Limiter limiter = open("&refuse_ms=60000");
  Limiter other = open("");
  auto lease = other.acquire("key", "r", {{"rpm", 10}});
  ASSERT_TRUE(lease && lease->admitted());
  EXPECT_EQ(ask(limiter, 1), "refused for 6000");
  ASSERT_TRUE(lease->lease().rollback());
  // Too close to the moment to be sure, so Redis is asked.
  clock.advance(5998ms);
  const auto decision = limiter.acquire("key", "r", {{"rpm", 1}});
  ASSERT_TRUE(decision && decision->admitted());
  EXPECT_EQ(decision->retry_after(), 0ms);
}

}  // namespace
}  // namespace weir
