#include "cli/words.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/style.h"
#include "cli/text_table.h"

namespace weir::cli {
namespace {

using std::chrono::milliseconds;

std::string lasting(std::int64_t length) { return duration_text(milliseconds(length)); }

TEST(Words, AmountsHaveCommasAndOnlyTheDecimalsTheyNeed) {
  EXPECT_EQ(amount_text(0), "0");
  EXPECT_EQ(amount_text(999), "999");
  EXPECT_EQ(amount_text(1000), "1,000");
  EXPECT_EQ(amount_text(-1234567), "-1,234,567");
  EXPECT_EQ(amount_text(-123), "-123");
  EXPECT_EQ(amount_text(Amount::milli(1'250'000'500)), "1,250,000.5");
  EXPECT_EQ(amount_text(Amount::milli(-1)), "-0.001");
}

TEST(Words, DurationsAreRoundedUpSoThatWaitingThemIsEnough) {
  EXPECT_EQ(lasting(0), "0 ms");
  EXPECT_EQ(lasting(999), "999 ms");
  EXPECT_EQ(lasting(1000), "1.0 s");
  EXPECT_EQ(lasting(1201), "1.3 s");
  EXPECT_EQ(lasting(9900), "9.9 s");
  EXPECT_EQ(lasting(9901), "10 s");
  EXPECT_EQ(lasting(12'001), "13 s");
  EXPECT_EQ(lasting(59'000), "59 s");
  EXPECT_EQ(lasting(59'001), "1 min");
  EXPECT_EQ(lasting(125'000), "2 min 5 s");
  EXPECT_EQ(lasting(3'599'001), "1 h");
  EXPECT_EQ(lasting(11'400'000), "3 h 10 min");
  EXPECT_EQ(lasting(std::int64_t{90} * 86'400'000), "90 d");
  EXPECT_EQ(lasting(std::int64_t{2} * 86'400'000 + 1), "2 d 1 h");
}

TEST(Words, TimesAreRelativeToThePresent) {
  const Time now = 1'700'000'000'000;
  EXPECT_EQ(relative_text(now + 12'000, now), "in 12 s");
  const Time days = std::int64_t{30} * 86'400'000;
  for (const Time off : {-700, 0, 700}) EXPECT_EQ(relative_text(now + days + off, now), "in 30 d") << off;
  EXPECT_EQ(relative_text(now + 86'399'999, now), "in 1 d");
  EXPECT_EQ(relative_text(now, now), "now");
  EXPECT_EQ(relative_text(now - 999, now), "now");
  EXPECT_EQ(relative_text(now - 1000, now), "1 s ago");
  EXPECT_EQ(relative_text(now - 200'000, now), "3 min ago");
  EXPECT_EQ(relative_text(now - 7'200'000, now), "2 h ago");
  EXPECT_EQ(relative_text(now - std::int64_t{86'400'000} * 1500, now), "1,500 d ago");
  EXPECT_EQ(moment_text(now), "2023-11-14 22:13:20 UTC");
}

TEST(Words, LimitsReadAsTheyAreTyped) {
  const auto limits = *parse_limits({{"rpm", "100/min:150"}, {"tpm", "50000"}, {"daily", "1/day"}});
  EXPECT_EQ(option_text(std::span(limits)), "rpm:100/min:150 tpm:50000/min daily:1/day");
  EXPECT_EQ(refill_text(limits[1].limit), "50,000 / min");
  EXPECT_EQ(refill_text(*Limit::parse("5/10s")), "5 / 10 s");
  EXPECT_EQ(refill_text(*Limit::parse(R"({"capacity":5,"refill_period_ms":1500})")), "5 / 1500 ms");
}

TEST(Words, WhatCouldUpsetATerminalIsShownAsAQuestionMark) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f\tc"), "a?[31mb??c");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m Ünïté"),
            "?31m Ünïté");
  EXPECT_EQ(columns("Ünïté"), 5U);
}

TEST(TextTable, AlignsColumnsAndEndsNoLineInSpaces) {
  TextTable table({{"NAME"}, {"COUNT", TextTable::Align::right}, {"NOTE"}});
  table.add({{"a"}, {"5"}, {""}});
  table.add({{"Ünïté"}, {"12,345"}, {"x"}});
  std::ostringstream out;
  table.print(out, Style(false));
  EXPECT_EQ(out.str(),
            "NAME    COUNT  NOTE\n"
            "a           5\n"
            "Ünïté  12,345  x\n");
}

TEST(TextTable, PrintsItsTitlesOnceAndItsColumnsOnlyGrow) {
  TextTable table({{"A"}, {"B"}});
  std::ostringstream out;
  table.add({{"long-one"}, {"x"}});
  table.print(out, Style(false));
  table.add({{"s"}, {"y"}});
  table.print(out, Style(false));
  EXPECT_EQ(out.str(), "A         B\nlong-one  x\ns         y\n");
}

TEST(TextTable, ColoursDoNotDisturbTheColumns) {
  TextTable table({{"A"}, {"B"}});
  table.add({{"x", Tone::bad}, {"y"}});
  std::ostringstream out;
  table.print(out, Style(true));
  EXPECT_EQ(out.str(), "\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m\n\x1b[31mx\x1b[0m  y\n");
}

struct Colours {
  Color asked = Color::automatic;
  bool terminal = true;
  std::map<std::string, std::string> variables = {};
  bool expected = false;
};

TEST(Style, NoColorWinsOverForceAndAnOptionOverBoth) {
  const Colours cases[] = {
      {.expected = true},
      {.terminal = false, .expected = false},
      {.variables = {{"NO_COLOR", "1"}}, .expected = false},
      {.variables = {{"NO_COLOR", ""}}, .expected = true},
      {.variables = {{"TERM", "dumb"}}, .expected = false},
      {.terminal = false, .variables = {{"CLICOLOR_FORCE", "1"}}, .expected = true},
      {.terminal = false, .variables = {{"CLICOLOR_FORCE", "0"}}, .expected = false},
      {.variables = {{"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}}, .expected = false},
      {.asked = Color::always, .terminal = false, .variables = {{"NO_COLOR", "1"}}, .expected = true},
      {.asked = Color::never, .variables = {{"CLICOLOR_FORCE", "1"}}, .expected = false},
  };
  for (const Colours& one : cases) {
    const Environment environment = [&](const char* name) {
      const auto found = one.variables.find(name);
      return found == one.variables.end() ? std::nullopt : std::optional(found->second);
    };
    EXPECT_EQ(use_color(one.asked, one.terminal, environment), one.expected) << &one - cases;
  }
}

}  // namespace
}  // namespace weir::cli
