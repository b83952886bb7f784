// Days, children and the top, read from a store that is a list of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/rfc3339.h"
#include "limiter/usage.h"
#include "usage/rows.h"

namespace weir::limiter {
namespace {

constexpr Time hour = 3'600'000;
constexpr Time day = 24 * hour;

Usage row(std::string entity, std::string resource, Time start, std::int64_t rpm, std::int64_t events = 1) {
  Usage usage{.entity = std::move(entity),
              .resource = std::move(resource),
              .window = UsageWindow::hour,
              .start = start,
              .limits = {},
              .events = events};
  if (rpm != 0) usage.limits.push_back({"rpm", Amount::milli(rpm)});
  return usage;
}

/// Rows in the order of a store. Its pages are short, and some are empty.
class FakeReader final : public store::UsageReader {
 public:
  void add(Usage usage) { rows.push_back(std::move(usage)); }
  void read(const store::UsageQuery& query, const Paging& paging,
            store::Completion<Page<Usage>> done) override {
    ++reads;
    std::vector<Usage> found;
    for (const Usage& one : rows) {
      if ((query.entity.empty() || one.entity == query.entity) &&
          (query.resource.empty() || one.resource == query.resource) && one.start >= query.from &&
          one.start < query.to)
        found.push_back(one);
    }
    std::sort(found.begin(), found.end(), [&](const Usage& a, const Usage& b) {
      return query.entity.empty() ? std::tie(a.start, a.entity) < std::tie(b.start, b.entity)
                                  : std::tie(a.resource, a.start) < std::tie(b.resource, b.start);
    });
    // The cursor is the number of rows before it; with a sign, the page is empty.
    const bool empty = paging.cursor.ends_with('e');
    const std::size_t at = paging.cursor.empty() ? 0 : std::stoul(paging.cursor);
    Page<Usage> page;
    if (empty) {
      page.next = std::to_string(at);
      return done(std::move(page));
    }
    const std::size_t end = std::min({found.size(), at + paging.limit, at + longest});
    page.items.assign(found.begin() + static_cast<std::ptrdiff_t>(at),
                      found.begin() + static_cast<std::ptrdiff_t>(end));
    if (end < found.size()) page.next = std::to_string(end) + (end % 2 == 0 ? "e" : "");
    done(std::move(page));
  }

