// What users saw after a clock that had been ahead was set right: buckets that refilled nothing for months,
// leases that could not be settled, and nobody who said why.
#include <gtest/gtest.h>

#include "app/check_store.h"
#include "app/open_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr auto ahead = 24h * 104;

/// Where the buckets live: in this process, in a file that stays open, in a file that is opened again after
/// the clock was set right.
enum class Place { memory, open_file, reopened_file };
std::string name_of(Place place) {
  if (place == Place::memory) return "memory";
  return place == Place::open_file ? "open_file" : "reopened_file";
}

class ClockAhead : public testing::TestWithParam<Place> {
 protected:
  ClockAhead() { open(); }
  void open() {
    limiter.reset();
    auto opened = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(opened) << opened.error().message;
    limiter = std::make_unique<Limiter>(*std::move(opened));
  }
  std::string url() const { return GetParam() == Place::memory ? "memory:" : "sqlite:" + path; }
  void set_clock_right() {
    clock.advance(-ahead);
    if (GetParam() == Place::reopened_file) open();
  }
  void set_system(const std::vector<LimitText>& limits) {
    const auto set = limiter->set_limits(Level::system(), limits);
    ASSERT_TRUE(set) << set.error().message;
  }
  Decision acquire(const char* entity, std::int64_t amount) {
    auto decision = limiter->acquire(entity, "r", {{"rpm", amount}});
    EXPECT_TRUE(decision) << decision.error().message;
    return decision ? *std::move(decision) : Decision();
  }
  /// The wait that is named is kept to the millisecond.
  void expect_wait_of(std::chrono::milliseconds wait, const char* entity, std::int64_t amount) {
    EXPECT_EQ(acquire(entity, amount).retry_after(), wait);
    clock.advance(wait - 1ms);
    EXPECT_EQ(acquire(entity, amount).retry_after(), 1ms);
    clock.advance(1ms);
    EXPECT_TRUE(acquire(entity, amount).admitted());
  }
  std::string warnings() const {
    std::string all;
    for (const std::string& warning : limiter->warnings()) all += warning + "\n";
    return all;
  }

  tests::Folder folder;
  std::string path = folder.file("weir.db");
  FakeClock clock;
  std::unique_ptr<Limiter> limiter;
};
INSTANTIATE_TEST_SUITE_P(Stores, ClockAhead,
                         testing::Values(Place::memory, Place::open_file, Place::reopened_file),
                         [](const auto& parameter) { return name_of(parameter.param); });

TEST_P(ClockAhead, ABucketChargedWhileTheClockWasAheadRefillsAgain) {
  set_system({{"rpm", "60/min"}});
  clock.advance(ahead);
  ASSERT_TRUE(acquire("key", 50).admitted());
  set_clock_right();
  ASSERT_TRUE(acquire("key", 10).admitted()) << "what it holds can be taken";
  expect_wait_of(5s, "key", 5);
}

TEST_P(ClockAhead, AChainChargedWhileTheClockWasAheadRefillsAgain) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(limiter->put_entity({.id = "project", .parent = "org", .cascade = true}));
  ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}));
  clock.advance(ahead);
  ASSERT_TRUE(acquire("key", 60).admitted());
  set_clock_right();
  expect_wait_of(5s, "key", 5);
}

TEST_P(ClockAhead, ADebtFromThatTimeIsPaid) {
  set_system({{"rpm", "60/min"}});
  clock.advance(ahead);
  auto charged = acquire("key", 60);
  ASSERT_TRUE(charged.lease().adjust({{"rpm", 60}}));
  set_clock_right();
  expect_wait_of(61s, "key", 1);
}

TEST_P(ClockAhead, NothingIsGrantedByTheRepairItself) {
  set_system({{"rpm", "60/min"}});
  clock.advance(ahead);
  ASSERT_TRUE(acquire("key", 60).admitted());
  set_clock_right();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(acquire("key", 1).refused());
  EXPECT_EQ(limiter->available("key", "r")->limits()[0].remaining, Amount(0));
}

