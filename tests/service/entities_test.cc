// /v1/entities, their children and buckets; /v1/audit.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Entities);

TEST_P(Entities, ArePutReadAndDeleted) {
  EXPECT_EQ(problem_of(get("/v1/entities/key-1")), "404 not-found");
  EXPECT_EQ(put("/v1/entities/org", "").status, 200);
  const std::string all = R"({"entity":"key-1","parent":"org","cascade":true,"name":"Zoë \"Z\"",)"
                          R"("metadata":{"cost-center":"42"},"created_at_ms":1700000000000})";
  const Seen seen =
      put("/v1/entities/key-1",
          R"({"parent":"org","cascade":true,"name":"Zo\u00eb \"Z\"","metadata":{"cost-center":"42"}})");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, all);
  EXPECT_EQ(get("/v1/entities/key-1").body, all);
  // An entity can be written again as it was read.
  EXPECT_EQ(put("/v1/entities/key-1", all).body, all);
  EXPECT_EQ(problem_of(put("/v1/entities/key-2", all)), "422 invalid-argument");
  EXPECT_EQ(put("/v1/entities/key-1", R"({"parent":null})").at("/parent"), "none");
  const Seen removed = remove("/v1/entities/key-1");
  EXPECT_EQ(removed.status, 204);
  EXPECT_EQ(removed.body, "");
  EXPECT_EQ(problem_of(remove("/v1/entities/key-1")), "404 not-found");
}

TEST_P(Entities, MayHaveSlashesInTheirNames) {
  EXPECT_EQ(put("/v1/entities/org%2Fteam%2fkey%40x", "{}").at("/entity"), "\"org/team/key@x\"");
  EXPECT_EQ(get("/v1/entities/org%2Fteam%2Fkey@x").status, 200);
  EXPECT_EQ(problem_of(get("/v1/entities/org/team/key@x")), "404 not-found");
  EXPECT_EQ(problem_of(get("/v1/entities/a%zz")), "400 malformed");
  EXPECT_EQ(problem_of(get("/v1/entities/a%2")), "400 malformed");
  for (const char* const name : {"a%00b", "a%FFb", "a%20b", "%C3%AB"})
    EXPECT_EQ(problem_of(put(std::string("/v1/entities/") + name, "{}")), "422 invalid-argument") << name;
  EXPECT_EQ(problem_of(put("/v1/entities/" + std::string(257, 'a'), "{}")), "422 invalid-argument");
}

TEST_P(Entities, NeverFormACycleOrANinthLevel) {
  for (int i = 2; i <= 8; ++i) {
    const Seen seen = put("/v1/entities/e" + std::to_string(i),
                          R"({"cascade":true,"parent":"e)" + std::to_string(i - 1) + "\"}");
    ASSERT_EQ(seen.status, 200) << seen.body;
  }
  EXPECT_EQ(problem_of(put("/v1/entities/e9", R"({"cascade":true,"parent":"e8"})")), "409 conflict");
  EXPECT_EQ(problem_of(put("/v1/entities/e2", R"({"cascade":true,"parent":"e5"})")), "409 conflict");
  EXPECT_EQ(problem_of(put("/v1/entities/e2", R"({"cascade":true,"parent":"e2"})")), "409 conflict");
  EXPECT_EQ(problem_of(put("/v1/entities/e2", R"({"cascade":true})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/entities/e2", R"({"cascade":"yes"})")), "400 malformed");
}

TEST_P(Entities, KeepTheirParentWhileTheyHaveABucket) {
  set_system(R"("rpm":"10/min")");
  ASSERT_EQ(acquire("key-1", R"("rpm":1)").status, 200);
  EXPECT_EQ(problem_of(put("/v1/entities/key-1", R"({"parent":"org","cascade":true})")), "409 conflict");
  EXPECT_EQ(put("/v1/entities/key-1", R"({"name":"only a name"})").status, 200);
}

TEST_P(Entities, WithChildrenAreNotDeleted) {
  for (const char* const child : {"a", "b+b", "c%2Fd"})
    ASSERT_EQ(put(std::string("/v1/entities/") + child, R"({"parent":"org"})").status, 200);
  EXPECT_EQ(get("/v1/entities/org/children").body, R"({"children":["a","b+b","c/d"]})");
  const Seen page = get("/v1/entities/org/children?limit=2");
  EXPECT_EQ(page.at("/children"), R"(["a","b+b"])");
  EXPECT_EQ(get("/v1/entities/org/children?limit=2&cursor=" + page.text("/next")).body,
            R"({"children":["c/d"]})");
  ASSERT_EQ(put("/v1/entities/org", "{}").status, 200);
  EXPECT_EQ(problem_of(remove("/v1/entities/org")), "409 conflict");
  for (const char* const child : {"a", "b+b", "c%2Fd"})
    EXPECT_EQ(remove(std::string("/v1/entities/") + child).status, 204);
  EXPECT_EQ(remove("/v1/entities/org").status, 204);
  EXPECT_EQ(get("/v1/entities/org/children").body, R"({"children":[]})");
}

