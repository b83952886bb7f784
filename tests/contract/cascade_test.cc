#include <thread>

#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Cascade);

TEST_P(Cascade, AChargeFallsOnTheParentToo) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  Decision decision = acquire("key", {{"rpm", 4}});
  ASSERT_EQ(decision.limits().size(), 2U);
  EXPECT_EQ(decision.limits()[1].entity, "project");
  EXPECT_EQ(remaining("project", "rpm"), "6");
}

TEST_P(Cascade, TheParentHoldsAllItsChildrenTogether) {
  set_system({{"rpm", "10/min"}});
  put("first", "project");
  put("second", "project");
  EXPECT_EQ(admitted_of(7, "first"), 7);
  EXPECT_EQ(admitted_of(7, "second"), 3);
  EXPECT_EQ(remaining("second", "rpm"), "7") << "what the parent refused must not be charged to the child";
}

TEST_P(Cascade, AFullChildIsRefusedWithoutChargingTheParent) {
  set(Level::entity("key", "gpt-4"), {{"rpm", "1/min"}});
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  EXPECT_EQ(admitted_of(5, "key"), 1);
  EXPECT_EQ(remaining("project", "rpm"), "9");
}

TEST_P(Cascade, EachBucketIsChargedForTheLimitsItHas) {
  set(Level::entity("key", "gpt-4"), {{"rpm", "10/min"}});
  set(Level::entity("project", "gpt-4"), {{"tpm", "1000/min"}});
  put("key", "project");
  ASSERT_TRUE(admits("key", {{"rpm", 1}, {"tpm", 600}}));
  EXPECT_EQ(remaining("key", "rpm"), "9");
  EXPECT_EQ(remaining("key", "tpm"), "none");
  EXPECT_EQ(remaining("project", "tpm"), "400");
  EXPECT_ERROR("unknown-limit",
               "\"rpd\" is not among the limits of \"key\" or its ancestors; known here: rpm, tpm",
               limiter.acquire("key", resource, {{"rpm", 1}, {"rpd", 1}}));
  EXPECT_EQ(remaining("key", "rpm"), "9");
}

TEST_P(Cascade, AnEntityWithoutLimitsIsHeldToItsParents) {
  set(Level::entity("project", "gpt-4"), {{"rpm", "2/min"}});
  put("key", "project");
  EXPECT_EQ(admitted_of(5, "key"), 2);
}

TEST_P(Cascade, TheChainEndsWhereCascadeIsOff) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  put("project", "company", false);
  Decision decision = acquire("key", {{"rpm", 1}});
  EXPECT_EQ(decision.limits().size(), 2U);
  EXPECT_EQ(remaining("company", "rpm"), "10");
}

TEST_P(Cascade, AChainOfEightIsChargedWhole) {
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  for (int i = 1; i < 8; ++i) put("level-" + std::to_string(i), "level-" + std::to_string(i + 1));
  Decision decision = acquire("level-1", {{"rpm", 1}, {"tpm", 7}});
  ASSERT_TRUE(decision.admitted());
  ASSERT_EQ(decision.limits().size(), 16U);
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(remaining("level-" + std::to_string(i), "tpm"), "93") << i;
  ASSERT_TRUE(decision.lease().rollback());
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(remaining("level-" + std::to_string(i), "tpm"), "100") << i;
}

TEST_P(Cascade, BucketsThatExpireAsTheyAreMadeAreChargedTogether) {
  set_system({{"rpm", R"({"capacity":0,"refill_amount":1,"refill_period_ms":60000})"}});
  for (int chain = 0; chain < rounds(12); ++chain) {
    const auto name = [chain](int i) { return std::to_string(chain) + "-level-" + std::to_string(i); };
    for (int i = 1; i < 8; ++i) put(name(i), name(i + 1));
    for (int times = 0; times < 3; ++times) {
      Decision decision = acquire(name(1), {{"rpm", 0}});
      ASSERT_TRUE(decision.admitted());
      EXPECT_EQ(decision.limits().size(), 8U);
    }
  }
}

TEST_P(Cascade, TheWaitIsThatOfTheWholeChain) {
  set(Level::entity("key", "gpt-4"), {{"rpm", "60/min"}});
  set(Level::entity("project", "gpt-4"), {{"rpm", "6/min"}});
  put("key", "project");
  ASSERT_TRUE(admits("key", {{"rpm", 6}}));
  Decision refused = acquire("key", {{"rpm", 1}});
  ASSERT_TRUE(refused.refused());
  advance(*refused.retry_after() - 1ms);
  EXPECT_FALSE(admits("key", {{"rpm", 1}}));
  advance(1ms);
  EXPECT_TRUE(admits("key", {{"rpm", 1}}));
}

TEST_P(Cascade, ConcurrentCallersAreAdmittedExactlyToTheAllowance) {
  const int allowance = rounds(1000);
  set(Level::entity("project", "gpt-4"), {{"rpm", std::to_string(allowance) + "/day"}});
  set_system({{"rpm", std::to_string(allowance * 7 / 10) + "/day"}});
  put("first", "project");
  put("second", "project");
  std::atomic<int> admitted = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < allowance / 2; ++i)
        admitted += admits(t % 2 == 0 ? "first" : "second", {{"rpm", 1}}) ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(admitted, allowance);
  EXPECT_EQ(remaining("project", "rpm"), "0");
}

}  // namespace
}  // namespace weir::contract
