// Usage: everything that is charged and given back counts in the hour in which it happens.
#include "contract/contract.h"

namespace weir::contract {
namespace {

constexpr Time hour = 3'600'000;

class Usages : public Contract {
 public:
  Usages() { set_system({{"rpm", "100/min"}, {"tpm", "100000/min"}}); }

  void to_next_hour() { advance(std::chrono::milliseconds(hour - now() % hour)); }

  /// "gpt-4 +0h 2: rpm=2 tpm=500": resource, hours since `from`, events, amounts; one line for each row.
  std::string used(const UsageFilter& filter, Time from, std::size_t page_size = 100) {
    store_->collect_usage();
    std::string out;
    Paging paging{.cursor = {}, .limit = page_size};
    do {
      const auto page = limiter.usage(filter, paging);
      if (!page) return page.error().message;
      EXPECT_LE(page->items.size(), page_size);
      for (const Usage& row : page->items) {
        out += row.entity + " " + row.resource + " +" + std::to_string((row.start - from) / hour) +
               (row.window == UsageWindow::hour ? "h " : "h (day) ") + std::to_string(row.events) + ":";
        for (const UsedAmount& limit : row.limits) out += " " + limit.limit + "=" + limit.amount.to_string();
        out += "\n";
      }
      paging.cursor = page->next;
    } while (!paging.cursor.empty());
    return out;
  }
  std::string used_by(const std::string& entity, Time from) { return used({.entity = entity}, from); }
};
INSTANTIATE_TEST_SUITE_P(Stores, Usages, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Usages, ChargesCountInTheirHour) {
  to_next_hour();
  const Time first = now();
  EXPECT_EQ(used_by("key", first), "");
  acquire("key", {{"rpm", 1}, {"tpm", 500}});
  acquire("key", {{"rpm", 1}, {"tpm", 20}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=2 tpm=520\n");
  advance(std::chrono::milliseconds(hour - 1));
  acquire("key", {{"rpm", 1}});
  advance(1ms);
  acquire("key", {{"rpm", 1}});
  acquire("key", {{"rpm", 1}, {"tpm", 7}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 3: rpm=3 tpm=520\nkey gpt-4 +1h 2: rpm=2 tpm=7\n");
  EXPECT_EQ(used_by("other", first), "");
}

TEST_P(Usages, RefusalsAndZerosCountNothing) {
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 0}});
  acquire("key", {{"rpm", 101}});
  EXPECT_EQ(used_by("key", first), "");
  acquire("key", {{"rpm", 100}});
  acquire("key", {{"rpm", 1}});
  acquire("key", {{"rpm", 0}, {"tpm", 0}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=100\n");
}

TEST_P(Usages, WhatIsGivenBackCountsInTheHourInWhichItIs) {
  // Such a bucket does not expire, so that it is there to give back to.
  set(Level::entity("key", resource), {{"rpm", "100/min"}, {"tpm", "100000/min"}});
  to_next_hour();
  const Time first = now();
  Decision settled = acquire("key", {{"rpm", 1}, {"tpm", 500}});
  Decision returned = acquire("key", {{"rpm", 1}, {"tpm", 300}});
  AcquireOptions long_lease;
  long_lease.lease_for = 2h;
  Decision late = acquire("key", {{"rpm", 1}, {"tpm", 1000}}, long_lease);
  ASSERT_TRUE(settled.lease().settle({{"tpm", 480}}));
  ASSERT_TRUE(returned.lease().rollback());
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 5: rpm=2 tpm=1480\n");
  to_next_hour();
  ASSERT_TRUE(late.lease().settle({{"tpm", 250}}));
  ASSERT_TRUE(late.lease().settle({{"tpm", 250}})) << "the same again changes nothing";
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 5: rpm=2 tpm=1480\nkey gpt-4 +1h 1: tpm=-750\n");
}

TEST_P(Usages, EveryEntityOfAChainCountsForItself) {
  put("project", "", false);
  put("key", "project");
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 2}});
  acquire("project", {{"rpm", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=2\n");
  EXPECT_EQ(used_by("project", first), "project gpt-4 +0h 2: rpm=3\n");
  EXPECT_EQ(used({.parent = "project"}, first), "key gpt-4 +0h 1: rpm=2\n");
}

TEST_P(Usages, ABucketThatExpiresLosesNothing) {
  set_system({{"rpm", "100/min"}}, {.bucket_ttl_refill_multiplier = 1});
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 40}});
  advance(10min);
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=40\n") << "expired";
  acquire("key", {{"rpm", 2}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=42\n") << "made anew in the same hour";
  advance(2h);
  acquire("key", {{"rpm", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=42\nkey gpt-4 +2h 1: rpm=1\n");
}

TEST_P(Usages, ADeletedEntityKeepsItsUsage) {
  put("key", "", false);
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 5}});
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=5\n");
  acquire("key", {{"rpm", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=6\n");
}

TEST_P(Usages, LimitsThatLeaveAndReturnKeepWhatTheyCounted) {
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 3}, {"tpm", 10}});
  set_system({{"rpm", "100/min"}});
  acquire("key", {{"rpm", 1}});
  advance(20min);
  acquire("key", {{"rpm", 1}});
  set_system({{"rpm", "100/min"}, {"tpm", "100000/min"}});
  acquire("key", {{"rpm", 1}, {"tpm", 5}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 4: rpm=6 tpm=15\n");
}

TEST_P(Usages, AKeyThatIsRepeatedCountsOnce) {
  to_next_hour();
  const Time first = now();
  for (int i = 0; i < 3; ++i) acquire_keyed("key", {{"rpm", 2}}, "once");
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=2\n");
}

TEST_P(Usages, ConcurrentLimitsAreNotCounted) {
  set_system({{"rpm", "100/min"}, {"calls", "10:concurrent"}});
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}, {"calls", 1}});
  acquire("key", {{"calls", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=1\n");
}

TEST_P(Usages, CanBeOffAndOnAgain) {
  AcquireOptions off;
  off.usage = false;
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}}, off);
  acquire("key", {{"rpm", 1}}, off);
  EXPECT_EQ(used_by("key", first), "");
  acquire("key", {{"rpm", 4}});
  acquire("key", {{"rpm", 1}}, off);
  acquire("key", {{"rpm", 2}});
  acquire("key", {{"rpm", 2}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 3: rpm=8\n");
}

TEST_P(Usages, AreNotCountedOnAResourceWhoseUsageIsOff) {
  put("project", "", false);
  put("key", "project");
  set(Level::resource(resource), {{"rpm", "100/min"}}, {.usage = false});
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}});
  acquire("key", {{"rpm", 2}});
  AcquireOptions on;
  on.usage = true;
  acquire("key", {{"rpm", 1}}, on);
  resource = "gpt-5";
  acquire("key", {{"rpm", 5}});
  EXPECT_EQ(used_by("key", first), "key gpt-5 +0h 1: rpm=5\n");
  EXPECT_EQ(used_by("project", first), "project gpt-5 +0h 1: rpm=5\n");
}

TEST_P(Usages, OfAResourceCanBeTurnedOffAndOnWhileItHasBuckets) {
  set(Level::resource(resource), {{"rpm", "100/min"}});
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}});
  Decision open = acquire("key", {{"rpm", 10}});
  set(Level::resource(resource), {{"rpm", "100/min"}}, {.usage = false});
  acquire("key", {{"rpm", 2}});
  ASSERT_TRUE(open.lease().settle({{"rpm", 4}}));
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=11\n") << "off";
  set(Level::resource(resource), {{"rpm", "200/min"}});
  acquire("key", {{"rpm", 2}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=11\n") << "other limits leave it off";
  set(Level::resource(resource), {{"rpm", "200/min"}}, {.usage = true});
  acquire("key", {{"rpm", 30}});
  acquire("key", {{"rpm", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 4: rpm=42\n") << "on";
}

TEST_P(Usages, AResourceIsOffAfterALeaseWasTakenWhileItWasOn) {
  set(Level::resource(resource), {{"rpm", "100/min"}});
  to_next_hour();
  const Time first = now();
  Decision open = acquire("key", {{"rpm", 10}});
  set(Level::resource(resource), {{"rpm", "100/min"}}, {.usage = false});
  ASSERT_TRUE(open.lease().settle({{"rpm", 4}}));
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 1: rpm=10\n");
}

TEST_P(Usages, OfTheSystemAreOffUnlessTheResourceSaysOn) {
  set_system({{"rpm", "100/min"}}, {.usage = false});
  set(Level::resource("gpt-5"), {{"rpm", "100/min"}}, {.usage = true});
  set(Level::entity("key", "gpt-5"), {{"rpm", "10/min"}});
  EXPECT_EQ(limiter.limits(Level::system())->usage, false);
  EXPECT_EQ(limiter.limits(Level::resource("gpt-5"))->usage, true);
  EXPECT_EQ(limiter.limits(Level::entity("key", "gpt-5"))->usage, std::nullopt);
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}});
  resource = "gpt-5";
  acquire("key", {{"rpm", 2}});
  EXPECT_EQ(used_by("key", first), "key gpt-5 +0h 1: rpm=2\n");
  ASSERT_TRUE(limiter.delete_limits(Level::resource("gpt-5")));
  acquire("key", {{"rpm", 3}});
  EXPECT_EQ(used_by("key", first), "key gpt-5 +0h 1: rpm=2\n") << "the system's setting holds again";
}

TEST_P(Usages, AreOffForEveryProcessOnTheStore) {
  to_next_hour();
  const Time first = now();
  acquire("key", {{"rpm", 1}});
  auto opened = store_->open({});
  ASSERT_TRUE(opened) << opened.error().message;
  // In memory a limiter is a store of its own.
  Limiter& other = GetParam().name == "memory" ? limiter : *opened;
  ASSERT_TRUE(other.acquire("key", resource, {{"rpm", 1}}));
  ASSERT_TRUE(other.set_limits(Level::resource(resource), {{"rpm", "50/min"}}, {.usage = false}));
  ASSERT_TRUE(other.acquire("key", resource, {{"rpm", 1}}));
  acquire("key", {{"rpm", 1}});
  EXPECT_EQ(used_by("key", first), "key gpt-4 +0h 2: rpm=2\n");
  const auto stored = limiter.limits(Level::resource(resource));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->usage, false);
}

