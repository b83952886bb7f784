#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/limits_file.h"
#include "limits/short_form.h"
#include "tests_folder.h"

namespace weir::config {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Example {
  std::string title;
  std::string expected;  ///< messages, a line each
  std::string text;
};

/// The examples in tests/config, which the test of the schema reads as well.
std::vector<Example> examples(const char* name) {
  std::vector<Example> found;
  std::istringstream lines(contents(std::string(WEIR_TESTS_FOLDER "/config/") + name));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("=== ")) {
      found.push_back({line.substr(4), {}, {}});
    } else if (found.empty()) {
      continue;
    } else if (line.starts_with(">>> ")) {
      found.back().expected += (found.back().expected.empty() ? "f:" : "\nf:") + line.substr(4);
    } else {
      found.back().text += line + "\n";
    }
  }
  return found;
}

std::string message_of(std::string_view text) {
  const auto desired = read_limits_file(text, {.file = "f"});
  return desired ? "read" : desired.error().message;
}

TEST(LimitsFile, EveryGoodExampleIsRead) {
  const auto good = examples("good.txt");
  ASSERT_GT(good.size(), 10U);
  for (const Example& example : good) EXPECT_EQ(message_of(example.text), "read") << example.title;
}

TEST(LimitsFile, EveryMistakeIsNamedWithItsPlaceAndWhatToChange) {
  const auto bad = examples("bad.txt");
  ASSERT_GT(bad.size(), 30U);
  for (const Example& example : bad) EXPECT_EQ(message_of(example.text), example.expected) << example.title;
}

TEST(LimitsFile, TheExampleIsRead) {
  const auto desired = read_limits_file(contents(WEIR_TESTS_FOLDER "/../examples/limits.yaml"));
  ASSERT_TRUE(desired) << desired.error().message;
  EXPECT_EQ(desired->limits.size(), 11U);
  EXPECT_EQ(desired->entities.size(), 6U);
  EXPECT_EQ(desired->plans.size(), 1U);
}

TEST(LimitsFile, EverythingThatItSaysIsInTheDesiredState) {
  const auto good = examples("good.txt");
  ASSERT_EQ(good[1].title, "everything");
  const auto desired = read_limits_file(good[1].text);
  ASSERT_TRUE(desired) << desired.error().message;
  EXPECT_EQ(desired->name_space, "team-1");
  EXPECT_EQ(desired->on_unavailable, OnUnavailable::allow);
  EXPECT_EQ(desired->bucket_ttl_refill_multiplier, 2);

  ASSERT_EQ(desired->limits.size(), 5U);
  EXPECT_EQ(desired->limits[0].level, Level::system());
  EXPECT_EQ(limits::to_text(desired->limits[0].limits), "rpm 60/min, tpm 1.5/10s:2.25");
  EXPECT_EQ(desired->limits[0].usage, false);
  EXPECT_EQ(desired->limits[1].level, Level::resource("gpt-4"));
  EXPECT_EQ(desired->limits[1].usage, true);
  EXPECT_EQ(desired->limits[2].level, Level::resource("models/*"));
  EXPECT_EQ(desired->limits[2].usage, std::nullopt) << "not mentioned";
  EXPECT_EQ(desired->limits[3].level, Level::entity_default("key-1"));
  EXPECT_EQ(desired->limits[4].level, Level::entity("key-1", "gpt-4"));
  EXPECT_EQ(limits::to_text(desired->limits[4].limits),
            R"(tpm {"capacity":100,"burst":150,"refill_amount":0.5,"refill_period_ms":1000})");

  ASSERT_EQ(desired->entities.size(), 2U);
  const DesiredEntity& org = desired->entities[0];
  EXPECT_EQ(org.name, "The organisation");
  EXPECT_EQ(org.metadata,
            (std::map<std::string, std::string>{{"active", "true"}, {"cost", "4711"}, {"team", "search"}}));
  EXPECT_TRUE(org.declared);
  const DesiredEntity& key = desired->entities[1];
  EXPECT_EQ(key.parent, "org");
  EXPECT_TRUE(key.cascade);
  EXPECT_EQ(key.name, std::nullopt) << "not mentioned";
}

TEST(LimitsFile, WhatIsNotMentionedIsNotSaid) {
  const auto desired = read_limits_file("entities: {a: {limits: {rpm: 1}}}");
  EXPECT_EQ(desired->name_space, std::nullopt);
  EXPECT_EQ(desired->on_unavailable, std::nullopt);
  EXPECT_EQ(desired->bucket_ttl_refill_multiplier, std::nullopt);
  EXPECT_FALSE(desired->entities[0].declared) << "limits alone do not make an entity";
}

