// Several processes with several clients each on one bucket, and on a cascade, while limits change.
#include <cstdio>

#include "dynamodb/table.h"

namespace weir::dynamodb {
namespace {

struct Sum {
  long admitted = 0;  ///< net of adjusts
  long refused = 0;
  long contended = 0;
  long failed = 0;
};

class Hammer : public testing::Test {
 protected:
  /// Real time for everybody: one machine, one clock.
  std::string url() const {
    return "dynamodb://" + table.table + "?endpoint=" + table.endpoint +
           "&deadline_ms=60000&refuse_ms=0&cache_ms=50";
  }
  Sum run(const std::string& entity, int processes, int threads, int acquires,
          const std::function<void()>& meanwhile) {
    std::vector<FILE*> pipes;
    for (int i = 0; i < processes; ++i) {
      const std::string command = std::string(WEIR_DYNAMODB_WORKER) + " '" + url() + "' " + entity + " " +
                                  std::to_string(threads) + " " + std::to_string(acquires);
      pipes.push_back(::popen(command.c_str(), "r"));
    }
    meanwhile();
    Sum sum;
    for (FILE* const pipe : pipes) {
      Sum one;
      EXPECT_EQ(
          std::fscanf(pipe, "%ld %ld %ld %ld", &one.admitted, &one.refused, &one.contended, &one.failed), 4);
      EXPECT_EQ(::pclose(pipe), 0);
      sum.admitted += one.admitted;
      sum.refused += one.refused;
      sum.contended += one.contended;
      sum.failed += one.failed;
    }
    std::printf("%ld admitted, %ld refused, %ld contended\n", sum.admitted, sum.refused, sum.contended);
    return sum;
  }
  TestTable table;
  SystemClock system;
};

TEST_F(Hammer, FourProcessesWithEightClientsNeverOverAdmit) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "300/min"}}));
  const Time start = system.now();
  const Sum sum = run("key", 4, 8, 25, [] {});
  const Time end = system.now();
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted * 1000);
  const std::int64_t granted = end * 300 / 60'000 - start * 300 / 60'000;
  // Adjusts may leave a debt, of one for each client.
  EXPECT_LE(sum.admitted, 300 + granted + 32);
  EXPECT_GT(sum.admitted, 0);
}

TEST_F(Hammer, WhileLimitsComeGoAndExpireEveryChargeCountsOnce) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "250/min"}}));
  const Level own = Level::entity("key", "gpt-4");
  const Time start = system.now();
  const Sum sum = run("key", 4, 8, 8, [&] {
    // The bucket is kept for good under an operator's limits, and expires under all others.
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(admin.set_limits(own, {{"rpm", "200/min"}}));
      EXPECT_TRUE(admin.delete_limits(own));
      EXPECT_TRUE(admin.set_limits(own, {{"rpm", "240/min"}}, {.owner = Owner::sync, .expires_in = 100ms}));
      EXPECT_TRUE(admin.set_limits(Level::system(), {{"rpm", i % 2 == 0 ? "220/min:250" : "250/min"}}));
    }
  });
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted * 1000);
  // No limits were ever above 250 and 250 a minute, and adjusts may leave a debt, of one for each client.
  const std::int64_t granted = (system.now() - start) * 250 / 60'000 + 1;
  EXPECT_LE(sum.admitted, 250 + granted + 32);
  EXPECT_GT(sum.admitted, 0);
}

TEST_F(Hammer, ACascadeUnderChangingLimitsCountsExactly) {
  Limiter admin = *Limiter::open(url());
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "200/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  const Sum sum = run("key", 4, 4, 10, [&] {
    for (int i = 0; i < 10; ++i) {
      const char* const limits[] = {"150/min", "200/min:250", "100/s", "180/min"};
      const auto set = i % 3 == 0 ? admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", limits[i % 4]}})
                                  : admin.set_limits(Level::system(), {{"rpm", limits[i % 4]}});
      EXPECT_TRUE(set) << set.error().message;
    }
  });
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), sum.admitted * 1000);
  EXPECT_EQ(table.number("project", "b_rpm_tc"), sum.admitted * 1000);
  EXPECT_GT(sum.admitted, 0);
}

}  // namespace
}  // namespace weir::dynamodb
