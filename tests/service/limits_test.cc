// /v1/limits: every level, listings, and what is in force.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Limits);

constexpr const char* rpm_long =
    R"({"limits":{"rpm":{"capacity":7,"burst":9,"refill_amount":7,"refill_period_ms":60000}},"owner":"operator"})";

TEST_P(Limits, AreKeptAtEveryLevel) {
  for (const char* const path :
       {"/v1/limits/system", "/v1/limits/resource/gpt-4", "/v1/limits/entity/key-1/gpt-4",
        "/v1/limits/entity/key-1/_default_", "/v1/limits/resource/openai%2Fgpt-4",
        "/v1/limits/entity/org%2Fteam%2Fkey/openai%2Fgpt-4"}) {
    EXPECT_EQ(problem_of(get(path)), "404 not-found") << path;
    EXPECT_EQ(problem_of(remove(path)), "404 not-found") << path;
    const Seen set = put(path, R"({"limits":{"rpm":"7/min:9"}})");
    EXPECT_EQ(set.status, 200) << path;
    EXPECT_EQ(set.field("Content-Type"), "application/json");
    EXPECT_EQ(set.body, rpm_long);
    EXPECT_EQ(get(path).status, 200);
    EXPECT_EQ(get(path).body, rpm_long);
    const Seen removed = remove(path);
    EXPECT_EQ(removed.status, 204);
    EXPECT_EQ(removed.body, "");
    EXPECT_EQ(removed.field("Content-Type"), "none");
    EXPECT_EQ(problem_of(get(path)), "404 not-found") << path;
  }
}

TEST_P(Limits, AreTakenInTheLongFormToo) {
  EXPECT_EQ(put("/v1/limits/system", R"({"limits":{"a":{"capacity":1.5}}})").at("/limits/a"),
            R"({"capacity":1.5,"burst":1.5,"refill_amount":1.5,"refill_period_ms":60000})");
  EXPECT_EQ(put("/v1/limits/system", rpm_long).body, rpm_long);
  for (const char* const limit :
       {R"({})", R"({"capcity":1})", R"({"capacity":-1})", R"({"capacity":1,"burst":0})", R"("1/fortnight")",
        R"(5)", R"(null)", R"({"capacity":1e-4})", R"({"capacity\":1,\"burst":5})"}) {
    const Seen seen = put("/v1/limits/system", std::string(R"({"limits":{"rpm":)") + limit + "}}");
    EXPECT_EQ(problem_of(seen), "422 invalid-argument") << limit << seen.body;
  }
  EXPECT_EQ(problem_of(put("/v1/limits/system", R"({"limits":{"rpm":{"capacity":"1"}}})")), "400 malformed");
  EXPECT_EQ(problem_of(put("/v1/limits/system", R"({"limits":{"1pm":"1/min"}})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/limits/system", R"({"limits":{}})")), "422 invalid-argument");
  EXPECT_EQ(get("/v1/limits/system").body, rpm_long);
}

TEST_P(Limits, InWordsAreToldTheirSpelling) {
  const Seen seen = put("/v1/limits/system", R"({"limits":{"rpm":"10 per minute"}})");
  EXPECT_EQ(problem_of(seen), "422 invalid-argument");
  EXPECT_NE(seen.at("/detail").find("; write 10/min"), std::string::npos) << seen.body;
}

TEST_P(Limits, OfTheSystemSayWhatElseHolds) {
  const Seen seen =
      put("/v1/limits/system",
          R"({"limits":{"rpm":"1"},"on_unavailable":"allow","bucket_ttl_refill_multiplier":3})");
  EXPECT_EQ(seen.at("/on_unavailable"), "\"allow\"");
  EXPECT_EQ(seen.at("/bucket_ttl_refill_multiplier"), "3");
  for (const char* const wrong : {R"("on_unavailable":"maybe")", R"("bucket_ttl_refill_multiplier":0)",
                                  R"("bucket_ttl_refill_multiplier":1000001)", R"("owner":"sync","ttl_ms":5)",
                                  R"("owner":"me")", R"("nonsense":1)"}) {
    EXPECT_EQ(problem_of(put("/v1/limits/system", std::string(R"({"limits":{"rpm":"1"},)") + wrong + "}")),
              "422 invalid-argument")
        << wrong;
  }
  EXPECT_EQ(problem_of(put("/v1/limits/system", R"({"limits":{"rpm":"1"},"on_unavailable":true})")),
            "400 malformed");
  EXPECT_EQ(problem_of(put("/v1/limits/resource/r", R"({"limits":{"rpm":"1"},"on_unavailable":"allow"})")),
            "422 invalid-argument");
}