TEST(LimitsFile, AnAliasRepeatsAWholeValue) {
  const auto desired = read_limits_file("resources: {a: {limits: &x {rpm: 10}}, b: {limits: *x}}");
  ASSERT_TRUE(desired) << desired.error().message;
  EXPECT_EQ(desired->limits[0].limits, desired->limits[1].limits);
}

TEST(LimitsFile, OnlyTwentyMistakesAreListed) {
  std::string text = "resources:\n";
  for (int i = 0; i < 25; ++i) text += "  r" + std::to_string(i) + ": {limits: {rpm: -1}}\n";
  const std::string message = message_of(text);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 20);
  EXPECT_TRUE(message.ends_with("\nf: and 5 more")) << message;
}

TEST(LimitsFile, BytesThatAreNotTextAreRefused) {
  EXPECT_EQ(message_of("namespace: a\nresources: \xff"),
            "f:2:12: this byte is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(message_of(std::string_view("a\0b: 1", 6)), "f:1:2: a control character; remove it");
  EXPECT_EQ(message_of("\xff\xfe"
                       "a"),
            "f:1:1: this byte is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(message_of("\xef\xbb\xbfresources: {}"), "read") << "a byte-order mark does no harm";
  EXPECT_EQ(message_of("entities: {a: {name: \"J\xc3\xbcrgen\"}}"), "read");
  EXPECT_EQ(message_of("resources:\r\n  a:\r\n    limits: {rpm: 1}\r\n"), "read");
}

TEST(LimitsFile, WhatWouldGrowWithoutBoundIsRefused) {
  // Each line is nine times the one before.
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) laughs += (i == 0 ? "*" : ",*") + before;
    laughs += "]\n";
  }
  EXPECT_NE(message_of(laughs), "read");

  std::string many = "entities:\n  e: {resources: &r {";
  for (int i = 0; i < 3000; ++i) many += "r" + std::to_string(i) + ": {limits: {rpm: 1}},";
  many += "}}\n";
  for (int i = 0; i < 3000; ++i) many += "  e" + std::to_string(i) + ": {resources: *r}\n";
  EXPECT_NE(message_of(many).find("with its aliases the file has more than 8000000 values; split the file"),
            std::string::npos);

  EXPECT_EQ(message_of(std::string(max_file_bytes + 1, '#')),
            "f:1:1: the file is larger than 64 MiB; split it");
  const std::string deep(100'000, '[');
  EXPECT_NE(message_of(deep), "read");
  EXPECT_NE(message_of("a: " + std::string(100'000, '{')), "read");
  std::string block;
  for (int i = 0; i < 50'000; ++i) block += "- ";
  EXPECT_NE(message_of(block), "read");
}

TEST(LimitsFile, AChainThatIsVeryLongIsRefusedWithoutHarm) {
  std::string chain = "entities:\n", circle = "entities:\n";
  for (int i = 0; i < 20'000; ++i) {
    const std::string entity = "  e" + std::to_string(i) + ": {parent: e";
    chain += entity + std::to_string(i + 1) + "}\n";
    circle += entity + std::to_string((i + 1) % 20'000) + "}\n";
  }
  EXPECT_NE(message_of(chain).find("would be number 9 of its chain"), std::string::npos);
  EXPECT_EQ(message_of(circle),
            "f:2:16: entity \"e0\" would be its own ancestor (e0, e1, e2, e3, e4, e5, e6, e7, "
            "..., e0); remove one of these parents");
}

TEST(LimitsFile, ProgressCountsUpToTheEnd) {
  std::string text = "entities:\n";
  for (int i = 0; i < 20'000; ++i) text += "  key-" + std::to_string(i) + ": {limits: {rpm: 1}}\n";
  std::size_t last = 0, calls = 0;
  const auto desired =
      read_limits_file(text, {.file = "f", .progress = [&](std::size_t done, std::size_t of) {
                                EXPECT_GE(done, last);
                                EXPECT_EQ(of, text.size());
                                last = done;
                                ++calls;
                              }});
  EXPECT_TRUE(desired);
  EXPECT_EQ(last, text.size());
  EXPECT_GT(calls, 5U);
  EXPECT_LT(calls, 100U);
}

}  // namespace
}  // namespace weir::config
