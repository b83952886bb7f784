// Records in a store that cannot be read: sync leaves out the entity, says so, and goes on with the others.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/redis_server.h"
#include "sync/simulation.h"
#include "sync/snapshot.h"

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

constexpr Time in_2100 = 4'102'444'800'000;

/// "us" publishes what the tests write; "eu" runs.
class DamagedSnapshots : public testing::Test {
 protected:
  DamagedSnapshots() {
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "600/min"}}));
    EXPECT_TRUE(limiter.acquire("acme", "r", {{"rpm", 1}}));
  }
  Snapshot us(Time published_at, std::vector<Grant> grants = {}) const {
    return {
        .region = "us",
        .sequence = 1,
        .window = 10'000,
        .published_at = published_at,
        .entries = {
            {.entity = "acme",
             .resource = "r",
             .limits = {
                 {.name = "rpm", .capacity = 600'000, .windows = {100'000}, .grants = std::move(grants)}}}}};
  }
  void publish(const Snapshot& snapshot) {
    auto known = exchange.read(snapshot.region);
    ASSERT_TRUE(known);
    ASSERT_TRUE(exchange.publish(snapshot.region, to_json(snapshot), *known ? (*known)->tag : ""));
  }
  CycleReport cycle() {
    clock.advance(std::chrono::seconds(10));
    auto report = runner.cycle();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : CycleReport{};
  }
  static bool tells(const CycleReport& report, std::string_view problem) {
    return std::any_of(report.problems.begin(), report.problems.end(),
                       [&](const std::string& one) { return one.find(problem) != std::string::npos; });
  }

  FakeClock clock{1'700'000'000'000};
  Limiter limiter = *Limiter::open("memory:", {.clock = &clock});
  MemoryExchange exchange;
  Runner runner{
      limiter, exchange, {.region = "eu", .regions = {"eu", "us"}}, {{.resource = "r", .entities = {"acme"}}},
      clock,   {}};
};

TEST_F(DamagedSnapshots, OneFromTheFutureDoesNotHideTheLaterOnes) {
  publish(us(in_2100));
  EXPECT_TRUE(tells(cycle(), "the snapshot of region \"us\": it says that it was published "));
  publish(us(clock.now()));
  const CycleReport report = cycle();
  EXPECT_TRUE(report.problems.empty()) << testing::PrintToString(report.problems);
  EXPECT_FALSE(report.writes.empty()) << "us has all of the demand";
  clock.advance(std::chrono::seconds(60));
  EXPECT_TRUE(cycle().problems.empty());
}

TEST_F(DamagedSnapshots, AClockThatIsAheadByTheSpreadIsNoDamage) {
  publish(us(clock.now() + 12'000));
  EXPECT_TRUE(cycle().problems.empty());
  publish(us(clock.now() + 12'001));
  EXPECT_TRUE(tells(cycle(), "2001 ms from now"));
}

TEST_F(DamagedSnapshots, AGrantThatLastsLongerThanAShareIsRefused) {
  const Time longest = clock.now() + 10'000 + 2'000 + 30'000;
  publish(us(clock.now(), {{"eu", 1000, longest}}));
  EXPECT_TRUE(cycle().problems.empty());
  publish(us(clock.now(), {{"eu", 1000, in_2100}}));
  EXPECT_TRUE(tells(cycle(), "lets \"eu\" use \"rpm\" of \"acme\" until "));
}

TEST_F(DamagedSnapshots, AShareOfAnotherProgramMayLastLonger) {
  Snapshot long_lived = us(clock.now());
  long_lived.entries[0].until = in_2100;
  publish(long_lived);
  EXPECT_TRUE(cycle().problems.empty());
}

TEST_F(DamagedSnapshots, OfTheRegionItselfIsAnErrorThatSaysWhatToDo) {
  Snapshot own = us(in_2100);
  own.region = "eu";
  publish(own);
  const auto refused = runner.cycle();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("or delete the snapshot"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace weir::sync