TEST_P(Limits, OfAResourceSayWhetherUsageIsCounted) {
  for (const std::string path : {"/v1/limits/resource/r", "/v1/limits/system"}) {
    EXPECT_EQ(put(path, R"({"limits":{"rpm":"1"},"usage":"off"})").at("/usage"), "\"off\"");
    EXPECT_EQ(put(path, R"({"limits":{"rpm":"2"}})").at("/usage"), "\"off\"") << "as it is stored";
    EXPECT_EQ(put(path, R"({"limits":{"rpm":"2"},"usage":"on"})").at("/usage"), "\"on\"");
    EXPECT_EQ(get(path).at("/usage"), "\"on\"");
    EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"1"},"usage":"no"})")), "422 invalid-argument");
    EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"1"},"usage":false})")), "400 malformed");
  }
  EXPECT_EQ(problem_of(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"1"},"usage":"off"})")),
            "422 invalid-argument");
}

TEST_P(Limits, OfSyncGiveWayToAnOperator) {
  const std::string path = "/v1/limits/entity/key-1/_default_";
  const std::string sync = R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":30000})";
  const Seen written = put(path, sync);
  EXPECT_EQ(written.status, 200);
  EXPECT_EQ(written.at("/owner"), "\"sync\"");
  EXPECT_EQ(written.at("/expires_at_ms"), "1700000030000");
  EXPECT_EQ(put(path, sync).status, 200);
  const Seen taken = put(path, R"({"limits":{"rpm":"6"}})");
  EXPECT_EQ(taken.at("/owner"), "\"operator\"");
  EXPECT_EQ(taken.at("/expires_at_ms"), "none");
  EXPECT_EQ(taken.at("/taken_from_sync"), "true");
  EXPECT_EQ(problem_of(put(path, sync)), "409 operator-owned");
  EXPECT_EQ(get(path).at("/limits/rpm/capacity"), "6");
  EXPECT_EQ(remove(path).status, 204);
  EXPECT_EQ(put(path, sync).status, 200);
  clock->advance(std::chrono::milliseconds(30'000));
  EXPECT_EQ(problem_of(get(path)), "404 not-found");
}

TEST_P(Limits, OfSyncNeedAnExpiry) {
  const std::string path = "/v1/limits/entity/key-1/gpt-4";
  EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"5"},"owner":"sync"})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"5"},"ttl_ms":30000})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":0})")),
            "422 invalid-argument");
  EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":1.5})")), "400 malformed");
  EXPECT_EQ(problem_of(put(path, R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":99999999999999999999})")),
            "400 malformed");
}

TEST_P(Limits, AreListedByLevelAndOwnerPageByPage) {
  set_system(R"("rpm":"7/min:9")");
  for (const char* const path : {"/v1/limits/resource/r", "/v1/limits/entity/e/_default_"})
    ASSERT_EQ(put(path, R"({"limits":{"rpm":"7/min:9"}})").status, 200);
  ASSERT_EQ(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":9})").status, 200);
  EXPECT_EQ(get("/v1/limits?level=resource").body,
            R"({"items":[{"level":"resource","resource":"r","limits":{"rpm":{"capacity":7,"burst":9,)"
            R"("refill_amount":7,"refill_period_ms":60000}},"owner":"operator"}]})");
  EXPECT_EQ(get("/v1/limits?owner=sync").at("/items/0/level"), "\"entity\"");
  EXPECT_EQ(get("/v1/limits?owner=sync").at("/items/1"), "none");
  EXPECT_EQ(get("/v1/limits?level=entity_default").at("/items/0/entity"), "\"e\"");
  EXPECT_EQ(get("/v1/limits?level=system&owner=sync").body, R"({"items":[]})");
  std::string cursor;
  int items = 0;
  do {
    const Seen page = get("/v1/limits?limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    EXPECT_NE(page.at("/items/0"), "none");
    cursor = page.at("/next") == "none" ? "" : page.text("/next");
    ++items;
  } while (!cursor.empty() && items < 9);
  EXPECT_EQ(items, 4);
  for (const char* const query : {"level=request", "level=", "owner=me", "limit=x", "limit=-1",
                                  "limit=99999999999999999999", "cursor=x", "page=2"})
    EXPECT_EQ(problem_of(get(std::string("/v1/limits?") + query)), "400 malformed") << query;
  EXPECT_EQ(problem_of(get("/v1/limits?limit=0")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get("/v1/limits?limit=1001")), "422 invalid-argument");
}