TEST_P(Usages, OfAResourceComeByTimeAndEntity) {
  to_next_hour();
  const Time first = now();
  for (const char* const entity : {"b", "c", "a"}) acquire(entity, {{"rpm", 1}});
  advance(1h);
  for (const char* const entity : {"c", "a"}) acquire(entity, {{"rpm", 2}});
  resource = "gpt-5";
  acquire("a", {{"rpm", 9}});
  const std::string all =
      "a gpt-4 +0h 1: rpm=1\nb gpt-4 +0h 1: rpm=1\nc gpt-4 +0h 1: rpm=1\n"
      "a gpt-4 +1h 1: rpm=2\nc gpt-4 +1h 1: rpm=2\n";
  for (const std::size_t page : {1U, 2U, 3U, 5U, 100U})
    EXPECT_EQ(used({.resource = "gpt-4"}, first, page), all) << page;
  for (const std::size_t page : {1U, 2U, 100U}) {
    EXPECT_EQ(used({.entity = "a"}, first, page),
              "a gpt-4 +0h 1: rpm=1\na gpt-4 +1h 1: rpm=2\na gpt-5 +1h 1: rpm=9\n")
        << page;
  }
  EXPECT_EQ(used({.entity = "a", .resource = "gpt-5"}, first), "a gpt-5 +1h 1: rpm=9\n");
  EXPECT_EQ(used({.resource = "gpt-4", .from = first + hour}, first),
            "a gpt-4 +1h 1: rpm=2\nc gpt-4 +1h 1: rpm=2\n");
  EXPECT_EQ(used({.resource = "gpt-4", .to = first + hour}, first, 2),
            all.substr(0, all.find("a gpt-4 +1h")));
}