  std::vector<Usage> rows;
  std::size_t longest = 5;
  int reads = 0;
};

class UsageReadingTest : public testing::Test {
 protected:
  UsageQueries reading() {
    return {reader, "default", [this](std::string_view parent, const Paging& paging) {
              EXPECT_EQ(parent, "team");
              Page<std::string> page;
              for (const std::string& child : children) {
                if (child <= paging.cursor) continue;
                if (page.items.size() == std::min(paging.limit, most_children)) {
                  page.next = page.items.back();
                  break;
                }
                page.items.push_back(child);
              }
              return Result(page);
            }};
  }
  /// Every page of a listing.
  std::vector<Usage> all(const UsageFilter& filter, std::size_t limit) {
    std::vector<Usage> found;
    Paging paging{.cursor = {}, .limit = limit};
    for (int pages = 0; pages < 10'000; ++pages) {
      const auto page = reading().read(filter, paging);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return found;
      EXPECT_LE(page->items.size(), limit);
      found.insert(found.end(), page->items.begin(), page->items.end());
      if (page->next.empty()) return found;
      paging.cursor = page->next;
    }
    ADD_FAILURE() << "the listing does not end";
    return found;
  }
  /// The days that the rows sum up to, in the order of a listing.
  std::vector<Usage> expected_days(const std::string& entity, const std::string& resource) {
    std::map<std::tuple<std::string, Time, std::string>, Usage> sums;
    for (const Usage& one : reader.rows) {
      if ((!entity.empty() && one.entity != entity) || (!resource.empty() && one.resource != resource))
        continue;
      const Time start = start_of(UsageWindow::day, one.start);
      Usage& sum = sums[entity.empty() ? std::tuple(std::string(), start, one.entity)
                                       : std::tuple(one.resource, start, std::string())];
      sum.entity = one.entity;
      sum.resource = one.resource;
      sum.window = UsageWindow::day;
      sum.start = start;
      usage::add(sum, one);
    }
    std::vector<Usage> days;
    for (const auto& [names, sum] : sums) days.push_back(sum);
    return days;
  }
  void fill(unsigned seed, int count) {
    std::mt19937 random(seed);
    std::map<std::tuple<std::string, std::string, Time>, bool> taken;
    for (int i = 0; i < count; ++i) {
      const std::string entity = "key-" + std::to_string(random() % 7);
      const std::string resource = "model-" + std::to_string(random() % 3);
      const Time start =
          day * static_cast<Time>(20'000 + random() % 4) + hour * static_cast<Time>(random() % 24);
      if (!taken.try_emplace({entity, resource, start}, true).second) continue;
      reader.add(row(entity, resource, start, static_cast<std::int64_t>(random() % 2000) - 500));
    }
  }

  FakeReader reader;
  std::vector<std::string> children;
  std::size_t most_children = 2;
};

TEST_F(UsageReadingTest, HoursPassThroughAsTheyAreStored) {
  reader.add(row("key-1", "gpt-4", day, 1000));
  reader.add(row("key-1", "gpt-4", day + hour, 2000));
  reader.add(row("key-2", "gpt-4", day + hour, 4000));
  EXPECT_EQ(all({.entity = "key-1"}, 1), (std::vector<Usage>{reader.rows[0], reader.rows[1]}));
  EXPECT_EQ(all({.resource = "gpt-4"}, 2), reader.rows);
  EXPECT_EQ(all({.resource = "gpt-4", .from = day + hour, .to = day + 2 * hour}, 2).size(), 2U);
  EXPECT_TRUE(all({.entity = "key-3"}, 2).empty());
}

TEST_F(UsageReadingTest, DaysAreTheSumsOfTheirHoursOnPagesOfEveryLength) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    reader.rows.clear();
    fill(seed, 300);
    reader.longest = 1 + seed % 40;
    for (const std::size_t limit : {1U, 2U, 3U, 10U, 1000U}) {
      EXPECT_EQ(all({.entity = "key-3", .window = UsageWindow::day}, limit), expected_days("key-3", ""));
      EXPECT_EQ(all({.entity = "key-3", .resource = "model-1", .window = UsageWindow::day}, limit),
                expected_days("key-3", "model-1"));
      EXPECT_EQ(all({.resource = "model-2", .window = UsageWindow::day}, limit),
                expected_days("", "model-2"));
    }
  }
}

TEST_F(UsageReadingTest, DaysThatAreStoredAsDaysStayAndAddToHours) {
  Usage folded = row("key-1", "gpt-4", 5 * day, 7000, 3);
  folded.window = UsageWindow::day;
  reader.add(folded);
  reader.add(row("key-1", "gpt-4", 5 * day + hour, 1000));
  reader.add(row("key-1", "gpt-4", 6 * day + hour, -1000));
  const auto days = all({.entity = "key-1", .window = UsageWindow::day}, 10);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_EQ(days[0].limits, (std::vector<UsedAmount>{{"rpm", Amount::milli(8000)}}));
  EXPECT_EQ(days[0].events, 4);
  EXPECT_EQ(days[1].limits, (std::vector<UsedAmount>{{"rpm", Amount::milli(-1000)}}));
  EXPECT_EQ(all({.entity = "key-1"}, 10)[0], folded) << "a listing of hours shows it as the day that it is";
}

TEST_F(UsageReadingTest, ADayWhoseHoursCancelOutIsShownWithItsEvents) {
  reader.add(row("key-1", "gpt-4", day, 1000));
  reader.add(row("key-1", "gpt-4", day + hour, -1000));
  const auto days = all({.entity = "key-1", .window = UsageWindow::day}, 10);
  ASSERT_EQ(days.size(), 1U);
  EXPECT_TRUE(days[0].limits.empty());
  EXPECT_EQ(days[0].events, 2);
}

TEST_F(UsageReadingTest, ChildrenComeOneAfterTheOther) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    reader.rows.clear();
    fill(seed, 200);
    children = {"key-0", "key-1", "key-2", "key-5", "nobody"};
    for (const UsageWindow window : {UsageWindow::hour, UsageWindow::day}) {
      std::vector<Usage> expected;
      for (const std::string& child : children) {
        const auto of_child = all({.entity = child, .window = window}, 1000);
        expected.insert(expected.end(), of_child.begin(), of_child.end());
      }
      for (const std::size_t limit : {1U, 3U, 1000U})
        EXPECT_EQ(all({.parent = "team", .window = window}, limit), expected);
    }
  }
}