TEST_P(Entities, AreListedPageByPage) {
  for (const char* const id : {"a", "b"}) ASSERT_EQ(put(std::string("/v1/entities/") + id, "{}").status, 200);
  const Seen page = get("/v1/entities?limit=1");
  EXPECT_EQ(page.at("/items/0/entity"), "\"a\"");
  EXPECT_EQ(page.at("/items/1"), "none");
  const Seen rest = get("/v1/entities?limit=1&cursor=" + page.text("/next"));
  EXPECT_EQ(rest.at("/items/0/entity"), "\"b\"");
  EXPECT_EQ(rest.at("/next"), "none");
}

TEST_P(Entities, ShowTheirBuckets) {
  set_system(R"("rpm":"60/min")");
  for (const char* const resource : {"a", "b", "c/d"}) {
    ASSERT_EQ(post("/v1/acquire", R"({"entity":"key-1","resource":")" + std::string(resource) +
                                      R"(","consume":{"rpm":40.5}})")
                  .status,
              200);
  }
  clock->advance(std::chrono::seconds(5));
  const Seen page = get("/v1/entities/key-1/buckets?limit=2");
  EXPECT_EQ(page.at("/buckets/0/resource"), "\"a\"");
  EXPECT_EQ(page.at("/buckets/0/refilled_at_ms"), "1700000000000");
  EXPECT_EQ(page.at("/buckets/0/limits"),
            R"([{"name":"rpm","remaining":24.5,"tokens":19.5,"consumed":40.5,"capacity":60,"burst":60,)"
            R"("refill_amount":60,"refill_period_ms":60000,"full_at_ms":1700000040500,"in_force":true}])");
  EXPECT_EQ(page.at("/buckets/2"), "none");
  const Seen rest = get("/v1/entities/key-1/buckets?limit=2&cursor=" + page.text("/next"));
  EXPECT_EQ(rest.at("/buckets/0/resource"), "\"c/d\"");
  EXPECT_EQ(rest.at("/next"), "none");
  EXPECT_EQ(problem_of(get("/v1/entities/key-1/buckets?resource=a")), "400 malformed");
}

TEST_P(Entities, ShowWhatIsLeftForAllOfThem) {
  set_system(R"("rpm":"60/min","tpm":"1000/min")");
  const auto acquire = [&](const std::string& entity, const std::string& consume) {
    ASSERT_EQ(post("/v1/acquire",
                   R"({"entity":")" + entity + R"(","resource":"gpt-4","consume":{)" + consume + "}}")
                  .status,
              200);
  };
  acquire("half", R"("rpm":30)");
  acquire("empty", R"("tpm":1000)");
  acquire("full", R"("rpm":1)");
  clock->advance(std::chrono::seconds(1));
  EXPECT_EQ(get("/v1/buckets?resource=gpt-4").at("/buckets/0/entity"), "\"empty\"");
  const Seen page = get("/v1/buckets?resource=gpt-4&sort=remaining&limit=2");
  EXPECT_EQ(page.at("/buckets/0/entity"), "\"empty\"");
  EXPECT_EQ(page.at("/buckets/1/entity"), "\"half\"");
  EXPECT_EQ(page.at("/buckets/1/limits/0/remaining"), "31");
  EXPECT_EQ(page.at("/buckets/2"), "none");
  const Seen rest = get("/v1/buckets?resource=gpt-4&sort=remaining&limit=2&cursor=" + page.text("/next"));
  EXPECT_EQ(rest.at("/buckets/0/entity"), "\"full\"");
  EXPECT_EQ(rest.at("/next"), "none");
  EXPECT_EQ(get("/v1/buckets?resource=gpt-4&below=2.5").at("/buckets/0/entity"), "\"empty\"");
  EXPECT_EQ(get("/v1/buckets?sort=consumed&by=rpm&limit=1").at("/buckets/0/entity"), "\"half\"");
  EXPECT_EQ(get("/v1/buckets?resource=nothing").body, R"({"buckets":[]})");
  for (const char* const wrong : {"sort=entity", "below=0", "below=x", "resource=", "cursor=x", "entity=a"})
    EXPECT_EQ(problem_of(get(std::string("/v1/buckets?") + wrong)), "400 malformed") << wrong;
  for (const char* const wrong : {"resource=a%20b", "by=9", "limit=0", "sort=remaining&cursor=00"})
    EXPECT_EQ(problem_of(get(std::string("/v1/buckets?") + wrong)), "422 invalid-argument") << wrong;
}

TEST_P(Entities, AreInNamespacesThatAreListed) {
  EXPECT_EQ(get("/v1/namespaces").body, R"({"namespaces":[]})");
  ASSERT_EQ(put("/v1/entities/key-1", "{}").status, 200);
  headers = "Weir-Namespace: team-2\r\n";
  ASSERT_EQ(put("/v1/entities/key-1", "{}").status, 200);
  EXPECT_EQ(get("/v1/namespaces").body, R"({"namespaces":[{"name":"default"},{"name":"team-2"}]})");
  EXPECT_EQ(problem_of(get("/v1/namespaces?limit=1")), "400 malformed");
}

