// Regions that share limits, over simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "sync/world.h"

namespace weir::sync {
namespace {

TEST(SyncSimulation, WithTheFairShareBelowTheSharesNeverSumToMoreThanTheWhole) {
  const char* const more = std::getenv("WEIR_SYNC_WORLDS");
  const int worlds = more != nullptr ? std::atoi(more) : 24 / part;
  std::size_t steps = 0, stopped = 0, failed = 0, written = 0;
  for (int world = 0; world < worlds; ++world) {
    const auto seed = static_cast<std::uint64_t>(world);
    WorldPlan plan{.regions = 3 + seed % 6, .seed = seed};
    plan.fails = seed % 2 == 0 ? 0 : 0.1;
    plan.late = seed / 2 % 2 == 0 ? 0 : 0.3;
    plan.stops = seed / 4 % 2 == 0 ? 0 : 0.05;
    World regions(plan);
    regions.run(plan.windows, Shifting{seed});
    ASSERT_LE(regions.most_, 1.0) << "world " << world;
    ASSERT_LE(regions.excess(), static_cast<double>(plan.regions)) << "world " << world;
    steps += static_cast<std::size_t>(plan.windows) * 20 * plan.regions;
    stopped += regions.stopped_;
    failed += regions.failed_cycles_;
    written += regions.written_;
  }
  std::cout << worlds << " worlds, " << steps << " steps, " << stopped << " stops and starts, " << failed
            << " failed cycles, " << written << " writes\n";
}

TEST(SyncSimulation, WithTheWholeBelowTheSumIsTheWholeWhileEverySyncRuns) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    WorldPlan plan{.regions = 3 + seed % 6, .floor = Floor::whole, .seed = seed};
    World regions(plan);
    // Steady use by every region, so that no share expires: without one the whole returns.
    const auto demand = [&](int window, std::size_t region, std::size_t entity) {
      return 3'000 + Shifting{seed}(window, region, entity);
    };
    regions.run(6, demand);
    regions.most_ = 0;
    regions.run(plan.windows, demand);
    EXPECT_LE(regions.most_, 1.0) << seed;
    // When sync stops for good, the whole returns in every region: that is the bound.
    for (std::size_t region = 0; region < plan.regions; ++region) regions.simulation_->stop(region);
    regions.run(6, demand);
    EXPECT_EQ(regions.most_, static_cast<double>(plan.regions));
  }
}

