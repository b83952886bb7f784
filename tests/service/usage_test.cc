// GET /v1/usage.
#include "service/api.h"

namespace weir::service {
namespace {

constexpr Time midnight = 1'700'006'400'000;  // 2023-11-15
constexpr Time an_hour = 3'600'000;

class UsageCall : public Api {
 protected:
  UsageCall() {
    clock->set(midnight);
    set_system(R"("rpm":"1000/s","tpm":"1000000/s")");
  }
  void charge(const std::string& entity, const std::string& consume) {
    EXPECT_EQ(acquire(entity, consume).status, 200);
  }
  /// Two keys, two hours of one day and one of the next.
  void spend() {
    charge("key-1", R"("rpm":1,"tpm":500.125)");
    charge("key-2", R"("rpm":1)");
    clock->set(midnight + an_hour + 59 * 60'000);
    charge("key-1", R"("rpm":2)");
    charge("key-1", R"("rpm":0)");
    clock->set(midnight + 24 * an_hour);
    charge("key-2", R"("rpm":7)");
    clock->set(midnight + 36 * an_hour);
  }
  /// The starts and entities of all pages.
  std::string walk(const std::string& target) {
    std::string seen, cursor;
    for (int pages = 0; pages < 20; ++pages) {
      const Seen page = get(target + (cursor.empty() ? "" : "&cursor=" + cursor));
      EXPECT_EQ(page.status, 200) << page.body;
      for (int i = 0; page.at("/usage/" + std::to_string(i)) != "none"; ++i) {
        const std::string at = "/usage/" + std::to_string(i);
        seen += page.text(at + "/entity") + " " + page.text(at + "/start").substr(5, 8) + " " +
                page.at(at + "/events") + "\n";
      }
      cursor = page.text("/next");
      if (cursor == "none") return seen;
    }
    ADD_FAILURE() << "the listing does not end";
    return seen;
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, UsageCall, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(UsageCall, TellsWhatAnEntityUsedInEachHour) {
  spend();
  EXPECT_EQ(
      get("/v1/usage?entity=key-1").body,
      R"({"usage":[{"entity":"key-1","resource":"gpt-4","window":"hour","start":"2023-11-15T00:00:00Z",)"
      R"("limits":{"rpm":1,"tpm":500.125},"events":1},)"
      R"({"entity":"key-1","resource":"gpt-4","window":"hour","start":"2023-11-15T01:00:00Z",)"
      R"("limits":{"rpm":2},"events":1}]})");
  EXPECT_EQ(get("/v1/usage?entity=key-1&window=day").body,
            R"({"usage":[{"entity":"key-1","resource":"gpt-4","window":"day","start":"2023-11-15T00:00:00Z",)"
            R"("limits":{"rpm":3,"tpm":500.125},"events":2}]})");
  EXPECT_EQ(get("/v1/usage?entity=key-3").body, R"({"usage":[]})");
  EXPECT_EQ(get("/v1/usage?entity=key-1&resource=other").body, R"({"usage":[]})");
}

TEST_P(UsageCall, ComesInPages) {
  spend();
  for (const char* const limit : {"1", "2", "3", "1000"}) {
    EXPECT_EQ(walk(std::string("/v1/usage?resource=gpt-4&limit=") + limit),
              "key-1 11-15T00 1\nkey-2 11-15T00 1\nkey-1 11-15T01 1\nkey-2 11-16T00 1\n");
    EXPECT_EQ(walk(std::string("/v1/usage?resource=gpt-4&window=day&limit=") + limit),
              "key-1 11-15T00 2\nkey-2 11-15T00 1\nkey-2 11-16T00 1\n");
    EXPECT_EQ(walk(std::string("/v1/usage?entity=key-2&window=day&limit=") + limit),
              "key-2 11-15T00 1\nkey-2 11-16T00 1\n");
  }
}

TEST_P(UsageCall, HoldsToTheRange) {
  spend();
  EXPECT_EQ(walk("/v1/usage?resource=gpt-4&from=2023-11-15T01:30:00Z&to=2023-11-16"), "key-1 11-15T01 1\n")
      << "the hour that holds the moment is the first";
  EXPECT_EQ(walk("/v1/usage?resource=gpt-4&from=2023-11-15T02:00:00+01:00&to=2023-11-16T00:00:00Z"),
            "key-1 11-15T01 1\n");
  EXPECT_EQ(walk("/v1/usage?resource=gpt-4&from=2023-11-16"), "key-2 11-16T00 1\n");
  EXPECT_EQ(walk("/v1/usage?resource=gpt-4&window=day&from=2023-11-15T12:00:00Z&to=2023-11-15T13:00:00Z"),
            "key-1 11-15T00 2\nkey-2 11-15T00 1\n")
      << "a day is counted whole";
}

TEST_P(UsageCall, TellsWhatTheChildrenOfAParentUsed) {
  ASSERT_EQ(put("/v1/entities/key-1", R"({"parent":"team"})").status, 200);
  ASSERT_EQ(put("/v1/entities/key-2", R"({"parent":"team"})").status, 200);
  ASSERT_EQ(put("/v1/entities/key-0", R"({"parent":"team"})").status, 200);
  spend();
  for (const char* const limit : {"1", "2", "3", "1000"})
    EXPECT_EQ(walk(std::string("/v1/usage?parent=team&limit=") + limit),
              "key-1 11-15T00 1\nkey-1 11-15T01 1\nkey-2 11-15T00 1\nkey-2 11-16T00 1\n");
  EXPECT_EQ(walk("/v1/usage?parent=nobody"), "");
}

TEST_P(UsageCall, TellsWhoUsedTheMost) {
  spend();
  const Seen top = get("/v1/usage?resource=gpt-4&top=1&by=rpm");
  EXPECT_EQ(
      top.body,
      R"({"usage":[],"top":[{"entity":"key-2","resource":"gpt-4","limits":{"rpm":8},"events":2,"series":[)"
      R"({"entity":"key-2","resource":"gpt-4","window":"hour","start":"2023-11-15T00:00:00Z",)"
      R"("limits":{"rpm":1},"events":1},)"
      R"({"entity":"key-2","resource":"gpt-4","window":"hour","start":"2023-11-16T00:00:00Z",)"
      R"("limits":{"rpm":7},"events":1}]}]})");
  EXPECT_EQ(get("/v1/usage?resource=gpt-4&top=9").text("/top/0/entity"), "key-1") << "equals are by name";
  EXPECT_EQ(get("/v1/usage?resource=gpt-4&top=9&by=tpm").at("/top/1"), "none");
  EXPECT_EQ(get("/v1/usage?entity=key-1&top=9").text("/top/0/resource"), "gpt-4");
}

TEST_P(UsageCall, OutlivesItsEntityAndStaysInItsNamespace) {
  spend();
  ASSERT_EQ(put("/v1/entities/key-1", "{}").status, 200);
  ASSERT_EQ(remove("/v1/entities/key-1").status, 204);
  EXPECT_EQ(get("/v1/usage?entity=key-1&window=day").at("/usage/0/events"), "2");
  EXPECT_EQ(get("/v1/usage?entity=key-1", "Weir-Namespace: other\r\n").body, R"({"usage":[]})");
}

TEST_P(UsageCall, ThatIsWrongSaysWhy) {
  for (const char* const query :
       {"?entity=key-1&window=week", "?entity=key-1&from=yesterday", "?entity=key-1&to=2023-11-31",
        "?entity=key-1&limit=x", "?entity=key-1&cursor=xyz", "?entity=key-1&top=x", "?entity=key-1&by=rpm",
        "?entity=key-1&top=1&limit=5", "?entity=key-1&top=1&cursor=00", "?entity=key-1&entity=key-2",
        "?entity=", "?entity=key-1&since=2023-11-15"})
    EXPECT_EQ(problem_of(get(std::string("/v1/usage") + query)), "400 malformed") << query;
  for (const char* const query :
       {"", "?window=day", "?entity=key-1&parent=team", "?entity=a%20b", "?parent=a%20b",
        "?resource=_default_", "?entity=key-1&from=2023-11-16&to=2023-11-16", "?entity=key-1&top=0",
        "?entity=key-1&top=101", "?entity=key-1&top=1&by=9", "?entity=key-1&limit=0",
        "?entity=key-1&limit=1001", "?entity=key-1&window=day&cursor=00", "?parent=team&cursor=00"})
    EXPECT_EQ(problem_of(get(std::string("/v1/usage") + query)), "422 invalid-argument") << query;
  EXPECT_EQ(problem_of(post("/v1/usage", "{}")), "405 method-not-allowed");
}

/// An aggregation in a given state.
class FixedAggregation final : public store::Aggregation {
 public:
  void stop(std::chrono::milliseconds /*patience*/) override {}
  store::AggregationState state() const override { return fixed; }
  store::AggregationState fixed;
};

TEST_P(UsageCall, ReadyzTellsThatUsageIsLateOrNotCountedYet) {
  FixedAggregation aggregation;
  start(open_store(), {.aggregation = &aggregation});
  EXPECT_EQ(get("/readyz").status, 200);
  aggregation.fixed.lag = store::most_lag + 1;
  EXPECT_EQ(problem_of(get("/readyz")), "503 usage-behind");
  EXPECT_NE(get("/readyz").body.find("60 seconds late"), std::string::npos);
  aggregation.fixed = {.waits = true, .trouble = "DynamoDB is unavailable"};
  EXPECT_EQ(problem_of(get("/readyz")), "503 usage-behind");
  EXPECT_NE(get("/readyz").body.find("not counted yet: DynamoDB is unavailable"), std::string::npos);
  stop();
}

}  // namespace
}  // namespace weir::service
