#include "weir/limit.h"

#include <gtest/gtest.h>

#include "limits/names.h"

namespace weir {
namespace {

std::string json(std::string_view text) {
  auto limit = Limit::parse(text);
  return limit ? limit->to_json() : "error: " + limit.error().message;
}

std::string long_form(const char* capacity, const char* burst, const char* amount, const char* period) {
  return std::string("{\"capacity\":") + capacity + ",\"burst\":" + burst + ",\"refill_amount\":" + amount +
         ",\"refill_period_ms\":" + period + "}";
}

TEST(LimitText, TheShortFormIsAmountPeriodAndBurst) {
  EXPECT_EQ(json("100"), long_form("100", "100", "100", "60000"));
  EXPECT_EQ(json("100/min"), long_form("100", "100", "100", "60000"));
  EXPECT_EQ(json("100/min:150"), long_form("100", "150", "100", "60000"));
  EXPECT_EQ(json("100:150"), long_form("100", "150", "100", "60000"));
  EXPECT_EQ(json("5/10s"), long_form("5", "5", "5", "10000"));
  EXPECT_EQ(json("1/s"), long_form("1", "1", "1", "1000"));
  EXPECT_EQ(json("1/sec"), long_form("1", "1", "1", "1000"));
  EXPECT_EQ(json("1/h"), long_form("1", "1", "1", "3600000"));
  EXPECT_EQ(json("1/2hour"), long_form("1", "1", "1", "7200000"));
  EXPECT_EQ(json("1/d"), long_form("1", "1", "1", "86400000"));
  EXPECT_EQ(json("1.5/7day:2.25"), long_form("1.5", "2.25", "1.5", "604800000"));
}

TEST(LimitText, TheLongFormIsJson) {
  EXPECT_EQ(json(R"({"capacity":100})"), long_form("100", "100", "100", "60000"));
  EXPECT_EQ(json(R"( {"capacity":100})").substr(0, 5), "error") << "leading space is not a short form either";
  EXPECT_EQ(json(R"({ "refill_period_ms" : 1000 , "burst":150.001,"capacity":0.5, "refill_amount":7 })"),
            long_form("0.5", "150.001", "7", "1000"));
  EXPECT_EQ(json(json("100/min:150")), json("100/min:150")) << "what is written can be read";
}

TEST(LimitText, MistakesAreNamed) {
  const auto complains = [](std::string_view text, std::string_view about) {
    const std::string message = json(text);
    EXPECT_TRUE(message.starts_with("error: ") && message.find(about) != std::string::npos)
        << text << " -> " << message;
  };
  complains("", "not a number");
  complains("x", "not a number");
  complains("+5", "not a number");
  complains(" 5", "not a number");
  complains("-5", "negative");
  complains("1e3", "not a number");
  complains("1.", "ends in a point");
  complains("1.2345", "three decimals");
  complains("99999999999999999999", "not a number in range");
  complains("5000000000000", "too large");
  complains("5/", "period");
  complains("5/0s", "out of range");
  complains("5/week", "week");
  complains("5/10", "not known");
  complains("5/min:", "not a number");
  complains("5/min:4", "burst 4 is less than capacity 5");
  complains("0/min:4", "blocks");
  complains("{}", "capacity is missing");
  complains("{", "flat JSON");
  complains(R"({"capacity":1,})", "flat JSON");
  complains(R"({"capacity":1}})", "flat JSON");
  complains(R"({"capacity":1}x)", "flat JSON");
  complains(R"({"capacity":"x"})", "\"x\"");
  complains(R"({"capacity":null})", "capacity");
  complains(R"({"capacity":1,"capacity":2})", "twice");
  complains(R"({"capacity":1,"rate":2})", "rate");
  complains(R"({"capacity":1,"refill_amount":0})", "never refill");
  complains(R"({"capacity":1,"refill_period_ms":0})", "refill_period_ms");
  complains(R"({"capacity":1,"refill_period_ms":1.5})", "refill_period_ms");
  complains(R"({"capacity":1,"refill_period_ms":-1})", "refill_period_ms");
  complains(R"({"capacity":4503599627370.495,"refill_period_ms":1000003})", "exactly");
}

TEST(LimitText, AMisspeltLimitIsToldItsSpelling) {
  const auto suggests = [](std::string_view text, std::string_view spelling) {
    const std::string message = json(text);
    EXPECT_TRUE(message.starts_with("error: ") && message.ends_with("; write " + std::string(spelling)))
        << text << " -> " << message;
  };
  for (const auto* text : {"100/minute", "100/minutes", "100/mins", "100 / min", "100/ min", "100/min ",
                           " 100/min", "100/MIN", "100 per minute", "100 requests per minute", "100 req/min",
                           "100rpm", "100 rpm", "1e2/min", "100 a minute", "100 every minute"}) {
    suggests(text, "100/min");
  }
  suggests("5/10 seconds", "5/10s");
  suggests("10/second", "10/s");
  suggests("10qps", "10/s");
  suggests("10/2hours", "10/2h");
  suggests("10 daily", "10/d");
  suggests("100/week", "100/7d");
  suggests("100/2weeks", "100/14d");
  suggests("1,000/min", "1000/min");
  suggests("1_000", "1000");
  suggests("10k/min", "10000/min");
  suggests("1.5M/day", "1500000/d");
  suggests(".5", "0.5");
  suggests("5.", "5");
  suggests("100:150/min", "100/min:150");
  suggests("100/min:150/min", "100/min:150");
  suggests("100/minute:1,500", "100/min:1500");
}

TEST(LimitText, AMonthIsAFixedLengthOfTime) {
  EXPECT_EQ(json("100/month"),
            "error: limit \"100/month\": period \"month\" is not known; write 100/30d; weir has no calendar "
            "months, a period is a fixed length of time");
  EXPECT_NE(json("100 per 2 months").find("write 100/60d; weir has no calendar months"), std::string::npos);
  EXPECT_NE(json("100/year").find("write 100/365d; weir has no calendar years"), std::string::npos);
  EXPECT_NE(json("100/m").find("write 100/min; for a month write 30d"), std::string::npos);
}

TEST(LimitText, WhatNoSpellingExpressesIsExplained) {
  EXPECT_NE(json("100/60").find("write 100/60s; a number alone is no period"), std::string::npos);
  EXPECT_NE(json("10/100ms").find("needs the long form"), std::string::npos);
  EXPECT_NE(json("unlimited").find("there is no unlimited limit"), std::string::npos);
  for (const auto* text : {"", "x", "5/", "5/fortnight", "5/0s", "5/0 minutes", "1.2345", "ten/min",
                           "5/min/h", "5/min 3", "1e99", "1e99999999999", "99999999999999999999 per day"}) {
    const std::string message = json(text);
    EXPECT_TRUE(message.ends_with("such as 500 or 1.5") || message.ends_with("such as 100/min or 5/10s") ||
                message.ends_with("such as 10s"))
        << text << " -> " << message;
  }
}

TEST(LimitText, TheBoundsOfExactnessAreAccepted) {
  EXPECT_TRUE(Limit::parse(R"({"capacity":4503599627370.496,"refill_amount":1})")) << "2^52 thousandths";
  EXPECT_TRUE(Limit::make({.capacity = 1,
                           .refill_amount = Amount::milli(1),
                           .refill_period = std::chrono::milliseconds(Amount::max_millitokens)}));
  EXPECT_TRUE(Limit::make({.capacity = 1,
                           .refill_amount = Amount::milli(Amount::max_millitokens),
                           .refill_period = std::chrono::milliseconds(2)}));
  EXPECT_FALSE(Limit::make({.capacity = Amount::milli(Amount::max_millitokens + 1)}));
}

TEST(AmountText, IsExactToAThousandth) {
  EXPECT_EQ(Amount::parse("1.5")->millitokens(), 1500);
  EXPECT_EQ(Amount::parse("0.001")->millitokens(), 1);
  EXPECT_EQ(Amount::parse("-0.125")->millitokens(), -125);
  EXPECT_EQ(Amount::parse("4503599627370.496")->millitokens(), Amount::max_millitokens);
  EXPECT_FALSE(Amount::parse("4503599627370.497"));
  for (const auto* text : {"0", "1", "-1", "1.5", "0.05", "-0.005", "4503599627370.496"}) {
    EXPECT_EQ(Amount::parse(text)->to_string(), text);
  }
  for (const auto* text : {"", "-", ".", ".5", "5.", "1..2", "--1", "1.-5", "0x1", "1 ", "inf", "nan"}) {
    EXPECT_FALSE(Amount::parse(text)) << text;
  }
}

TEST(AmountText, WholeTokensThatAreTooLargeAreOutOfRange) {
  EXPECT_FALSE(Amount(std::numeric_limits<std::uint64_t>::max()).in_range());
  EXPECT_FALSE(Amount(std::numeric_limits<std::int64_t>::min()).in_range());
  EXPECT_TRUE(Amount(4'503'599'627'370).in_range());
  EXPECT_EQ(Amount::milli(std::numeric_limits<std::int64_t>::min()).to_string(), "-9223372036854775.808");
}

TEST(Names, FollowTheGrammar) {
  using namespace limits;
  EXPECT_TRUE(check_entity("user@example.com/a:b+c=d_e-f.g"));
  EXPECT_FALSE(check_entity("ümlaut"));
  EXPECT_FALSE(check_entity(std::string_view("a\0b", 3)));
  EXPECT_TRUE(check_resource("/v1/chat/*"));
  EXPECT_FALSE(check_resource("a@b"));
  EXPECT_TRUE(check_limit_name("a-b_1"));
  EXPECT_FALSE(check_limit_name("_a"));
  EXPECT_FALSE(check_limit_name("a.b"));
  EXPECT_TRUE(check_namespace("prod-1"));
  EXPECT_FALSE(check_namespace("Prod"));
  EXPECT_FALSE(check_namespace(std::string(33, 'a')));
}

}  // namespace
}  // namespace weir