TEST(SyncSimulation, SharesAreFairAfterThreeWindowsOfSteadyDemand) {
  for (const Floor floor : {Floor::share, Floor::whole}) {
    World regions({.regions = 4, .entities = 1, .floor = floor});
    const double parts[] = {0.1, 0.2, 0.3, 0.4};
    regions.run(5, [&](int, std::size_t region, std::size_t) {
      return static_cast<Millitokens>(100'000 * parts[region]);
    });
    for (std::size_t region = 0; region < 4; ++region) {
      const double fair = 0.05 / 4 + 0.95 * parts[region];
      EXPECT_NEAR(regions.target(region) / fair, 1, 0.05) << region;
    }
  }
}

TEST(SyncSimulation, ARegionThatHasAllDemandHoldsNineTenthsWithinEightWindows) {
  std::map<int, int> after;
  for (const Floor floor : {Floor::share, Floor::whole}) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(60 / part); ++seed) {
      World regions({.regions = 3 + seed % 6, .entities = 1, .floor = floor, .seed = seed});
      // Until now another region had all of it.
      regions.run(20, [](int, std::size_t region, std::size_t) { return region == 1 ? 280'000 : 0; });
      EXPECT_GE(regions.share(1), 0.9) << seed;
      int needed = 0;
      for (; needed < 20 && regions.share(0) < 0.9; ++needed)
        regions.run(1, [](int, std::size_t region, std::size_t) { return region == 0 ? 280'000 : 0; });
      EXPECT_LE(needed, 8) << seed;
      EXPECT_TRUE(floor == Floor::whole || regions.most_ <= 1.0) << seed;
      ++after[needed];
    }
  }
  for (const auto& [windows, times] : after)
    std::cout << "90 % after " << windows << " windows: " << times << " times\n";
}

TEST(SyncSimulation, SteadyDemandIsHardlyEverWritten) {
  for (const Floor floor : {Floor::share, Floor::whole}) {
    World regions({.regions = 3, .entities = 50, .floor = floor});
    std::mt19937_64 random(5);
    const auto demand = [&](int, std::size_t region, std::size_t entity) {
      const double noise = std::uniform_real_distribution<>(0.9, 1.1)(random);
      return static_cast<Millitokens>(noise * 20'000 * static_cast<double>(1 + (region + entity) % 3));
    };
    regions.run(8, demand);
    regions.entries_ = regions.written_ = regions.renewed_ = 0;
    regions.reasons_.clear();
    regions.run(100 / part, demand);
    const auto naive = static_cast<double>(regions.entries_);
    const double saved = 1 - static_cast<double>(regions.written_ - regions.renewed_) / naive;
    std::cout << (floor == Floor::share ? "share" : "whole") << ": of " << naive << " writes " << 100 * saved
              << " % are saved, with renewals " << 100 * (1 - static_cast<double>(regions.written_) / naive)
              << " %\n";
    for (const auto& [reason, count] : regions.reasons_) std::cout << " " << name_of(reason) << " " << count;
    std::cout << "\n";
    EXPECT_GE(saved, 0.95);
  }
}

/// Prints what it costs: CPU and memory of one cycle are not asserted, since they depend on the build.
TEST(SyncSimulation, TenThousandEntitiesAreOneCycle) {
  constexpr std::size_t count = 10'000 / part;
  World regions({.regions = 3, .entities = count});
  const auto use = [&](std::size_t region) {
    for (std::size_t e = 0; e < count; ++e) regions.simulation_->take(region, regions.entities_[e], 1000);
  };
  std::size_t written = 0;
  for (int window = 0; window < 4; ++window) {
    use(0);
    regions.simulation_->advance(10'000);
    for (std::size_t region = 0; region < 3; ++region) {
      const std::clock_t begun = std::clock();
      const auto report = regions.simulation_->cycle(region);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(report->entries, count);
      written += report->written;
      std::cout << "cycle of " << count << " entities, " << report->written
                << " written: " << static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC
                << " s of CPU\n";
    }
  }
  EXPECT_GE(written, 2 * count);
}

TEST(SyncSimulation, ARegionThatDisappearsGivesItsShareBackAndReturnsWithoutExcess) {
  for (const Floor floor : {Floor::share, Floor::whole}) {
    World regions({.regions = 3, .entities = 1, .floor = floor});
    const auto demand = [](int, std::size_t, std::size_t) { return 200'000; };
    regions.run(10, demand);
    EXPECT_NEAR(regions.share(0), 1.0 / 3, 0.07);
    regions.simulation_->stop(2);
    regions.run(12, [](int, std::size_t region, std::size_t) { return region == 2 ? 0 : 200'000; });
    // With the fair share below, that is what its store still admits, so nobody else may use it.
    EXPECT_NEAR(regions.share(0), floor == Floor::share ? 1.0 / 3 : 0.5, 0.03);
    regions.simulation_->start(2);
    regions.run(1, demand);
    regions.most_ = 0;
    regions.run(12, demand);
    // With the whole below, a region that returns begins with one millitoken, the smallest share.
    EXPECT_LE(regions.most_, floor == Floor::share ? 1.0 : 1 + 1.0 / 1'680'000);
    EXPECT_NEAR(regions.share(2), 1.0 / 3, 0.07);
    EXPECT_NEAR(regions.share(0), 1.0 / 3, 0.07);
  }
}

}  // namespace
}  // namespace weir::sync
