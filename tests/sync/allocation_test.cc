// How one limit is divided among regions.
#include "sync/allocation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace weir::sync {
namespace {

Millitokens sum(const std::vector<Millitokens>& all) {
  return std::accumulate(all.begin(), all.end(), Millitokens{0});
}

TEST(SyncAllocation, SharesSumToTheWholeToTheMillitoken) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t regions = 1 + random() % 8;
    const auto whole = static_cast<Millitokens>(random() % (std::uint64_t{1} << (1 + random() % 51)));
    std::vector<Millitokens> demand(regions);
    for (Millitokens& one : demand)
      one = random() % 3 == 0 ? 0 : static_cast<Millitokens>(random() % (1ULL << 50));
    const auto least = static_cast<Millitokens>(random() % 3 == 0 ? random() % 100'000 : 0);
    const auto shares = shares_by_demand(whole, demand, least);
    ASSERT_EQ(sum(shares), whole);
    const auto fair = fair_shares(whole, regions);
    ASSERT_EQ(sum(fair), whole);
    const Millitokens part = whole / static_cast<Millitokens>(regions);
    for (const Millitokens share : shares) {
      ASSERT_GE(share, std::min(part, least));
      ASSERT_GE(share, whole / 20 / static_cast<Millitokens>(regions));
    }
    // All that is given is taken, each part once.
    std::vector<Millitokens> got(regions, 0);
    for (std::size_t from = 0; from < regions; ++from) {
      const auto grants = grants_from(from, fair, shares);
      ASSERT_EQ(sum(grants), std::max<Millitokens>(fair[from] - shares[from], 0));
      for (std::size_t to = 0; to < regions; ++to) got[to] += grants[to];
    }
    for (std::size_t to = 0; to < regions; ++to)
      ASSERT_EQ(got[to], std::max<Millitokens>(shares[to] - fair[to], 0));
  }
}

TEST(SyncAllocation, WithoutDemandThePartsAreEqualAndWithItTheyFollow) {
  const std::vector<Millitokens> quiet{0, 0, 0};
  EXPECT_EQ(shares_by_demand(100, quiet, 0), (std::vector<Millitokens>{34, 33, 33}));
  const std::vector<Millitokens> one{0, 5, 0};
  EXPECT_EQ(shares_by_demand(60'000, one, 0), (std::vector<Millitokens>{1'000, 58'000, 1'000}));
  EXPECT_EQ(shares_by_demand(60'000, one, 5'000), (std::vector<Millitokens>{5'000, 50'000, 5'000}));
  // At most the equal part.
  EXPECT_EQ(shares_by_demand(60'000, one, 50'000), (std::vector<Millitokens>{20'000, 20'000, 20'000}));
}

TEST(SyncAllocation, ALimitOfAShareHasBurstAndRefillInProportion) {
  const auto whole = Limit::parse("1000/min:1500:shadow");
  const auto third = limit_of_share(*whole, 333'333);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->capacity().to_string(), "333.333");
  EXPECT_EQ(third->burst().to_string(), "499.999");
  EXPECT_EQ(third->refill_amount().to_string(), "333.333");
  EXPECT_EQ(third->mode(), Mode::shadow);
  // A long period, which would not be exact with every amount.
  const auto daily = limit_of_share(*Limit::parse("123456789/day"), 41'152'263'001);
  ASSERT_TRUE(daily) << daily.error().message;
  EXPECT_LE(daily->refill_amount().millitokens(), 41'152'263'001);
  EXPECT_GE(daily->refill_amount().millitokens(), 41'152'263'001 / 100 * 99);
}

TEST(SyncAllocation, DemandIsThatOfTheLastThreeWindows) {
  EXPECT_EQ(demand_of({}), 0);
  EXPECT_EQ(demand_of(std::vector<Millitokens>{600}), 600);
  EXPECT_EQ(demand_of(std::vector<Millitokens>{600, 0, 0}), 300);
  EXPECT_EQ(demand_of(std::vector<Millitokens>{600, 600, 600}), 600);
}

}  // namespace
}  // namespace weir::sync