TEST_P(ClockAhead, AClockSetBackByLessThanAMinuteOnlyPausesRefill) {
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(acquire("key", 60).admitted());
  clock.advance(-59s);
  expect_wait_of(60s, "key", 1);
  EXPECT_EQ(warnings(), "");
}

TEST_P(ClockAhead, LimitsChangedAfterwardsTakeEffectAtOnce) {
  clock.advance(ahead);
  set_system({{"rpm", "60/min"}});
  ASSERT_TRUE(acquire("key", 60).admitted());
  set_clock_right();
  ASSERT_TRUE(acquire("key", 1).refused());
  set_system({{"rpm", "600/min"}});
  expect_wait_of(1s, "key", 10);
  set_system({{"rpm", "6/min"}});
  EXPECT_FALSE(acquire("key", 7).retry_after()) << "more than the new burst";
  expect_wait_of(10s, "key", 1);
  EXPECT_EQ(limiter->limits(Level::system())->limits[0].limit.capacity(), Amount(6));
}

TEST_P(ClockAhead, LoweringALimitAfterwardsGrantsASleepingBucketAtMostItsNewBurst) {
  clock.advance(ahead);
  set_system({{"rpm", "600/min"}});
  ASSERT_TRUE(acquire("key", 600).admitted());
  set_clock_right();
  ASSERT_TRUE(acquire("key", 1).refused());
  set_system({{"rpm", "6/min"}});
  clock.advance(10s);  // at 6 a minute one token
  const auto held = limiter->available("key", "r")->limits()[0].remaining;
  EXPECT_GE(held, Amount(1));
  EXPECT_LE(held, Amount(6));
}

TEST_P(ClockAhead, LoweringTwiceWhileItSleepsHoldsTheBucketToTheLowest) {
  clock.advance(ahead);
  set_system({{"rpm", "600/min"}});
  ASSERT_TRUE(acquire("key", 600).admitted());
  set_clock_right();
  ASSERT_TRUE(acquire("key", 1).refused());
  set_system({{"rpm", "6/min"}});
  set_system({{"rpm", "60/min"}});
  clock.advance(10s);
  EXPECT_EQ(limiter->available("key", "r")->limits()[0].remaining, Amount(1));
}

TEST_P(ClockAhead, IsToldOnceItIsSeen) {
  set_system({{"rpm", "60/min"}});
  clock.advance(ahead);
  ASSERT_TRUE(acquire("key", 60).admitted());
  EXPECT_EQ(warnings(), "");
  set_clock_right();
  ASSERT_TRUE(acquire("key", 1).refused());
  EXPECT_NE(warnings().find("104 days"), std::string::npos) << warnings();
  EXPECT_NE(warnings().find("clock"), std::string::npos) << warnings();
  const std::string before = warnings();
  ASSERT_TRUE(acquire("key", 1).refused());
  EXPECT_EQ(warnings(), before) << "once";
}

class FileFromClockAhead : public testing::Test {
 protected:
  std::string url() const { return "sqlite:" + path; }
  void write_ahead() {
    clock.advance(ahead);
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "60/min"}}));
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 60}})->admitted());
    ASSERT_TRUE(limiter->acquire("other", "r", {{"rpm", 60}})->admitted());
    clock.advance(-ahead);
  }
  std::string check_of_clock() {
    const auto findings = app::check_store(url(), {.clock = &clock});
    EXPECT_TRUE(findings);
    for (const auto& finding : *findings) {
      if (finding.what == "clock")
        return std::string(store::name_of(finding.severity)) + ": " + finding.detail;
    }
    return "not checked";
  }
  tests::Folder folder;
  std::string path = folder.file("weir.db");
  FakeClock clock;
};

TEST_F(FileFromClockAhead, SaysSoWhenItIsOpened) {
  write_ahead();
  {
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_EQ(limiter->warnings().size(), 1U);
    const std::string warning = limiter->warnings()[0];
    EXPECT_NE(warning.find("104 days ahead"), std::string::npos) << warning;
    EXPECT_NE(warning.find("refill"), std::string::npos) << warning;
    ASSERT_TRUE(limiter->acquire("new", "r", {{"rpm", 1}})->admitted());
  }
  EXPECT_TRUE(Limiter::open(url(), {.clock = &clock})->warnings().empty()) << "told once";
}