TEST_F(UsageReadingTest, AChildThatWentAwayBetweenTwoPagesIsPassedOver) {
  children = {"key-1", "key-2", "key-3"};
  for (const std::string& child : children) reader.add(row(child, "gpt-4", day, 1000));
  const auto first = reading().read({.parent = "team"}, {.cursor = {}, .limit = 1});
  ASSERT_TRUE(first);
  children = {"key-1", "key-3"};
  const auto second = reading().read({.parent = "team"}, {.cursor = first->next, .limit = 5});
  ASSERT_TRUE(second);
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].entity, "key-3");
}

TEST_F(UsageReadingTest, CursorsOfAnotherListingAreRefused) {
  fill(1, 300);
  const auto page =
      reading().read({.entity = "key-1", .window = UsageWindow::day}, {.cursor = {}, .limit = 1});
  ASSERT_TRUE(page);
  ASSERT_FALSE(page->next.empty());
  for (const std::string& cursor :
       {page->next, std::string("x"), std::string("r9999:1"), std::string("r1:x0:"), std::string("r")}) {
    const auto refused =
        reading().read({.resource = "model-1", .window = UsageWindow::day}, {.cursor = cursor, .limit = 1});
    ASSERT_FALSE(refused) << cursor;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
}

/// "key-1 12" for each.
std::vector<std::string> words_of(const Result<std::vector<UsageTotal>>& top) {
  std::vector<std::string> words;
  EXPECT_TRUE(top);
  for (const UsageTotal& total : *top) {
    std::string word = total.entity + " " + total.resource + " ";
    word += total.limits.empty() ? "none" : total.limits[0].amount.to_string();
    words.push_back(word + " " + std::to_string(total.events));
  }
  return words;
}

TEST_F(UsageReadingTest, TheTopIsInDescendingOrderAndEqualsAreByName) {
  reader.add(row("b", "gpt-4", day, 1000, 2));
  reader.add(row("c", "gpt-4", day, 5000, 1));
  reader.add(row("a", "gpt-4", day, 400, 1));
  reader.add(row("a", "gpt-4", 2 * day, 600, 1));
  reader.add(row("d", "gpt-4", day, 0, 9));
  reader.add(row("a", "other", day, 90'000));
  const UsageFilter filter{.resource = "gpt-4"};
  EXPECT_EQ(words_of(reading().top(filter, "rpm", 10)),
            (std::vector<std::string>{"c gpt-4 5 1", "a gpt-4 1 2", "b gpt-4 1 2"}));
  EXPECT_EQ(words_of(reading().top(filter, "rpm", 2)),
            (std::vector<std::string>{"c gpt-4 5 1", "a gpt-4 1 2"}));
  EXPECT_EQ(words_of(reading().top(filter, "", 2)),
            (std::vector<std::string>{"d gpt-4 none 9", "a gpt-4 1 2"}));
  EXPECT_TRUE(words_of(reading().top(filter, "tpm", 2)).empty());
}

TEST_F(UsageReadingTest, TheTopOfAnEntityIsItsResources) {
  reader.add(row("a", "gpt-3", day, 1000));
  reader.add(row("a", "gpt-4", day, 2000));
  reader.add(row("a", "gpt-5", day, 1500));
  reader.add(row("b", "gpt-4", day, 9000));
  EXPECT_EQ(words_of(reading().top({.entity = "a"}, "rpm", 2)),
            (std::vector<std::string>{"a gpt-4 2 1", "a gpt-5 1.5 1"}));
}

TEST_F(UsageReadingTest, TheTopOfAParentSumsTheResourcesOfEachChild) {
  children = {"a", "b", "c"};
  reader.add(row("a", "gpt-3", day, 1000));
  reader.add(row("a", "gpt-4", day, 2000));
  reader.add(row("b", "gpt-4", day, 2500));
  reader.add(row("x", "gpt-4", day, 9000));
  const auto top = reading().top({.parent = "team"}, "rpm", 5);
  EXPECT_EQ(words_of(top), (std::vector<std::string>{"a  3 2", "b  2.5 1"}));
  ASSERT_EQ((*top)[0].series.size(), 1U) << "one hour, both resources together";
  EXPECT_EQ(words_of(reading().top({.parent = "team", .resource = "gpt-4"}, "rpm", 5)),
            (std::vector<std::string>{"b gpt-4 2.5 1", "a gpt-4 2 1"}));
}

TEST_F(UsageReadingTest, TheSeriesOfTheTopSumsUpToItsTotal) {
  fill(3, 400);
  for (const UsageWindow window : {UsageWindow::hour, UsageWindow::day}) {
    const auto top = reading().top({.resource = "model-1", .window = window}, "rpm", 3);
    ASSERT_TRUE(top);
    for (const UsageTotal& total : *top) {
      Usage sum;
      for (const Usage& one : total.series) usage::add(sum, one);
      EXPECT_EQ(sum.limits, total.limits);
      EXPECT_EQ(sum.events, total.events);
      EXPECT_EQ(total.series, all({.entity = total.entity, .resource = "model-1", .window = window}, 1000));
    }
  }
}

TEST_F(UsageReadingTest, TheTopIsTheSameHoweverFewEntitiesAreComparedAtATime) {
  fill(5, 500);
  const UsageFilter filter{.resource = "model-1"};
  const auto expected = reading().top(filter, "rpm", 4);
  for (const std::size_t ranked : {1U, 2U, 3U, 6U, 7U})
    EXPECT_EQ(*reading().top(filter, "rpm", 4, ranked), *expected) << ranked;
}

TEST(Rfc3339, ReadsMomentsWithAnyOffsetAndDates) {
  using base::parse_rfc3339;
  EXPECT_EQ(parse_rfc3339("1970-01-01"), 0);
  EXPECT_EQ(parse_rfc3339("1969-12-31T23:00:00Z"), -hour);
  EXPECT_EQ(parse_rfc3339("1970-01-02T00:00:00Z"), day);
  EXPECT_EQ(parse_rfc3339("2026-11-17T05:00:00Z"), 1'794'891'600'000);
  EXPECT_EQ(parse_rfc3339("2026-11-17T06:30:00+01:30"), 1'794'891'600'000);
  EXPECT_EQ(parse_rfc3339("2026-11-17t01:00:00.5-04:00"), 1'794'891'600'500);
  EXPECT_EQ(parse_rfc3339("2026-11-17T05:00:00.123456Z"), 1'794'891'600'123);
  EXPECT_EQ(parse_rfc3339("2024-02-29"), 1'709'164'800'000);
  for (const char* const wrong : {"", "2026", "2026-11", "2026-11-31", "2023-02-29", "2026-13-01", "26-11-17",
                                  "2026-11-17T", "17.11.2026", "2026-11-17T05:00:00", "2026-11-17T05:00Z",
                                  "2026-11-17T25:00:00Z", "2026-11-17T05:00:00+1:00", "2026-11-17T05:00:00.Z",
                                  "2026-11-17T05:00:00Zx", "2026-11-17 05:00:00Z", "+026-11-17"})
    EXPECT_FALSE(parse_rfc3339(wrong)) << wrong;
}

TEST(Rfc3339, WritesWhatItReads) {
  EXPECT_EQ(base::rfc3339_text(1'794'891'600'000), "2026-11-17T05:00:00Z");
  EXPECT_EQ(base::rfc3339_text(1'794'891'600'007), "2026-11-17T05:00:00.007Z");
  for (Time at = -400 * 365 * day; at < 200 * 365 * day; at += 37 * day + 12'345'678)
    EXPECT_EQ(base::parse_rfc3339(base::rfc3339_text(at)), at);
}

}  // namespace
}  // namespace weir::limiter
