// What the public types promise to the language.
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>

#include "weir/weir.h"

namespace weir {
namespace {

static_assert(std::ranges::input_range<LimitReport>);
static_assert(std::is_copy_constructible_v<Result<int>>);
static_assert(!std::is_copy_constructible_v<Result<Decision>>);
static_assert(std::is_move_constructible_v<Result<Decision>>);
static_assert(!std::is_constructible_v<Amount, double>);

TEST(PublicTypes, AReportWorksWithAlgorithms) {
  auto limiter = *Limiter::open("memory");
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}, {"tpm", "10/min"}}));
  const auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 1}});
  const auto touched = [](const LimitStatus& limit) { return limit.requested > Amount(); };
  EXPECT_EQ(std::ranges::count_if(decision->limits(), touched), 1);
}

TEST(PublicTypesDeathTest, TakingTheValueOfAnErrorEndsTheProgramAndSaysWhy) {
  EXPECT_DEATH(static_cast<void>(*Limiter::open("cassandra:")),
               "invalid-argument: store \"cassandra:\" is not known");
  EXPECT_DEATH(static_cast<void>(Limit::parse("10")->to_json(), Limit::parse("10").error()),
               "it is a success");
}

TEST(PublicTypes, LeasesAndLimitersCanBeMoved) {
  auto limiter = *Limiter::open("memory:");
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}}));
  auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 1}});
  Limiter moved = std::move(limiter);
  Decision kept = *std::move(decision);
  EXPECT_TRUE(kept.lease().rollback());
  EXPECT_EQ(moved.available("key", "gpt-4")->limits().find("rpm")->remaining, Amount(10));
}

}  // namespace
}  // namespace weir