TEST_P(Limits, CanInherit) {
  set_system(R"("rpm":"7","tpm":"70")");
  EXPECT_EQ(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"5"},"inherit":true})").at("/inherit"), "true");
  EXPECT_EQ(get("/v1/limits/entity/e/r").at("/inherit"), "true");
  const auto effective = get("/v1/limits/effective?entity=e&resource=r");
  EXPECT_EQ(effective.at("/sources/rpm"), "\"entity\"");
  EXPECT_EQ(effective.at("/sources/tpm"), "\"system\"");
  ASSERT_EQ(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"5"}})").status, 200);
  EXPECT_EQ(get("/v1/limits/entity/e/r").body.find("inherit"), std::string::npos);
  EXPECT_EQ(problem_of(put("/v1/limits/system", R"({"limits":{"rpm":"5"},"inherit":true})")),
            "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"5"},"inherit":1})")),
            "400 malformed");
  EXPECT_EQ(get("/v1/limits/system").at("/limits/rpm/capacity"), "7");
}

TEST_P(Limits, HaveModes) {
  const auto stored = put("/v1/limits/entity/e/r",
                          R"({"limits":{"a":"5/min:shadow","b":{"capacity":1,"mode":"off"},"c":"9"}})");
  EXPECT_EQ(stored.at("/limits/a/mode"), "\"shadow\"");
  EXPECT_EQ(stored.at("/limits/b/mode"), "\"off\"");
  EXPECT_EQ(stored.body.find("enforce"), std::string::npos);
  const auto passed = post("/v1/acquire", R"({"entity":"e","resource":"r","consume":{"a":6,"b":2,"c":1}})");
  EXPECT_EQ(passed.status, 200);
  EXPECT_EQ(passed.field("Weir-Would-Refuse"), "a");
  EXPECT_EQ(passed.field("RateLimit-Policy"), "\"c\";q=9;w=60");
  EXPECT_EQ(passed.at("/limits/0/would_refuse"), "true");
  EXPECT_EQ(passed.at("/limits/0/mode"), "\"shadow\"");
  EXPECT_EQ(passed.at("/limits/0/requested"), "6");
  EXPECT_EQ(passed.at("/limits/0/remaining"), "5");
  EXPECT_EQ(passed.at("/limits/1/mode"), "\"off\"");
  EXPECT_EQ(put("/v1/limits/resource/r", R"({"limits":{"a":"5","b":"1:off"},"mode":"shadow"})")
                .at("/limits/a/mode"),
            "\"shadow\"");
  EXPECT_EQ(get("/v1/limits/resource/r").at("/limits/b/mode"), "\"off\"");
  for (const char* body : {R"({"limits":{"a":"5"},"mode":"watch"})", R"({"limits":{"a":"5:watch"}})",
                           R"({"limits":{"a":{"capacity":5,"mode":"watch"}}})"}) {
    EXPECT_EQ(problem_of(put("/v1/limits/resource/r", body)), "422 invalid-argument") << body;
  }
}

TEST_P(Limits, InForceSayWhereTheyComeFrom) {
  const std::string path = "/v1/limits/effective?entity=e&resource=r";
  EXPECT_EQ(problem_of(get(path)), "422 no-limits");
  set_system(R"("rpm":"7/min:9")");
  EXPECT_EQ(get(path).body,
            R"({"limits":{"rpm":{"capacity":7,"burst":9,"refill_amount":7,"refill_period_ms":60000}},)"
            R"("source":"system","owner":"operator","sources":{"rpm":"system"}})");
  ASSERT_EQ(put("/v1/limits/resource/r", R"({"limits":{"rpm":"5"}})").status, 200);
  EXPECT_EQ(get(path).at("/source"), "\"resource\"");
  ASSERT_EQ(put("/v1/limits/entity/e/_default_", R"({"limits":{"rpm":"5"}})").status, 200);
  EXPECT_EQ(get(path).at("/source"), "\"entity_default\"");
  ASSERT_EQ(put("/v1/limits/entity/e/r", R"({"limits":{"rpm":"5"},"owner":"sync","ttl_ms":9})").status, 200);
  EXPECT_EQ(get(path).at("/source"), "\"entity\"");
  EXPECT_EQ(get(path).at("/owner"), "\"sync\"");
  EXPECT_EQ(problem_of(get("/v1/limits/effective?entity=e")), "422 invalid-argument");
}

}  // namespace
}  // namespace weir::service