TEST_F(FileFromClockAhead, SaysNothingWhereTheClockWasRight) {
  {
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "60/min"}}));
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 60}})->admitted());
  }
  clock.advance(-50s);
  EXPECT_TRUE(Limiter::open(url(), {.clock = &clock})->warnings().empty());
  EXPECT_EQ(check_of_clock(), "ok: no bucket was written ahead of this machine's clock");
}

TEST_F(FileFromClockAhead, IsFoundByACheckUntilEveryBucketIsRepaired) {
  write_ahead();
  const std::string before = check_of_clock();
  EXPECT_EQ(before.find("warning: 2 buckets"), 0U) << before;
  EXPECT_NE(before.find("104 days ahead"), std::string::npos) << before;
  {
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->refused());
  }
  EXPECT_EQ(check_of_clock().find("warning: 1 bucket "), 0U) << check_of_clock();
  {
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(limiter->acquire("other", "r", {{"rpm", 1}})->refused());
  }
  EXPECT_EQ(check_of_clock().find("ok"), 0U) << check_of_clock();
}

/// Leases that ended while the clock was ahead were cleaned up by it.
TEST_F(FileFromClockAhead, LetsNewLeasesBeSettledAndOldOnesNotBeChangedAgain) {
  std::string old;
  {
    auto limiter = Limiter::open(url(), {.clock = &clock});
    ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "60/day"}}));
    clock.advance(ahead);
    old = *limiter->acquire("key", "r", {{"rpm", 50}})->lease().id();
    ASSERT_TRUE(limiter->rollback(old));
    clock.advance(11min);
    ASSERT_TRUE(limiter->rollback(*limiter->acquire("key", "r", {{"rpm", 1}})->lease().id()));
    base::SystemEntropy entropy;
    const auto store = *app::open_store(
        url(), {}, std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock), entropy);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(dynamic_cast<sqlite::SqliteStore&>(*store).clean());
    clock.advance(-ahead - 11min);
  }
  auto limiter = Limiter::open(url(), {.clock = &clock});
  ASSERT_EQ(limiter->warnings().size(), 2U);
  EXPECT_NE(limiter->warnings()[1].find("leases"), std::string::npos) << limiter->warnings()[1];
  const std::string lease = *limiter->acquire("key", "r", {{"rpm", 10}})->lease().id();
  const auto settled = limiter->settle(lease, {{"rpm", 4}});
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_TRUE(limiter->settle(lease, {{"rpm", 4}})) << "the same again";
  EXPECT_FALSE(limiter->rollback(old));
  EXPECT_EQ(limiter->available("key", "r")->limits()[0].remaining, Amount(56));
}

TEST_F(FileFromClockAhead, CountsTheBucketsThatItRepairs) {
  write_ahead();
  base::SystemEntropy entropy;
  const auto store = *app::open_store(
      url(), {}, std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock), entropy);
  const auto repairs = [&] {
    for (const store::Counter& reading : store->counters()) {
      if (reading.name == "weir_store_clock_repairs_total") return reading.value;
    }
    return -1.0;
  };
  EXPECT_EQ(repairs(), 0);
  auto limiter = Limiter::open(url(), {.clock = &clock});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->refused());
  EXPECT_EQ(repairs(), 1);
  ASSERT_TRUE(limiter->acquire("other", "r", {{"rpm", 1}})->refused());
  EXPECT_EQ(repairs(), 2);
}

/// Keeps only the least of what a running process can notice: nothing was refused.
TEST_F(FileFromClockAhead, ARunningProcessNoticesThatItsOwnClockWentBack) {
  auto limiter = Limiter::open(url(), {.clock = &clock});
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "60/min"}}));
  clock.advance(ahead);
  ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_TRUE(limiter->warnings().empty());
  clock.advance(-ahead);
  ASSERT_TRUE(limiter->acquire("new", "r", {{"rpm", 1}})->admitted());
  ASSERT_EQ(limiter->warnings().size(), 1U);
  EXPECT_NE(limiter->warnings()[0].find("104 days"), std::string::npos) << limiter->warnings()[0];
}

}  // namespace
}  // namespace weir
