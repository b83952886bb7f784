// Records in a store that cannot be read: sync leaves out the entity, says so, and goes on with the others.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/redis_server.h"
#include "sync/simulation.h"

namespace weir::sync {
namespace {

using tests::RedisServer;

class DamagedRecords : public testing::Test {
 protected:
  DamagedRecords() {
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "600/min"}}));
    for (const char* const entity : {"acme", "bad", "globex"}) use(entity);
  }
  Limiter open() {
    auto opened = Limiter::open(server.patient_url() + "&cache_ms=1", {.clock = &clock});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  void use(const std::string& entity) {
    const auto decision = limiter.acquire(entity, "r", {{"rpm", 1}});
    EXPECT_TRUE(decision) << decision.error().message;
  }
  /// A window with some use of the entities that can be used, and a cycle at its end.
  CycleReport window() {
    clock.advance(std::chrono::seconds(10));
    use("acme");
    use("globex");
    auto report = runner.cycle();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : CycleReport{};
  }
  static bool names_bad(const CycleReport& report) {
    return std::any_of(report.problems.begin(), report.problems.end(), [](const std::string& problem) {
      return problem.find(R"("bad" on "r" cannot be read, and is left out)") != std::string::npos;
    });
  }
  void expect_others_go_on(const CycleReport& report) {
    EXPECT_EQ(report.entries, 2U);
    ASSERT_EQ(report.unreadable.size(), 1U);
    EXPECT_EQ(report.unreadable[0].entity, "bad");
    EXPECT_TRUE(names_bad(report)) << testing::PrintToString(report.problems);
    for (const char* const entity : {"acme", "globex"}) {
      const auto share = limiter.limits(Level::entity(entity, "r"));
      ASSERT_TRUE(share) << share.error().message;
      EXPECT_EQ(share->owner, Owner::sync);
      EXPECT_GT(share->expires_at.value_or(0), clock.now());
    }
  }

  RedisServer server;
  tests::RedisProbe probe{server.port()};
  FakeClock clock{1'700'000'000'000};
  Limiter limiter = open();
  MemoryExchange exchange;
  Runner runner{limiter,
                exchange,
                {.region = "eu", .regions = {"eu", "us"}},
                {{.resource = "r", .entities = {"acme", "bad", "globex"}}},
                clock,
                {.threads = 2}};
};

TEST_F(DamagedRecords, OneEntityWithLimitsThatCannotBeReadDoesNotStopTheOthers) {
  probe.ask({"HSET", "weir:{default}:catalog", "e bad r", "nonsense"});
  for (int i = 0; i < 5; ++i) window();
  expect_others_go_on(window());
  ASSERT_TRUE(limiter.delete_limits(Level::entity("bad", "r")));
  EXPECT_TRUE(window().unreadable.empty()) << "it is repaired";
}

TEST_F(DamagedRecords, OneEntityWithABucketThatCannotBeReadDoesNotStopTheOthers) {
  for (int i = 0; i < 3; ++i) window();
  ASSERT_EQ(probe.ask({"SET", "weir:default:{bad}:b:bad:r", "nonsense"}), "OK");
  const CycleReport first = window();
  const auto of_bad = [](const Write& write) { return write.entity == "bad"; };
  EXPECT_EQ(std::count_if(first.writes.begin(), first.writes.end(), of_bad), 0);
  for (int i = 0; i < 5; ++i) window();
  expect_others_go_on(window());
}

TEST_F(DamagedRecords, ACycleInWhichNothingCanBeReadFails) {
  window();
  for (const char* const entity : {"acme", "bad", "globex"})
    probe.ask({"SET", std::string("weir:default:{") + entity + "}:b:" + entity + ":r", "nonsense"});
  const auto report = runner.cycle();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weir::sync