TEST_P(Entities, AreInNamespacesThatArePurgedRestoredAndDeleted) {
  headers = "Weir-Namespace: team-2\r\n";
  ASSERT_EQ(put("/v1/limits/system", R"({"limits":{"rpm":"10/min"}})").status, 200);
  const std::string acquire = R"({"entity":"key-1","resource":"gpt-4","consume":{"rpm":1}})";
  ASSERT_EQ(post("/v1/acquire", acquire).status, 200);
  const Seen purged = remove("/v1/namespaces/team-2?keep_ms=3600000");
  ASSERT_EQ(purged.status, 200) << purged.body;
  EXPECT_EQ(purged.at("/kept_until_ms"), std::to_string(clock->now() + 3'600'000));
  EXPECT_EQ(purged.at("/erased"), "none");
  const Seen refused = post("/v1/acquire", acquire);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.at("/blocked"), "true");
  EXPECT_EQ(post("/v1/namespaces/team-2/restore", "").status, 200);
  EXPECT_EQ(post("/v1/acquire", acquire).status, 200);
  EXPECT_EQ(problem_of(post("/v1/namespaces/team-2/restore", "")), "404 not-found");
  EXPECT_EQ(remove("/v1/namespaces/team-2?keep_ms=0").at("/erased"), "true");
  EXPECT_EQ(problem_of(remove("/v1/namespaces/team-2")), "404 not-found");
  EXPECT_EQ(put("/v1/namespaces/team-3", "").at("/created_at_ms"), std::to_string(clock->now()));
  for (const char* const wrong : {"keep_ms=x", "keep_ms=-1", "keep=1"})
    EXPECT_EQ(problem_of(remove(std::string("/v1/namespaces/team-3?") + wrong)), "400 malformed") << wrong;
  EXPECT_EQ(problem_of(put("/v1/namespaces/team-3?keep_ms=1", "")), "400 malformed");
  EXPECT_EQ(problem_of(remove("/v1/namespaces/team-3?keep_ms=99999999999")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/namespaces/Team", "")), "422 invalid-argument");
  EXPECT_EQ(get("/v1/namespaces/team-3").status, 405);
}

WEIR_API_TESTS(Audit);

TEST_P(Audit, IsNarrowedByTimePrincipalAndKind) {
  set_system(R"("rpm":"1")");
  clock->advance(std::chrono::hours(1));
  ASSERT_EQ(put("/v1/entities/key-1", "{}").status, 200);
  EXPECT_EQ(get("/v1/audit?kind=limits").at("/events/0/subject"), "\"$SYSTEM\"");
  EXPECT_EQ(get("/v1/audit?kind=limits").at("/events/1"), "none");
  EXPECT_EQ(get("/v1/audit?from=2023-11-14T23:00:00Z").at("/events/0/subject"), "\"key-1\"");
  EXPECT_EQ(get("/v1/audit?from=2023-11-14T23:00:00Z").at("/events/1"), "none");
  EXPECT_EQ(get("/v1/audit?to=2023-11-14T23:00:00Z").at("/events/0/subject"), "\"$SYSTEM\"");
  EXPECT_EQ(get("/v1/audit?principal=anonymous").at("/events/1/subject"), "\"$SYSTEM\"");
  EXPECT_EQ(get("/v1/audit?principal=nobody").body, R"({"events":[]})");
  EXPECT_EQ(problem_of(get("/v1/audit?from=yesterday")), "400 malformed");
  EXPECT_EQ(problem_of(get("/v1/audit?from=2023-11-15&to=2023-11-14")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get("/v1/audit?kind=A")), "422 invalid-argument");
}

TEST_P(Audit, TellsWhoChangedWhatNewestFirst) {
  set_system(R"("rpm":"1")");
  clock->advance(std::chrono::milliseconds(1));
  ASSERT_EQ(put("/v1/entities/key-1", "{}").status, 200);
  ASSERT_EQ(remove("/v1/entities/key-1").status, 204);
  const Seen seen = get("/v1/audit?entity=key-1");
  EXPECT_EQ(seen.at("/events/0/action"), "\"entity.delete\"");
  EXPECT_EQ(seen.at("/events/0/after"), "null");
  EXPECT_EQ(seen.at("/events/1/action"), "\"entity.put\"");
  EXPECT_EQ(seen.at("/events/1/at_ms"), "1700000000001");
  EXPECT_EQ(seen.at("/events/1/principal"), "\"anonymous\"");
  EXPECT_EQ(seen.at("/events/1/before"), "null");
  EXPECT_EQ(seen.at("/events/2"), "none");
  const Seen page = get("/v1/audit?limit=2");
  EXPECT_EQ(page.at("/events/2"), "none");
  const Seen rest = get("/v1/audit?limit=2&cursor=" + page.text("/next"));
  EXPECT_EQ(rest.at("/events/0/subject"), "\"$SYSTEM\"");
  EXPECT_EQ(rest.at("/events/0/action"), "\"limits.set\"");
  EXPECT_EQ(rest.at("/events/0/after/limits/rpm/capacity"), "1");
  EXPECT_EQ(rest.at("/next"), "none");
}

}  // namespace
}  // namespace weir::service
