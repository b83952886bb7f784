// Blocks, exemptions and resets over HTTP.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(AccessCalls);

TEST_P(AccessCalls, BlockAnEntityUntilTheyAreRemoved) {
  set_system(R"("rpm":"100/min")");
  ASSERT_EQ(put("/v1/entities/key-1", R"({"parent":"project"})").status, 200);
  EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 200);
  const Seen set = put("/v1/entities/project/block", R"({"reason":"abuse"})");
  EXPECT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(set.at("/rules/0/access"), "\"blocked\"");
  const Seen refused = acquire("key-1", R"("unheard":1)");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.at("/blocked"), "true");
  EXPECT_EQ(refused.at("/blocked_entity"), "\"project\"");
  EXPECT_EQ(refused.at("/reason"), "\"abuse\"");
  EXPECT_EQ(refused.at("/until_ms"), "none");
  EXPECT_EQ(refused.at("/detail"), "\"project is blocked: abuse\"");
  EXPECT_EQ(get("/v1/available?entity=key-1&resource=gpt-4").at("/blocked"), "true");
  EXPECT_EQ(get("/v1/authorize?entity=key-1&resource=gpt-4&consume=rpm:1").status, 403);
  EXPECT_EQ(get("/v1/entities/project/block").at("/rules/0/reason"), "\"abuse\"");
  EXPECT_EQ(get("/v1/entities/project").at("/access/0/access"), "\"blocked\"");
  EXPECT_EQ(remove("/v1/entities/project/block?resource=gpt-4").status, 404) << "another rule";
  EXPECT_EQ(remove("/v1/entities/project/block").status, 204);
  EXPECT_EQ(problem_of(remove("/v1/entities/project/block")), "404 not-found");
  EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 200);
  EXPECT_EQ(get("/v1/audit?entity=project").at("/events/0/action"), "\"entity.unblock\"");
}

TEST_P(AccessCalls, OfAnEntityThatIsPutAgainStay) {
  ASSERT_EQ(put("/v1/entities/key-1/block", R"({"reason":"abuse","resource":"gpt-4"})").status, 200);
  const std::string body = get("/v1/entities/key-1").body;
  EXPECT_EQ(put("/v1/entities/key-1", body).status, 200) << "what was read can be written again";
  EXPECT_EQ(get("/v1/entities/key-1").at("/access/0/resource"), "\"gpt-4\"");
  EXPECT_EQ(problem_of(remove("/v1/entities/key-1")), "409 conflict");
}

TEST_P(AccessCalls, ExemptAnEntityFromItsLimits) {
  set_system(R"("rpm":"1/day")");
  EXPECT_EQ(put("/v1/entities/key-1/exempt", R"({"reason":"launch"})").status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 200);
  EXPECT_EQ(remove("/v1/entities/key-1/exempt").status, 204);
  EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 429);
}

TEST_P(AccessCalls, FillBuckets) {
  set_system(R"("rpm":"5/day")");
  ASSERT_EQ(acquire("key-1", R"("rpm":5)").status, 200);
  ASSERT_EQ(acquire("key-1", R"("rpm":1)").status, 429);
  const Seen filled = post("/v1/entities/key-1/reset", R"({"resource":"gpt-4"})");
  EXPECT_EQ(filled.status, 200) << filled.body;
  EXPECT_EQ(filled.at("/buckets/0/limits/0/remaining"), "5");
  EXPECT_EQ(filled.at("/buckets/0/limits/0/consumed"), "5");
  EXPECT_EQ(acquire("key-1", R"("rpm":5)").status, 200);
  EXPECT_EQ(post("/v1/entities/key-1/reset", "").status, 200) << "every resource";
  EXPECT_EQ(get("/v1/audit?entity=key-1").at("/events/0/action"), "\"entity.reset\"");
}

