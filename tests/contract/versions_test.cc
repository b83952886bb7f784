// Writes of limits that depend on the version that they replace, or on the moment at which they arrive.
#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Versions);

TEST_P(Versions, AWriteThatReplacesAnotherVersionThanTheStoredOneChangesNothing) {
  const Level level = Level::entity("key", resource);
  const auto write = [&](const char* limit, std::int64_t replaces) {
    return limiter.set_limits(level, {{"rpm", limit}},
                              {.owner = Owner::sync, .expires_in = 30s, .replaces = replaces});
  };
  const auto first = write("1/min", 0);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(first->version, 0);
  EXPECT_EQ(limiter.limits(level)->version, first->version);
  const auto second = write("2/min", first->version);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_GT(second->version, first->version);
  EXPECT_ERROR("conflict", "key", write("3/min", first->version));
  EXPECT_ERROR("conflict", "key", write("3/min", 0));
  const auto stored = limiter.limits(level);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->version, second->version);
  EXPECT_EQ(stored->limits[0].limit.capacity(), Amount(2));
  advance(31s);
  EXPECT_TRUE(write("4/min", first->version)) << "nothing is in force";
  set(level, {{"rpm", "50/min"}});
  EXPECT_ERROR("operator-owned", "key", write("5/min", limiter.limits(level)->version));
}

TEST_P(Versions, AWriteThatArrivesLateExpiresAtTheSameMoment) {
  const Level level = Level::entity("key", resource);
  const Time until = now() / 1000 * 1000 + 30'000;
  const auto write = [&] {
    return limiter.set_limits(level, {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_at = until});
  };
  advance(20s);
  const auto late = write();
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->expires_at, until);
  EXPECT_EQ(limiter.limits(level)->expires_at, until);
  advance(10s);
  EXPECT_ERROR("invalid-argument", "expiry", write());
  EXPECT_ERROR("not-found", "key", limiter.limits(level));
  EXPECT_ERROR("invalid-argument", "operator",
               limiter.set_limits(level, {{"rpm", "1/min"}}, {.expires_at = now() + 1000}));
  EXPECT_ERROR("invalid-argument", "exclude",
               limiter.set_limits(level, {{"rpm", "1/min"}},
                                  {.owner = Owner::sync, .expires_in = 1s, .expires_at = now() + 1000}));
}

}  // namespace
}  // namespace weir::contract
