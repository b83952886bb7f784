// Sync and operators on every store: an operator's limits are never touched, whoever writes first.
#include <barrier>
#include <thread>

#include "contract/contract.h"
#include "sync/simulation.h"

namespace weir::contract {
namespace {

class StoreClock final : public Clock {
 public:
  explicit StoreClock(StoreUnderTest& store) : store_(store) {}
  Time now() const override { return store_.now(); }

 private:
  StoreUnderTest& store_;
};

class SyncOwnership : public Contract {
 public:
  SyncOwnership() { set_system({{"rpm", "600/min"}}); }

  Result<sync::CycleReport> cycle() {
    if (!runner_) {
      clock_ = std::make_unique<StoreClock>(*store_);
      runner_ = std::make_unique<sync::Runner>(
          limiter, exchange_, sync::Settings{.region = "a", .regions = {"a", "b"}},
          std::vector<sync::Scope>{{.resource = resource, .entities = {"key"}}}, *clock_,
          sync::Runner::Options{.threads = 1});
    }
    return runner_->cycle();
  }
  /// A window with some use, and a cycle at its end.
  sync::CycleReport window() {
    advance(10s);
    acquire("key", {{"rpm", 1}});
    auto report = cycle();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : sync::CycleReport{};
  }
  StoredLimits stored() {
    auto record = limiter.limits(level);
    EXPECT_TRUE(record) << record.error().message;
    return record ? *record : StoredLimits{.level = level};
  }

  const Level level = Level::entity("key", resource);
  sync::MemoryExchange exchange_;
  std::unique_ptr<StoreClock> clock_;
  std::unique_ptr<sync::Runner> runner_;
};
INSTANTIATE_TEST_SUITE_P(Stores, SyncOwnership, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(SyncOwnership, AnOperatorsLimitSurvivesAThousandCyclesAndReturnsWhenItIsDeleted) {
  for (int i = 0; i < 3; ++i) window();
  EXPECT_EQ(stored().owner, Owner::sync);
  EXPECT_GE(stored().expires_at.value_or(0), now() + 20'000);
  const auto taken = limiter.set_limits(level, {{"rpm", "77/min"}});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(taken->taken_from_sync);
  std::size_t met = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto report = window();
    met += report.operator_owned;
    ASSERT_EQ(report.written, 0U) << i;
    ASSERT_EQ(report.failed, 0U) << i;
    ASSERT_TRUE(i % 100 != 0 || stored().owner == Owner::operator_) << i;
  }
  EXPECT_EQ(stored().owner, Owner::operator_);
  EXPECT_FALSE(stored().expires_at);
  EXPECT_EQ(stored().limits[0].limit, *Limit::parse("77/min"));
  // It met them once; from then on it looks before it writes.
  EXPECT_EQ(met, 1U);
  EXPECT_TRUE(runner_->region().status()[0].operator_owned);
  ASSERT_TRUE(limiter.delete_limits(level));
  window();
  EXPECT_EQ(stored().owner, Owner::sync);
}

TEST_P(SyncOwnership, AnOperatorWinsEveryRaceInTheSameMillisecond) {
  int sync_first = 0;
  for (int i = 0; i < 3; ++i) window();
  for (int race = 0; race < 200; ++race) {
    advance(31s);  // the share has expired, so that sync writes a new one
    acquire("key", {{"rpm", 1}});
    std::barrier begin(2);
    std::jthread by_sync([&] {
      begin.arrive_and_wait();
      const auto report = cycle();
      EXPECT_TRUE(report) << report.error().message;
      if (report && report->written == 1) ++sync_first;
    });
    begin.arrive_and_wait();
    auto set = limiter.set_limits(level, {{"rpm", "77/min"}});
    while (!set && set.error().code == ErrorCode::contention)
      set = limiter.set_limits(level, {{"rpm", "77/min"}});
    ASSERT_TRUE(set) << set.error().message;
    by_sync.join();
    ASSERT_EQ(stored().owner, Owner::operator_) << race;
    ASSERT_TRUE(limiter.delete_limits(level));
    window();
  }
  std::cout << "sync was first " << sync_first << " times of 200\n";
}

}  // namespace
}  // namespace weir::contract
