// /v1/plans, their members, and entities that have one.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Plans);

constexpr const char* pro =
    R"({"plan":"pro","limits":{"rpm":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":60000}},)"
    R"("resources":{"gpt-4":{"limits":{"rpm":{"capacity":20,"burst":20,"refill_amount":20,"refill_period_ms":60000}},)"
    R"("inherit":true}}})";

TEST_P(Plans, ArePutReadListedAndDeleted) {
  EXPECT_EQ(problem_of(get("/v1/plans/pro")), "404 not-found");
  const Seen seen =
      put("/v1/plans/pro", R"({"limits":{"rpm":"100/min"},"resources":{"gpt-4":{"limits":{"rpm":"20/min"},)"
                           R"("inherit":true}}})");
  EXPECT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.body, pro);
  EXPECT_EQ(get("/v1/plans/pro").body, pro);
  EXPECT_EQ(put("/v1/plans/pro", pro).body, pro) << "what was read can be written again";
  EXPECT_EQ(problem_of(put("/v1/plans/free", pro)), "422 invalid-argument");
  EXPECT_EQ(get("/v1/plans").body, std::string(R"({"items":[)") + pro + "]}");
  EXPECT_EQ(remove("/v1/plans/pro").status, 204);
  EXPECT_EQ(problem_of(remove("/v1/plans/pro")), "404 not-found");
}

TEST_P(Plans, TakeTheLimitsOfAResourceWithoutAMemberAroundThem) {
  ASSERT_EQ(
      put("/v1/plans/pro", R"({"limits":{"rpm":"100/min"},"resources":{"gpt-4":{"rpm":"20/min"}}})").status,
      200);
  EXPECT_EQ(get("/v1/plans/pro").at("/resources/gpt-4/limits/rpm/capacity"), "20");
  // A limit may have any name.
  ASSERT_EQ(put("/v1/plans/pro", R"({"limits":{},"resources":{"gpt-4":{"limits":{"capacity":7}}}})").status,
            200);
  EXPECT_EQ(get("/v1/plans/pro").at("/resources/gpt-4/limits/limits/capacity"), "7");
  EXPECT_EQ(problem_of(put("/v1/plans/pro", R"({"limits":{},"resources":{"gpt-4":{"limits":{},"x":1}}})")),
            "422 invalid-argument");
}

TEST_P(Plans, HoldForTheirMembers) {
  set_system(R"("rpm":"1/min")");
  ASSERT_EQ(put("/v1/plans/pro", R"({"limits":{"rpm":"100/min"}})").status, 200);
  EXPECT_EQ(put("/v1/entities/key-1", R"({"plan":"pro"})").at("/plan"), "\"pro\"");
  const Seen admitted = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(admitted.at("/limits/0/source"), "\"plan\"");
  EXPECT_EQ(admitted.at("/limits/0/capacity"), "100");
  EXPECT_EQ(get("/v1/limits/effective?entity=key-1&resource=gpt-4").at("/source"), "\"plan\"");
  EXPECT_EQ(get("/v1/plans/pro/members").body, R"({"members":["key-1"]})");
  EXPECT_EQ(problem_of(remove("/v1/plans/pro")), "409 conflict");
  EXPECT_EQ(problem_of(put("/v1/entities/key-1", R"({"plan":"gold"})")), "422 invalid-argument");
  EXPECT_EQ(get("/v1/entities/key-1").at("/plan"), "\"pro\"");
  EXPECT_EQ(put("/v1/entities/key-1", R"({"plan":null})").at("/plan"), "none");
  EXPECT_EQ(acquire("key-1", R"("rpm":0)").at("/limits/0/source"), "\"system\"");
  EXPECT_EQ(remove("/v1/plans/pro").status, 204);
  EXPECT_EQ(get("/v1/audit?entity=%24PLAN:pro").at("/events/0/action"), "\"plan.delete\"");
}

TEST_P(Plans, ThatAreWrongChangeNothing) {
  ASSERT_EQ(put("/v1/plans/pro", R"({"limits":{"rpm":"100/min"}})").status, 200);
  const std::string before = get("/v1/plans/pro").body;
  for (const char* const body :
       {R"({"limits":{}})", R"({})", R"({"limits":{"rpm":"fast"}})", R"({"limits":{"rpm":"1"},"limit":{}})",
        R"({"limits":{"rpm":"1"},"resources":{"_default_":{"rpm":"1"}}})",
        R"({"limits":{"rpm":"1"},"resources":{"a b":{"rpm":"1"}}})",
        R"({"limits":{"rpm":"1"},"resources":{"gpt-4":{}}})", R"({"limits":{"rpm":"1"},"mode":"watch"})"})
    EXPECT_EQ(problem_of(put("/v1/plans/pro", body)), "422 invalid-argument") << body;
  for (const char* const body : {R"({"limits":"1"})", R"({"limits":{"rpm":"1"},"resources":[]})",
                                 R"({"limits":{"rpm":"1"},"resources":{"gpt-4":"1"}})", "", "["})
    EXPECT_EQ(problem_of(put("/v1/plans/pro", body)), "400 malformed") << body;
  EXPECT_EQ(problem_of(put("/v1/plans/_default_", R"({"limits":{"rpm":"1"}})")), "422 invalid-argument");
  EXPECT_EQ(get("/v1/plans/pro").body, before);
}

TEST_P(Plans, ChangeTogetherWithTheirMembers) {
  const Seen changed = post("/v1/changes", R"({"changes":[
    {"change":"plan.put","plan":"pro","limits":{"rpm":"5/min"},"resources":{"r":{"limits":{"rpm":"1"}}},"from_file":true},
    {"change":"entity.put","entity":"key-1","plan":"pro"}]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(get("/v1/plans/pro").at("/from_file"), "true");
  EXPECT_EQ(problem_of(post("/v1/changes", R"({"changes":[{"change":"plan.delete","plan":"pro"}]})")),
            "409 conflict");
  EXPECT_EQ(problem_of(post("/v1/changes", R"({"changes":[{"change":"plan.put"}]})")),
            "422 invalid-argument");
  EXPECT_EQ(
      problem_of(post("/v1/changes", R"({"changes":[{"change":"plan.delete","plan":"pro","entity":"e"}]})")),
      "422 invalid-argument");
  EXPECT_EQ(post("/v1/changes", R"({"changes":[{"change":"entity.delete","entity":"key-1"},
    {"change":"plan.delete","plan":"pro"}]})")
                .status,
            200);
}

}  // namespace
}  // namespace weir::service
