// 4 processes with 8 clients each on one bucket, and on a cascade, while limits change.
#include "dynamodb/hammer.h"

#include "dynamodb/replay.h"
#include "dynamodb/stream.h"

namespace weir::dynamodb {
namespace {

class Hammer : public testing::Test {
 protected:
  /// Real time for everybody: one machine, one clock.
  std::string url() const {
    return "dynamodb://" + table.table + "?endpoint=" + table.endpoint +
           "&deadline_ms=60000&refuse_ms=0&cache_ms=50";
  }
  Sum run(int acquires, const std::function<void()>& meanwhile) const {
    return hammer(url(), 4, "key 8 " + std::to_string(acquires), meanwhile);
  }
  /// Every write by itself, held against what an ideal bucket would have held.
  Replay replay(const char* entity) const {
    return Replay(Stream(table.table).images_of(bucket_key("default", entity, "gpt-4")));
  }
  TestTable table;
  SystemClock system;
};

TEST_F(Hammer, FourProcessesWithEightClientsNeverOverAdmit) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "200/min"}}));
  const Time start = system.now();
  const Sum sum = run(16, [] {});
  const Time end = system.now();
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted() * 1000);
  const std::int64_t granted = end * 200 / 60'000 - start * 200 / 60'000;
  // Adjusts may leave a debt, of two for each client.
  EXPECT_LE(sum.admitted(), 200 + granted + 64);
  EXPECT_EQ(replay("key").admitted(), sum.admitted());
}

TEST_F(Hammer, WhileLimitsComeGoAndExpireEveryChargeCountsOnce) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "250/min"}}));
  const Level own = Level::entity("key", "gpt-4");
  const Time start = system.now();
  const Sum sum = run(8, [&] {
    // The bucket is kept for good under an operator's limits, and expires under all others.
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(admin.set_limits(own, {{"rpm", "200/min"}}));
      EXPECT_TRUE(admin.delete_limits(own));
      EXPECT_TRUE(admin.set_limits(own, {{"rpm", "240/min"}}, {.owner = Owner::sync, .expires_in = 100ms}));
      EXPECT_TRUE(admin.set_limits(Level::system(), {{"rpm", i % 2 == 0 ? "220/min:250" : "250/min"}}));
    }
  });
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted() * 1000);
  EXPECT_EQ(replay("key").admitted(), sum.admitted());
  // No limits were ever above 250 and 250 a minute, and adjusts may leave a debt, of two for each client.
  const std::int64_t granted = (system.now() - start) * 250 / 60'000 + 1;
  EXPECT_LE(sum.admitted(), 250 + granted + 64);
}

TEST_F(Hammer, ACascadeUnderChangingLimitsCountsExactly) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "120/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  const Sum sum = run(6, [&] {
    for (int i = 0; i < 10; ++i) {
      const char* const limits[] = {"90/min", "120/min:150", "100/s", "110/min"};
      const auto set = i % 3 == 0 ? admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", limits[i % 4]}})
                                  : admin.set_limits(Level::system(), {{"rpm", limits[i % 4]}});
      EXPECT_TRUE(set) << set.error().message;
    }
  });
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted() * 1000);
  EXPECT_EQ(table.number("project", "b_rpm_tc"), sum.admitted() * 1000);
  EXPECT_EQ(replay("key").admitted(), sum.admitted());
  EXPECT_EQ(replay("project").admitted(), sum.admitted());
}

}  // namespace
}  // namespace weir::dynamodb