TEST_P(Usages, DaysAreSumsOfHours) {
  constexpr Time day = 24 * hour;
  advance(std::chrono::milliseconds(day - now() % day));
  const Time first = now();
  for (int i = 0; i < 30; ++i) {
    acquire("key", {{"rpm", 1}});
    if (i % 2 == 0) acquire("other", {{"rpm", 2}});
    advance(1h);
  }
  const std::string of_key = "key gpt-4 +0h (day) 24: rpm=24\nkey gpt-4 +24h (day) 6: rpm=6\n";
  for (const std::size_t page : {1U, 100U}) {
    EXPECT_EQ(used({.entity = "key", .window = UsageWindow::day}, first, page), of_key);
    EXPECT_EQ(used({.resource = "gpt-4", .window = UsageWindow::day}, first, page),
              "key gpt-4 +0h (day) 24: rpm=24\nother gpt-4 +0h (day) 12: rpm=24\n"
              "key gpt-4 +24h (day) 6: rpm=6\nother gpt-4 +24h (day) 3: rpm=6\n");
  }
}

TEST_P(Usages, AnHourThatEndsWhenItIsNotKeptAnyMoreIsFoldedIntoItsDay) {
  constexpr Time day = 24 * hour;
  advance(std::chrono::milliseconds(day - now() % day));
  const Time first = now();
  // A bucket that does not expire, and is not used for a hundred days.
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", resource), {{"rpm", "100/min"}}));
  ASSERT_TRUE(limiter.acquire("key", resource, {{"rpm", 1}}));
  advance(5h);
  ASSERT_TRUE(limiter.acquire("key", resource, {{"rpm", 2}}));
  advance(std::chrono::days(100));
  ASSERT_TRUE(limiter.acquire("key", resource, {{"rpm", 4}}));
  advance(1h);
  ASSERT_TRUE(limiter.acquire("key", resource, {{"rpm", 8}}));
  const std::string today = "key gpt-4 +2405h 1: rpm=4\nkey gpt-4 +2406h 1: rpm=8\n";
  // Some stores fold in the background: until then the hours are there.
  const std::string folded = "key gpt-4 +0h (day) 2: rpm=3\n" + today;
  const std::string not_yet = "key gpt-4 +0h 1: rpm=1\nkey gpt-4 +5h 1: rpm=2\n" + today;
  const std::string seen = used_by("key", first);
  EXPECT_TRUE(seen == folded || (GetParam().name.starts_with("sqlite") && seen == not_yet)) << seen;
  EXPECT_EQ(used({.entity = "key", .window = UsageWindow::day, .from = first, .to = first + day}, first),
            folded.substr(0, folded.find('\n') + 1));
}

