// The JSON of a snapshot, as others read it.
#include "sync/snapshot.h"

#include <gtest/gtest.h>

namespace weir::sync {
namespace {

Snapshot example() {
  return {.region = "eu",
          .sequence = 7,
          .window = 10'000,
          .published_at = 1'700'000'000'000,
          .entries = {{.entity = "acme",
                       .resource = "gpt-4",
                       .until = 1'700'000'030'000,
                       .limits = {{.name = "rpm",
                                   .consumed = 5,
                                   .tokens = -3,
                                   .capacity = 100'000,
                                   .share = 20'000,
                                   .windows = {4, 2},
                                   .waits = true,
                                   .grants = {{"us", 13'000, 1'700'000'028'000}}}}},
                      {.entity = "acme", .resource = "gpt-5", .operator_owned = true}}};
}

TEST(SyncSnapshot, IsReadAsItWasWritten) {
  const auto read = read_snapshot(to_json(example()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, example());
  EXPECT_NE(read->find("acme", "gpt-5"), nullptr);
  EXPECT_EQ(read->find("acme", "gpt-6"), nullptr);
  EXPECT_NE(read->find("acme", "gpt-4")->find("rpm"), nullptr);
}

TEST(SyncSnapshot, AnotherVersionIsReportedAndNotGuessed) {
  const auto read = read_snapshot(R"({"version":2,"region":5,"entries":"?"})");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("version 2"), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().message.find("the same weir in every region"), std::string::npos);
}

TEST(SyncSnapshot, WhatCannotBeUsedIsAnError) {
  const std::string good = to_json(example());
  const auto with = [&](std::string_view old, std::string_view other) {
    std::string text = good;
    const auto at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), other);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() - 1), with("\"eu\"", "\"\""),
        with("10000,", "0,"), with("\"acme\"", "\"\""), with("\"gpt-5\"", "\"gpt-4\""),
        with("\"share\":20000", "\"share\":-1"), with("\"share\":20000", "\"share\":9007199254740993"),
        with("[4,2]", "[1,2,3,4]"), with("\"rpm\"", "\"no such name!\""),
        with("\"tokens\":-3", "\"tokens\":\"x\""), with("10000,", "3600001,")}) {
    EXPECT_FALSE(read_snapshot(bad)) << bad;
  }
}

TEST(SyncSnapshot, OfARegionWhoseCounterHasFallenBelowZeroCountsNothing) {
  std::string text = to_json(example());
  const std::string_view five = "\"consumed\":5";
  text.replace(text.find(five), five.size(), "\"consumed\":-9223372036854775808");
  const auto read = read_snapshot(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries[0].limits[0].consumed, 0);
}

TEST(SyncSnapshot, OfARegionThatHasShortenedItsWindowIsStillUsed) {
  Snapshot snapshot = example();
  snapshot.window = 10'000;
  snapshot.published_at = 1'000'000;
  snapshot.entries[0].limits[0].grants = {{"us", 5, snapshot.published_at + 178'000}};
  EXPECT_TRUE(check_moments(snapshot, snapshot.published_at, 2'000));
  snapshot.entries[0].limits[0].grants[0].until = snapshot.published_at + 4 * longest_window;
  EXPECT_FALSE(check_moments(snapshot, snapshot.published_at, 2'000));
}

}  // namespace
}  // namespace weir::sync
