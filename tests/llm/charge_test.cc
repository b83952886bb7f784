// Expressions of charges, prices and estimates.
#include "llm/charge.h"

#include <gtest/gtest.h>

#include "llm/estimate.h"

namespace weir::llm {
namespace {

Amount value(std::string_view text, const Usage& usage, const Price* price = nullptr) {
  const auto expression = Expression::parse(text);
  EXPECT_TRUE(expression) << text;
  return expression ? expression->of(figures_of(usage, price)) : Amount();
}

TEST(LlmCharge, IsASumOfWeightedFigures) {
  const Usage usage{100, 30, 5, 50, 20};
  EXPECT_EQ(value("requests", usage), Amount(1));
  EXPECT_EQ(value("input + 0.1*cached_input + output + reasoning", usage), Amount(173));
  EXPECT_EQ(value(" input*2+cache_write * 1.25 ", usage), Amount::milli(206'250));
  EXPECT_EQ(value("0.000001*input", {1, 0, 0, 0, 0}), Amount::milli(1)) << "rounded up";
  EXPECT_EQ(value("1000000*input", {most_tokens, 0, 0, 0, 0}), Amount::milli(Amount::max_millitokens));
}

TEST(LlmCharge, CountsMoneyExactly) {
  // USD 2.50, 1.25 and 10 for a million tokens.
  const Price price{2'500'000, 1'250'000, 0, 10'000'000, 10'000'000};
  EXPECT_EQ(value("usd", {1000, 100, 0, 10, 1}, &price), Amount(2500 + 125 + 110))
      << "millionths of a dollar";
  const Price cheap{37'500, 0, 0, 0, 0};
  EXPECT_EQ(value("usd", {1, 0, 0, 0, 0}, &cheap), Amount::milli(38)) << "0.0375 millionths, rounded up";
  EXPECT_EQ(value("usd", {1, 0, 0, 0, 0}), Amount(0)) << "no price";
}

TEST(LlmCharge, SaysWhatIsWrong) {
  for (const std::string_view text :
       {"", "+", "input +", "tokens", "input - output", "2", "2*3", "-1*input", "1e3*input",
        "0.0000001*input", "input*output", "input input", "1000001*input", ".5*input", "1.*input"}) {
    const auto expression = Expression::parse(text);
    ASSERT_FALSE(expression) << text;
    EXPECT_NE(expression.error().message.find("input + 0.1*cached_input"), std::string::npos)
        << expression.error().message;
  }
}

TEST(LlmCharge, KnowsTheUsualNamesAndCountsRequestsForOthers) {
  Charges charges;
  const Figures figures = figures_of({100, 30, 5, 50, 20}, nullptr);
  EXPECT_EQ(charges.of("rpm", figures), Amount(1));
  EXPECT_EQ(charges.of("tpm", figures), Amount(205));
  EXPECT_EQ(charges.of("itpm", figures), Amount(105));
  EXPECT_EQ(charges.of("otpm", figures), Amount(70));
  EXPECT_EQ(charges.of("calls-per-day", figures), Amount(1));
  charges.set("tpm", *Expression::parse("output"));
  charges.set("mine", *Expression::parse("3*requests"));
  EXPECT_EQ(charges.of("tpm", figures), Amount(50));
  EXPECT_EQ(charges.of("mine", figures), Amount(3));
}

TEST(LlmEstimate, LearnsFromCallsOfTheEntityAndElseOfTheModel) {
  Estimates estimates;
  EXPECT_EQ(estimates.of(1, 2, 400).input, 100);
  EXPECT_EQ(estimates.of(1, 2, 0).input, 1) << "never nothing";
  EXPECT_EQ(estimates.of(1, 2, 400).output, 256);
  for (int i = 0; i < 100; ++i) estimates.learn(1, 2, 400, {200, 10});
  EXPECT_EQ(estimates.of(1, 2, 400).input, 200);
  EXPECT_NEAR(static_cast<double>(estimates.of(1, 2, 400).output), 10, 1);
  EXPECT_EQ(estimates.of(7, 2, 400).input, 200) << "another entity with this model";
  EXPECT_EQ(estimates.of(7, 8, 400).input, 100) << "another model";
  for (int i = 0; i < 100; ++i) estimates.learn(1, 2, 1, {1'000'000'000, 1'000'000'000});
  EXPECT_LE(estimates.of(1, 2, 1).input, 4) << "bounded";
}

}  // namespace
}  // namespace weir::llm
