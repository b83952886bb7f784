// Regions whose processes are delayed, run twice, or share thousands of limits, while everything around them
// fails: the shares in force never sum to more than the whole.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "support/folder.h"
#include "sync/world.h"

namespace weir::sync {
namespace {

int from_environment(const char* name, int by_default) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : by_default;
}

void expect_within_the_whole(const World& world) {
  EXPECT_LE(world.most_, 1.0) << "seed " << world.plan_.seed;
  EXPECT_LE(world.excess(), static_cast<double>(world.plan_.regions)) << "seed " << world.plan_.seed;
}

/// All faults of the exchange, of clocks and of processes, by the bits of the seed.
WorldPlan faulty_plan(std::uint64_t seed) {
  return {.regions = 3 + seed % 6,
          .fails = seed % 2 == 0 ? 0 : 0.1,
          .late = seed / 2 % 2 == 0 ? 0 : 0.3,
          .stops = seed / 4 % 2 == 0 ? 0 : 0.05,
          .seed = seed};
}

TEST(SyncFaults, AProcessThatIsDelayedNeitherLendsNorUsesMoreThanItMay) {
  std::size_t delayed = 0, written = 0, failed = 0;
  for (int seed = 0; seed < from_environment("WEIR_SYNC_WORLDS", 16 / part); ++seed) {
    WorldPlan plan = faulty_plan(static_cast<std::uint64_t>(seed));
    plan.delays = 0.05;
    World world(plan);
    world.run(plan.windows / 2, Shifting{plan.seed});
    expect_within_the_whole(world);
    delayed += world.delayed_;
    written += world.written_;
    failed += world.failed_writes_;
  }
  std::cout << delayed << " delays, " << written << " writes, " << failed << " writes that came too late\n";
  EXPECT_GT(delayed, 0U);
  EXPECT_GT(failed, 0U);
}

TEST(SyncFaults, TwoProcessesOfTheSameRegionNoticeEachOtherAndStayWithinTheWhole) {
  for (int seed = 0; seed < from_environment("WEIR_SYNC_WORLDS", 12 / part); ++seed) {
    WorldPlan plan = faulty_plan(static_cast<std::uint64_t>(seed));
    plan.two_each = true;
    plan.delays = seed % 3 == 0 ? 0 : 0.05;
    World world(plan);
    world.run(plan.windows / 2, Shifting{plan.seed});
    expect_within_the_whole(world);
    for (std::size_t process = 0; process < plan.regions; ++process) {
      // One in a thousand is stopped in the first windows and never started again; the second one always
      // runs.
      if (world.completed_[process] < 3) continue;
      EXPECT_GT(world.conflicts_[process] + world.conflicts_[plan.regions + process], 0U)
          << "seed " << seed << ", region " << process;
    }
    EXPECT_GT(world.written_, 0U);
  }
}

TEST(SyncFaults, ASnapshotThatWasDeletedIsPublishedAgain) {
  const tests::Folder folder;
  const auto exchange = open_folder(folder.path());
  ASSERT_TRUE(exchange);
  const FakeClock clock;
  Limiter limiter = *Limiter::open("memory:", {.clock = &clock});
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "600/min"}}));
  Runner runner(limiter, **exchange, {.region = "eu", .regions = {"eu", "us"}},
                {{.resource = "r", .entities = {"key"}}}, clock, {});
  ASSERT_TRUE(runner.cycle());
  std::filesystem::remove(folder.path() + "/eu/snapshot.json");
  const auto surprised = runner.cycle();
  ASSERT_FALSE(surprised);
  EXPECT_EQ(surprised.error().code, ErrorCode::conflict);
  const auto again = runner.cycle();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/eu/snapshot.json"));
}

TEST(SyncFaults, ThousandsOfEntitiesAreSharedWhileEverythingFails) {
  const int entities = from_environment("WEIR_SYNC_ENTITIES", 2000 / part);
  const int windows = from_environment("WEIR_SYNC_WINDOWS", 18);
  const int worlds = from_environment("WEIR_SYNC_WORLDS", 1);
  for (int seed = 0; seed < worlds; ++seed) {
    World world({.regions = 4 + static_cast<std::size_t>(seed) % 5,
                 .entities = static_cast<std::size_t>(entities),
                 .fails = 0.1,
                 .late = 0.3,
                 .stops = 0.1,
                 .delays = 0.05,
                 .steps = 4,
                 .seed = static_cast<std::uint64_t>(seed) + 1});
    world.run(windows, Shifting{world.plan_.seed});
    expect_within_the_whole(world);
    std::cout << entities << " entities in " << world.plan_.regions << " regions: " << world.cycles_
              << " cycles, " << world.failed_cycles_ << " failed, " << world.stopped_ << " stops and starts, "
              << world.delayed_ << " delays, " << world.written_ << " writes\n";
    EXPECT_GT(world.written_, static_cast<std::size_t>(entities));
  }
}

}  // namespace
}  // namespace weir::sync
