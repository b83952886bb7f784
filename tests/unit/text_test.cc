#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

#include "base/hex.h"
#include "limits/short_form.h"

namespace weir {
namespace {

TEST(Text, TheClosestWordIsATypingMistakeOrTwoAway) {
  constexpr std::array<std::string_view, 4> words{"limits", "resources", "entities", "name"};
  EXPECT_EQ(base::closest("limts", words), "limits");
  EXPECT_EQ(base::closest("limit", words), "limits");
  EXPECT_EQ(base::closest("ilmits", words), "limits") << "two letters that changed places are one mistake";
  EXPECT_EQ(base::closest("Limits", words), "limits");
  EXPECT_EQ(base::closest("recources", words), "resources");
  EXPECT_EQ(base::closest("nmae", words), "name");
  EXPECT_EQ(base::closest("reso", words), "resources") << "the beginning of a name";
  EXPECT_EQ(base::closest("version", words), "");
  EXPECT_EQ(base::closest("x", words), "");
  EXPECT_EQ(base::closest("", words), "");
  EXPECT_EQ(base::closest(std::string(5000, 'x'), words), "");
  EXPECT_EQ(base::closest("limits", {}), "");
  EXPECT_EQ(base::did_you_mean("limts", words), "; did you mean \"limits\"?");
  EXPECT_EQ(base::did_you_mean("version", words), "");
}

TEST(Text, TheFirstByteThatIsNotUtf8IsFound) {
  EXPECT_EQ(base::find_not_utf8("plain, \xc3\xa9, \xf0\x9f\x98\x80"), std::nullopt);
  EXPECT_EQ(base::find_not_utf8("ab\xff"), 2U);
  EXPECT_EQ(base::find_not_utf8("\xc3\xa9\xc3"), 2U) << "cut in the middle of a character";
}

TEST(LimitText, ALimitIsWrittenInItsShortFormWhereThatSaysItExactly) {
  for (const char* text :
       {"100/min", "100/min:150", "5/10s", "1/s", "1.5/7d:2.25", "1/hour", "3/2h", "9/day", "0/min"}) {
    EXPECT_EQ(limits::to_text(*Limit::parse(text)), text);
  }
  EXPECT_EQ(limits::to_text(*Limit::parse("100/60s")), "100/min");
  for (const char* text : {R"({"capacity":100,"burst":100,"refill_amount":50,"refill_period_ms":60000})",
                           R"({"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":1500})",
                           R"({"capacity":0,"burst":0,"refill_amount":5,"refill_period_ms":1000})"}) {
    EXPECT_EQ(limits::to_text(*Limit::parse(text)), text);
  }
  const auto named = parse_limits({{"rpm", "100"}, {"tpm", "5/s"}});
  EXPECT_EQ(limits::to_text(*named), "rpm 100/min, tpm 5/s");
}

TEST(Hex, NumbersAndBytesBecomeDigitsAndBytesComeBack) {
  EXPECT_EQ(base::hex(std::uint64_t{0x0123456789abcdef}), "0123456789abcdef");
  EXPECT_EQ(base::hex(std::uint64_t{0}), "0000000000000000");
  EXPECT_EQ(base::hex(std::string_view("\x00\xffz", 3)), "00ff7a");
  EXPECT_EQ(base::from_hex("00fF7A"), std::string("\x00\xffz", 3));
  EXPECT_EQ(base::from_hex(""), "");
}

TEST(Hex, WhatIsNoPairOfDigitsIsNothing) {
  for (const char* const text : {"0", "0g", "g0", "0x", " 0", "00 "})
    EXPECT_FALSE(base::from_hex(text)) << text;
}

}  // namespace
}  // namespace weir