TEST_P(Usages, HoursAndDaysAreKeptForAsLongAsIsSet) {
  constexpr Time day = 24 * hour;
  advance(std::chrono::milliseconds(day - now() % day));
  const Time first = now();
  auto keeper = store_->open(
      {.keep_usage_hours_for = std::chrono::days(2), .keep_usage_days_for = std::chrono::days(5)});
  ASSERT_TRUE(keeper) << keeper.error().message;
  Limiter& kept = GetParam().name == "memory" ? *keeper : limiter;
  ASSERT_TRUE(kept.set_limits(Level::system(), {{"rpm", "100/min"}}));
  for (int i = 0; i < 24 * 9; ++i) {
    ASSERT_TRUE(kept.acquire("key", resource, {{"rpm", 1}}));
    advance(1h);
  }
  std::int64_t events = 0;
  store_->collect_usage();
  const auto page = kept.usage({.entity = "key"}, {.cursor = {}, .limit = 1000});
  ASSERT_TRUE(page) << page.error().message;
  Time hours_from = first + 9 * day;
  for (const Usage& row : page->items) {
    if (row.window == UsageWindow::hour) hours_from = std::min(hours_from, row.start);
    if (row.window == UsageWindow::day) {
      EXPECT_EQ(row.events, 24);
    }
    events += row.events;
  }
  EXPECT_EQ(hours_from % day, 0) << "whole days are folded";
  // Stores fold in the background; what must not be folded or deleted yet is there.
  EXPECT_LE(hours_from, first + 7 * day);
  EXPECT_GE(events, 5 * 24);
}

}  // namespace
}  // namespace weir::contract
