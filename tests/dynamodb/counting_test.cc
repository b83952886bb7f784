// What a cold chain takes, what is counted of it, and how a refusal without a request shows.
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "dynamodb/table.h"
#include "limiter/core.h"
#include "tests_folder.h"

namespace weir::dynamodb {
namespace {

class Counting : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "3/min"}})); }

  limiter::Core core(const std::shared_ptr<DynamoStore>& store, const Options& options = {}) {
    return limiter::Core({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                          std::make_shared<base::SystemEntropy>(), store},
                         options);
  }
  Decision acquire(limiter::Core& core, std::string_view entity) {
    auto decision = core.acquire(entity, "gpt-4", charge, {});
    EXPECT_TRUE(decision) << decision.error().message;
    return decision ? *std::move(decision) : Decision();
  }
  /// "admitted write" and so on, as it stands.
  static std::map<std::string, double> units(const DynamoStore& store) {
    std::map<std::string, double> units;
    for (const store::Counter& reading : store.counters()) {
      if (reading.name == "weir_store_capacity_units_total")
        units[std::string(reading.labels[0].value) + " " + std::string(reading.labels[1].value)] =
            reading.value;
    }
    return units;
  }
  static std::uint64_t requests(const DynamoStore& store) { return store.client().counts().requests; }

  const std::vector<Charge> charge{{"rpm", 1}};
  TestTable table;
  Limiter admin = table.limiter();
};

TEST_F(Counting, AColdChainOfFourTakesOneReadForItselfAndOneForAllAncestors) {
  ASSERT_TRUE(admin.put_entity({.id = "team", .parent = "company", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "project", .parent = "team", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  auto store = table.store();
  auto limiter = core(store);
  const auto before = requests(*store);
  EXPECT_EQ(acquire(limiter, "key").limits().size(), 4U);
  EXPECT_EQ(requests(*store) - before, 3U) << "two reads, one transaction";
  for (const char* const entity : {"key", "project", "team", "company"})
    EXPECT_EQ(table.number(entity, "b_rpm_tc"), 1'000) << entity;
}

TEST_F(Counting, AChainThatGrewAboveIsReadToItsEnd) {
  ASSERT_TRUE(admin.put_entity({.id = "project", .parent = "team", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  // What the key's item says of those above is not true any more.
  ASSERT_TRUE(admin.put_entity({.id = "division", .parent = "company", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "project", .parent = "division", .cascade = true}));
  auto store = table.store();
  auto limiter = core(store);
  const Decision decision = acquire(limiter, "key");
  std::vector<std::string> chain;
  for (const LimitStatus& status : decision.limits()) chain.emplace_back(status.entity);
  EXPECT_EQ(chain, (std::vector<std::string>{"key", "project", "division", "company"}));
  EXPECT_TRUE(table.bucket("team").empty()) << "read for nothing, and not charged";
}

TEST_F(Counting, AChainWhoseTopWasTakenOffIsNotChargedThere) {
  ASSERT_TRUE(admin.put_entity({.id = "project", .parent = "company", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  ASSERT_TRUE(admin.put_entity({.id = "project", .parent = "company", .cascade = false}));
  auto store = table.store();
  auto limiter = core(store);
  EXPECT_EQ(acquire(limiter, "key").limits().size(), 2U);
  EXPECT_TRUE(table.bucket("company").empty());
}

TEST_F(Counting, UnitsAreCountedByWhatTheyWereFor) {
  auto store = table.store();
  auto limiter = core(store);
  acquire(limiter, "key");
  auto seen = units(*store);
  EXPECT_GT(seen["resolve read"], 0);
  EXPECT_EQ(seen["resolve write"], 0);
  EXPECT_EQ(seen["admitted read"], 0);
  EXPECT_GT(seen["admitted write"], 0) << "the bucket is made, with its keys in an index";
  const double made = seen["admitted write"];
  Decision decision = acquire(limiter, "key");
  EXPECT_EQ(units(*store)["admitted write"], made + 1);
  const auto id = decision.lease().id();
  ASSERT_TRUE(id);
  ASSERT_TRUE(limiter.change_by_id(*id, {.verb = detail::LeaseVerb::rollback, .key = {}, .charges = {}}));
  EXPECT_GT(units(*store)["rollback write"], 0);
  ASSERT_TRUE(limiter.available("key", "gpt-4", charge, {}));
  EXPECT_EQ(units(*store)["available read"], 1);
  const std::vector<NamedLimit> limits{{"rpm", *Limit::parse("4/min")}};
  ASSERT_TRUE(limiter.set_limits(Level::system(), limits, {}));
  EXPECT_GT(units(*store)["catalog write"], 0);
}

TEST_F(Counting, WhatIsCountedIsDocumentedAndTheOtherWayRound) {
  std::ifstream file(std::string(WEIR_TESTS_FOLDER) + "/../docs/metrics.md");
  std::set<std::string> documented;
  const std::regex name("`(weir_store_[a-z_]+)");
  for (std::string line; std::getline(file, line);) {
    if (line.find("with `dynamodb`") == std::string::npos) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), name), end; at != end; ++at)
      documented.insert((*at)[1]);
  }
  std::set<std::string> counted;
  for (const store::Counter& reading : table.store()->counters()) counted.insert(std::string(reading.name));
  EXPECT_EQ(documented, counted);
}

TEST_F(Counting, AFirstWriteThatFailsIsCountedWithWhatItCost) {
  auto one = table.store();
  auto two = table.store();
  auto first = core(one);
  auto second = core(two);
  acquire(first, "key");
  // Later, so that the image which the first remembers cannot be charged blindly.
  table.clock.advance(20s);
  acquire(second, "key");
  table.clock.advance(20s);
  const auto before = units(*one)["admitted write"];
  acquire(first, "key");
  EXPECT_EQ(one->counts().failed_first_writes, 1U);
  EXPECT_EQ(units(*one)["admitted write"] - before, 2) << "the failed one, and the one that held";
}

TEST_F(Counting, ARefusalFromMemorySaysSoAndOthersDoNot) {
  auto store = table.store({.refuse_for = 100ms});
  auto limiter = core(store);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(acquire(limiter, "key").from_memory());
  const auto before = units(*store)["refused read"];
  const Decision known = acquire(limiter, "key");
  EXPECT_TRUE(known.refused() && known.from_memory());
  EXPECT_EQ(units(*store)["refused read"], before);
  table.clock.advance(101ms);
  const Decision asked = acquire(limiter, "key");
  EXPECT_TRUE(asked.refused() && !asked.from_memory());
}

TEST_F(Counting, AWaitFromMemoryComesTrueThoughNobodyWroteItDown) {
  auto store = table.store({.refuse_for = 60s});
  // Kept no longer than it takes to fill.
  auto limiter = core(store, {.bucket_ttl_refill_multiplier = 1});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(acquire(limiter, "key").admitted());
  const auto written = requests(*store);
  const auto all = [&] { return limiter.acquire("key", "gpt-4", std::vector<Charge>{{"rpm", 3}}, {}); };
  const auto refused = all();
  EXPECT_TRUE(refused->from_memory());
  EXPECT_EQ(refused->retry_after(), 60s);
  EXPECT_EQ(requests(*store), written);
  table.clock.advance(60s);
  EXPECT_TRUE(all()->admitted());
}

}  // namespace
}  // namespace weir::dynamodb