TEST_P(AccessCalls, GrantMoreOnceForEachKey) {
  set_system(R"("rpm":"5/day")");
  ASSERT_EQ(acquire("key-1", R"("rpm":5)").status, 200);
  const std::string body = R"({"resource":"gpt-4","amounts":{"rpm":2.5},"expires_in_ms":3600000})";
  EXPECT_EQ(problem_of(post("/v1/entities/key-1/grants", body)), "400 idempotency-key-missing");
  for (int i = 0; i < 2; ++i) {
    const Seen granted = post("/v1/entities/key-1/grants", body, "Idempotency-Key: ticket-1\r\n");
    EXPECT_EQ(granted.status, 200) << granted.body;
    EXPECT_EQ(granted.at("/limits/0/remaining"), "2.5");
    EXPECT_EQ(granted.at("/limits/0/grants/0/amount"), "2.5");
    EXPECT_NE(granted.at("/limits/0/grants/0/end_ms"), "none");
  }
  EXPECT_EQ(acquire("key-1", R"("rpm":2)").status, 200);
  EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 429);
  EXPECT_EQ(get("/v1/audit?entity=key-1").at("/events/0/action"), "\"entity.grant\"");
  EXPECT_EQ(get("/v1/audit?entity=key-1").at("/events/1/action"), "none");
  const auto wrong = [&](std::string_view text) {
    return problem_of(post("/v1/entities/key-1/grants", text, "Idempotency-Key: ticket-2\r\n"));
  };
  EXPECT_EQ(wrong(R"({"resource":"gpt-4","amounts":{"tpm":1}})"), "422 invalid-argument");
  EXPECT_EQ(wrong(R"({"resource":"gpt-4","amounts":{"rpm":0}})"), "422 invalid-argument");
  EXPECT_EQ(wrong(R"({"resource":"gpt-4","amounts":{}})"), "422 invalid-argument");
  EXPECT_EQ(wrong(R"({"amounts":{"rpm":1}})"), "422 invalid-argument");
  EXPECT_EQ(wrong(R"({"resource":"gpt-4","amounts":{"rpm":1},"expires":"1h"})"), "422 invalid-argument");
  EXPECT_EQ(wrong(R"({"resource":"gpt-4","amounts":{"rpm":1},"expires_in_ms":0})"), "422 invalid-argument");
}

TEST_P(AccessCalls, ThatAreWrongSayWhy) {
  EXPECT_EQ(problem_of(put("/v1/entities/key-1/block", "{}")), "400 malformed");
  EXPECT_EQ(problem_of(put("/v1/entities/key-1/block", R"({"reason":""})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/entities/key-1/block", R"({"reason":"x","until_ms":1})")),
            "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/entities/key-1/block", R"({"reason":"x","until":"2h"})")),
            "422 invalid-argument");
  EXPECT_EQ(problem_of(put("/v1/entities/key-1/block?resource=a", R"({"reason":"x"})")), "400 malformed");
  EXPECT_EQ(problem_of(get("/v1/entities/key-1/block")), "404 not-found");
  EXPECT_EQ(problem_of(post("/v1/entities/key-1/reset", R"({"resources":"a"})")), "422 invalid-argument");
}

TEST_P(AccessCalls, AreAmongSeveralChanges) {
  set_system(R"("rpm":"5/day")");
  const Seen changed =
      post("/v1/changes", R"({"changes":[{"change":"entity.block","entity":"a","reason":"x"},)"
                          R"({"change":"entity.exempt","entity":"b","resource":"gpt-4","reason":"y"}]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(acquire("a", R"("rpm":1)").status, 429);
  EXPECT_EQ(acquire("b", R"("rpm":9)").status, 200);
  EXPECT_EQ(post("/v1/changes", R"({"changes":[{"change":"entity.unblock","entity":"a"},)"
                                R"({"change":"entity.unexempt","entity":"b","resource":"gpt-4"}]})")
                .status,
            200);
  EXPECT_EQ(acquire("a", R"("rpm":1)").status, 200);
  EXPECT_EQ(acquire("b", R"("rpm":9)").status, 429);
}

}  // namespace
}  // namespace weir::service
