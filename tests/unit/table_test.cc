// The table's own parts: the map, and what several threads may do at once.
#include "store/table/table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "store/table/bucket_map.h"
#include "weir/weir.h"

namespace weir::table {
namespace {

limits::LimitSetRef one_limit() {
  return *limits::make_limit_set(std::vector<NamedLimit>{{"rpm", *Limit::parse("10")}});
}

TEST(Markers, OfManyLeasesDoNotMakeEachSettleSlower) {
  // Ids of leases that one limiter gave out.
  std::set<std::size_t> hashes;
  for (std::uint64_t i = 0; i < 1000; ++i) hashes.insert(Markers::NonceHash()({0x7e02d79e11f32da1, i}));
  EXPECT_EQ(hashes.size(), 1000U);
}

TEST(BucketMap, HoldsWhatWasPutAndForgetsWhatExpired) {
  std::mt19937 random(7);
  BucketMap map;
  std::map<std::string, Time> expected;  // expiry by entity
  const auto limits = one_limit();
  // Few different hashes, so that chains of collisions form and are closed up again.
  const auto hash_of = [](const std::string& entity) { return std::hash<std::string>()(entity) % 97; };
  for (Time now = 0; now < 20'000; ++now) {
    const std::string entity = "e" + std::to_string(random() % 500);
    Record* const record = Record::make({"default", entity, "r"}, limits);
    record->expires_at = now + 1 + static_cast<Time>(random() % 300);
    expected[entity] = record->expires_at;
    map.put(hash_of(entity), record, now, [](const Record&) {});
    const std::string other = "e" + std::to_string(random() % 500);
    const Record* const found = map.find(hash_of(other), {"default", other, "r"});
    const bool alive = expected.contains(other) && expected[other] > now;
    if (alive) {
      ASSERT_NE(found, nullptr) << other;
      ASSERT_EQ(found->expires_at, expected[other]);
    } else if (found != nullptr) {
      ASSERT_LE(found->expires_at, now) << "only an expired record may linger";
    }
  }
  EXPECT_LT(map.size(), 500U);
  const std::size_t before = map.size();
  const std::size_t erased =
      map.erase_if([](const Record& record) { return record.entity().ends_with('1'); });
  EXPECT_EQ(map.size(), before - erased);
  map.for_each([](const Record& record) { EXPECT_FALSE(record.entity().ends_with('1')); });
}

TEST(BucketMap, StaysAsSmallAsWhatIsAlive) {
  BucketMap map;
  const auto limits = one_limit();
  std::hash<std::string> hash;
  std::size_t largest = 0;
  for (Time now = 0; now < 200'000; ++now) {
    const std::string entity = "once-" + std::to_string(now);
    Record* const record = Record::make({"default", entity, "r"}, limits);
    record->expires_at = now + 1000;
    map.put(hash(entity), record, now, [](const Record&) {});
    largest = std::max(largest, map.size());
  }
  EXPECT_LT(largest, 4000U) << "a thousand are alive at any time";
}

TEST(Threads, ManyCallersAndChangesOfLimitsAtOnceStayExact) {
  FakeClock clock;
  auto limiter = Limiter::open("memory:", {.clock = &clock});
  ASSERT_TRUE(limiter);
  ASSERT_TRUE(limiter->set_limits(Level::entity("project", "r"), {{"rpd", "5000/day"}}));
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpd", "4000/day"}}));
  for (const auto* key : {"a", "b"}) {
    ASSERT_TRUE(limiter->put_entity({.id = key, .parent = "project", .cascade = true}));
  }
  std::atomic<int> kept = 0;
  std::atomic<bool> stop = false;
  std::jthread changer([&] {
    // The same limits again and again: every change makes all plans out of date, none gives anything.
    while (!stop) {
      EXPECT_TRUE(limiter->set_limits(Level::system(), {{"rpd", "4000/day"}}));
      EXPECT_TRUE(limiter->set_limits(Level::entity("key", "r"), {{"rpd", "1/day"}}));
    }
  });
  std::vector<std::jthread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        auto decision = limiter->acquire(t % 2 == 0 ? "a" : "b", "r", {{"rpd", 1}});
        ASSERT_TRUE(decision) << decision.error().message;
        if (!decision->admitted()) continue;
        if (i % 3 == 0) {
          auto given_back = decision->lease().rollback();
          ASSERT_TRUE(given_back) << given_back.error().message;
        } else {
          ++kept;
        }
      }
    });
  }
  callers.clear();
  stop = true;
  changer.join();
  const Amount left = limiter->available("project", "r")->limits().find("rpd")->remaining;
  EXPECT_EQ(left, Amount(5000 - kept.load()));
}

}  // namespace
}  // namespace weir::table
