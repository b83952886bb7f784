// RateLimit, RateLimit-Policy and Retry-After of a decision.
#include "server/rate_limit_fields.h"

#include <gtest/gtest.h>

#include "api/decision_json.h"
#include "server/observing.h"

namespace weir::server {
namespace {

struct One {
  std::string name;
  std::int64_t capacity;
  std::int64_t remaining;
  std::int64_t wait = 0;  ///< milliseconds
  std::uint32_t window = 60;
};

/// A bucket of that entity with those limits, in millitokens.
void add(LimitReport& report, std::string_view entity, const std::vector<One>& limits) {
  std::string names;
  for (const One& limit : limits) names += limit.name;
  LimitReport::Bucket bucket{};
  bucket.entity_size = static_cast<std::uint16_t>(entity.size());
  auto* line = report.add_bucket(std::string(entity) + "r", bucket, names, limits.size());
  std::uint16_t at = 0;
  for (const One& limit : limits) {
    const auto size = static_cast<std::uint8_t>(limit.name.size());
    *line++ = {limit.capacity, limit.capacity, 0, limit.remaining, limit.wait, {at, size}, limit.window};
    at = static_cast<std::uint16_t>(at + size);
  }
}

std::string fields_of(const LimitReport& report) {
  std::string fields;
  append_rate_limit_fields(fields, report);
  return fields;
}

TEST(RateLimitFields, AreStructuredFieldsWithOneItemPerLimit) {
  LimitReport report;
  add(report, "e", {{"rpm", 100'000, 12'999}, {"tokens-per-day", 50'500, 50'500, 0, 86'400}});
  EXPECT_EQ(fields_of(report),
            "RateLimit-Policy: \"rpm\";q=100;w=60, \"tokens-per-day\";q=50;w=86400;weir-unit=\"tokens\"\r\n"
            "RateLimit: \"rpm\";r=12;t=0, \"tokens-per-day\";r=50;t=0\r\n");
}

TEST(RateLimitFields, AreNotThereWithoutLimits) { EXPECT_EQ(fields_of(LimitReport()), ""); }

TEST(RateLimitFields, ShowADebtAsNothingAndRoundWaitsUp) {
  LimitReport report;
  add(report, "e", {{"a", 1000, -5000, 30'001}, {"b", 1000, 999, 1}});
  EXPECT_EQ(
      fields_of(report),
      "RateLimit-Policy: \"a\";q=1;w=60, \"b\";q=1;w=60\r\nRateLimit: \"a\";r=0;t=31, \"b\";r=0;t=1\r\n");
}

TEST(RateLimitFields, ShowTheWholeWindowWhereNoWaitHelps) {
  LimitReport report;
  add(report, "e", {{"a", 3000, 3000, LimitReport::never_fits, 7}});
  EXPECT_EQ(fields_of(report), "RateLimit-Policy: \"a\";q=3;w=7\r\nRateLimit: \"a\";r=3;t=7\r\n");
}

TEST(RateLimitFields, ShowTheTightestOfAChain) {
  LimitReport report;
  add(report, "key", {{"a", 10'000, 1000}, {"b", 10'000, 2000, 5000}});
  add(report, "project", {{"a", 99'000, 500}, {"b", 99'000, 0}, {"c", 1000, 1000}});
  EXPECT_EQ(fields_of(report),
            "RateLimit-Policy: \"a\";q=99;w=60, \"b\";q=10;w=60, \"c\";q=1;w=60\r\n"
            "RateLimit: \"a\";r=0;t=0, \"b\";r=2;t=5, \"c\";r=1;t=0\r\n");
}

TEST(RetryAfter, IsWholeSecondsRoundedUpAndExactMilliseconds) {
  const auto fields = [](std::optional<Time> wait) {
    Decision decision;
    decision.set_refused(wait, !wait);
    std::string text;
    append_retry_after(text, decision);
    return text;
  };
  EXPECT_EQ(fields(1), "Retry-After: 1\r\nretry-after-ms: 1\r\n");
  EXPECT_EQ(fields(1000), "Retry-After: 1\r\nretry-after-ms: 1000\r\n");
  EXPECT_EQ(fields(1001), "Retry-After: 2\r\nretry-after-ms: 1001\r\n");
  EXPECT_EQ(fields(std::nullopt), "");
}

TEST(RetryAfter, IsNotThereWhereNoWaitIsPromised) {
  for (const bool never_fits : {true, false}) {
    Decision decision;
    add(decision.report(), "e", {{"rpm", 100'000, 0, 60'000}});
    decision.set_refused(std::nullopt, never_fits);
    std::string fields;
    append_retry_after(fields, decision);
    EXPECT_EQ(fields, "");
    const std::string json = api::refused_json(decision);
    const std::string says = never_fits ? "true" : "false";
    EXPECT_NE(json.find("\"retry_after_ms\":null,\"never_fits\":" + says), std::string::npos) << json;
    EXPECT_EQ(json.find("retry in"), std::string::npos) << json;
    EXPECT_EQ(outcome_of(decision),
              never_fits ? telemetry::Outcome::never_fits : telemetry::Outcome::refused);
  }
}

}  // namespace
}  // namespace weir::server
