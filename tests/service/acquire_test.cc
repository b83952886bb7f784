// POST /v1/acquire and GET /v1/available.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Acquire);

TEST_P(Acquire, AdmitsWithALeaseAndWhereEachLimitStands) {
  set_system(R"("rpm":"3/min","tpm":"50000/min:60000")");
  const Seen seen = acquire("key-1", R"("rpm":1,"tpm":500.5)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.field("Content-Type"), "application/json");
  EXPECT_EQ(seen.field("RateLimit-Policy"), R"("rpm";q=3;w=60, "tpm";q=50000;w=60;weir-unit="tokens")");
  EXPECT_EQ(seen.field("RateLimit"), R"("rpm";r=2;t=0, "tpm";r=49499;t=0)");
  EXPECT_EQ(seen.field("Retry-After"), "none");
  EXPECT_EQ(seen.field("retry-after-ms"), "none");
  EXPECT_EQ(seen.at("/allowed"), "true");
  EXPECT_EQ(seen.at("/degraded"), "none");
  EXPECT_GT(seen.text("/lease").size(), 32U);
  EXPECT_EQ(
      seen.at("/limits"),
      R"([{"entity":"key-1","resource":"gpt-4","name":"rpm","capacity":3,"burst":3,"requested":1,)"
      R"("remaining":2,"exceeded":false,"retry_after_ms":0,"source":"system"},)"
      R"({"entity":"key-1","resource":"gpt-4","name":"tpm","capacity":50000,"burst":60000,)"
      R"("requested":500.5,"remaining":49499.5,"exceeded":false,"retry_after_ms":0,"source":"system"}])");
}

TEST_P(Acquire, RefusesWithTheExactWaitAndChangesNoCounter) {
  set_system(R"("rpm":"3/min")");
  ASSERT_EQ(acquire("key-1", R"("rpm":3)").status, 200);
  const std::string before = bucket("key-1");
  const Seen seen = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(bucket("key-1"), before);
  EXPECT_EQ(seen.status, 429);
  EXPECT_EQ(seen.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(seen.field("Retry-After"), "20");
  EXPECT_EQ(seen.field("retry-after-ms"), "20000");
  EXPECT_EQ(seen.field("RateLimit-Policy"), R"("rpm";q=3;w=60)");
  EXPECT_EQ(seen.field("RateLimit"), R"("rpm";r=0;t=20)");
  EXPECT_EQ(seen.body,
            R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
            R"("title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,)"
            R"("detail":"over the limit rpm of key-1; retry in 20000 ms","allowed":false,)"
            R"("retry_after_ms":20000,"never_fits":false,"violated-policies":["rpm"],)"
            R"("limits":[{"entity":"key-1","resource":"gpt-4","name":"rpm","capacity":3,"burst":3,)"
            R"("requested":1,"remaining":0,"exceeded":true,"retry_after_ms":20000,"source":"system"}]})");
  clock->advance(std::chrono::milliseconds(19'999));
  const Seen early = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(early.status, 429);
  EXPECT_EQ(early.field("Retry-After"), "1");
  EXPECT_EQ(early.field("retry-after-ms"), "1");
  clock->advance(std::chrono::milliseconds(1));
  EXPECT_EQ(acquire("key-1", R"("rpm":1)").status, 200);
}

TEST_P(Acquire, SaysThatARequestNeverFits) {
  set_system(R"("rpm":"3/min")");
  const Seen seen = acquire("key-1", R"("rpm":4)");
  EXPECT_EQ(seen.status, 429);
  EXPECT_EQ(seen.field("Retry-After"), "none");
  EXPECT_EQ(seen.field("retry-after-ms"), "none");
  EXPECT_EQ(seen.field("RateLimit"), R"("rpm";r=3;t=60)");
  EXPECT_EQ(seen.at("/retry_after_ms"), "null");
  EXPECT_EQ(seen.at("/never_fits"), "true");
  EXPECT_EQ(seen.at("/limits/0/retry_after_ms"), "null");
  EXPECT_EQ(get("/v1/entities/key-1/buckets").body, R"({"buckets":[]})");
}

TEST_P(Acquire, OfALimitOfZeroDoesNotAskForLess) {
  set_system(R"("rpm":"0")");
  const Seen seen = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(seen.status, 429);
  EXPECT_EQ(seen.at("/never_fits"), "true");
  EXPECT_EQ(seen.at("/detail"), R"("over the limit rpm of key-1; a limit of 0 admits nothing")");
}

TEST_P(Acquire, RefusesWhatCannotBeDone) {
  EXPECT_EQ(problem_of(acquire("key-1", R"("rpm":1)")), "422 no-limits");
  set_system(R"("rpm":"3/min")");
  const Seen unknown = acquire("key-1", R"("rmp":1)");
  EXPECT_EQ(problem_of(unknown), "422 unknown-limit");
  EXPECT_NE(unknown.text("/detail").find("rmp"), std::string::npos) << unknown.body;
  EXPECT_EQ(problem_of(acquire("key 1", R"("rpm":1)")), "422 invalid-argument");
  EXPECT_EQ(problem_of(acquire("key-1", "")), "422 invalid-argument");
  EXPECT_EQ(problem_of(acquire("key-1", R"("rpm":-1)")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post("/v1/acquire", R"({"resource":"gpt-4","consume":{"rpm":1}})")),
            "422 invalid-argument");
  EXPECT_EQ(problem_of(post("/v1/acquire", R"({"entity":"e","resource":"_default_","consume":{"rpm":1}})")),
            "422 invalid-argument");
  EXPECT_EQ(unknown.field("RateLimit"), "none");
}

TEST_P(Acquire, ChecksWhatIsNamedWithZeroAndLeavesOutWhatIsNotNamed) {
  set_system(R"("rpm":"3/min","tpm":"10/min")");
  ASSERT_EQ(acquire("key-1", R"("tpm":10)").status, 200);
  EXPECT_EQ(acquire("key-1", R"("rpm":1,"tpm":0)").status, 200);
  const Seen seen = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.at("/limits/0/remaining"), "1");
  EXPECT_EQ(seen.at("/limits/1/remaining"), "0");
}

TEST_P(Acquire, TakesLimitsThatAreSentWithTheRequest) {
  const std::string body = R"({"entity":"ip","resource":"r","consume":{"rpm":1},"limits":{"rpm":"2/min",)"
                           R"("tpm":{"capacity":10,"burst":20,"refill_amount":5,"refill_period_ms":1000}}})";
  const Seen first = post("/v1/acquire", body);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.text("/limits/0/source"), "request");
  EXPECT_EQ(first.field("RateLimit-Policy"), R"("rpm";q=2;w=60, "tpm";q=10;w=2;weir-unit="tokens")");
  EXPECT_EQ(post("/v1/acquire", body).status, 200);
  EXPECT_EQ(post("/v1/acquire", body).status, 429);
  // Every stored level is above them.
  set_system(R"("rpm":"100/min")");
  EXPECT_EQ(post("/v1/acquire", body).text("/limits/0/source"), "system");
}

TEST_P(Acquire, WithAnIdempotencyKeyIsChargedOnce) {
  set_system(R"("rpm":"3/min")");
  const Seen first = acquire("e", R"("rpm":2)", "Idempotency-Key: k-1\r\n");
  ASSERT_EQ(first.status, 200) << first.body;
  for (int i = 0; i < 3; ++i) {
    const Seen again = acquire("e", R"("rpm":2)", "Idempotency-Key: k-1\r\n");
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.field("RateLimit"), first.field("RateLimit"));
  }
  EXPECT_EQ(acquire("e", R"("rpm":2)", "Idempotency-Key: k-2\r\n").status, 429);
  EXPECT_EQ(acquire("e", R"("rpm":1)").status, 200);
  EXPECT_EQ(acquire("e", R"("rpm":2)", "Idempotency-Key: k-1\r\n").text("/lease"), first.text("/lease"));
  const std::string long_key = "Idempotency-Key: " + std::string(129, 'k') + "\r\n";
  EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)", long_key)), "422 invalid-argument");
}

TEST_P(Acquire, ChargesTheWholeChainOrNothing) {
  set_system(R"("rpm":"10/min")");
  ASSERT_EQ(put("/v1/limits/entity/project/_default_", R"({"limits":{"rpm":"2/min"}})").status, 200);
  ASSERT_EQ(put("/v1/entities/project", "{}").status, 200);
  ASSERT_EQ(put("/v1/entities/key-1", R"({"parent":"project","cascade":true})").status, 200);
  const Seen seen = acquire("key-1", R"("rpm":2)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.text("/limits/0/entity"), "key-1");
  EXPECT_EQ(seen.text("/limits/1/entity"), "project");
  EXPECT_EQ(seen.text("/limits/1/source"), "entity_default");
  EXPECT_EQ(seen.field("RateLimit-Policy"), R"("rpm";q=2;w=60)");
  EXPECT_EQ(seen.field("RateLimit"), R"("rpm";r=0;t=0)");
  const std::string key = bucket("key-1");
  const std::string project = bucket("project");
  const Seen refused = acquire("key-1", R"("rpm":1)");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.text("/detail"), "over the limit rpm of project; retry in 29980 ms");
  EXPECT_EQ(refused.at("/limits/0/remaining"), "8");
  EXPECT_EQ(refused.field("RateLimit"), R"("rpm";r=0;t=30)");
  EXPECT_EQ(bucket("key-1"), key);
  EXPECT_EQ(bucket("project"), project);
}

WEIR_API_TESTS(Available);

TEST_P(Available, SaysWhatAnAcquireWouldAndChargesNothing) {
  set_system(R"("rpm":"3/min","tpm":"500/min")");
  const Seen fresh = get("/v1/available?entity=key-1&resource=gpt-4&consume=rpm:1,tpm:500");
  EXPECT_EQ(fresh.status, 200);
  EXPECT_EQ(fresh.at("/allowed"), "true");
  EXPECT_EQ(fresh.at("/retry_after_ms"), "0");
  EXPECT_EQ(fresh.at("/limits/0/remaining"), "3");
  EXPECT_EQ(fresh.field("RateLimit"), R"("rpm";r=3;t=0, "tpm";r=500;t=0)");
  EXPECT_EQ(get("/v1/entities/key-1/buckets").body, R"({"buckets":[]})");
  ASSERT_EQ(acquire("key-1", R"("rpm":3)").status, 200);
  const std::string before = bucket("key-1");
  const Seen empty = get("/v1/available?entity=key-1&resource=gpt-4&consume=rpm:1");
  EXPECT_EQ(empty.status, 200);
  EXPECT_EQ(empty.at("/allowed"), "false");
  EXPECT_EQ(empty.at("/retry_after_ms"), "20000");
  EXPECT_EQ(get("/v1/available?entity=key-1&resource=gpt-4&consume=rpm:9").at("/retry_after_ms"), "null");
  EXPECT_EQ(get("/v1/available?entity=key-1&resource=gpt-4").at("/allowed"), "true");
  EXPECT_EQ(bucket("key-1"), before);
}

TEST_P(Available, RefusesAQueryThatItCannotRead) {
  set_system(R"("rpm":"3/min")");
  const std::string start = "/v1/available?entity=key-1&resource=gpt-4";
  EXPECT_EQ(problem_of(get(start + "&consume=rpm")), "400 malformed");
  EXPECT_EQ(problem_of(get(start + "&consume=rpm:1e3")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get(start + "&consume=rpm:1,rpm:1")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get(start + "&consume=tpm:1")), "422 unknown-limit");
  EXPECT_EQ(problem_of(get(start + "&entity=key-2")), "400 malformed");
  EXPECT_EQ(problem_of(get(start + "&limit=%zz")), "400 malformed");
  const Seen unknown = get("/v1/available?entty=key-1");
  EXPECT_EQ(problem_of(unknown), "400 malformed");
  EXPECT_EQ(unknown.text("/detail"), R"(parameter \"entty\" is not known here; did you mean \"entity\"?)");
  EXPECT_EQ(problem_of(get("/v1/available?resource=gpt-4")), "422 invalid-argument");
}

TEST_P(Acquire, AProxyIsAnsweredWithAStatusAlone) {
  set_system(R"("rpm":"3/min")");
  const std::string target = "/v1/authorize?entity=key-1&resource=gpt-4&consume=rpm:2";
  const Seen passes = get(target);
  EXPECT_EQ(passes.status, 200);
  EXPECT_EQ(passes.body, "");
  EXPECT_EQ(passes.field("RateLimit"), R"("rpm";r=1;t=0)");
  EXPECT_EQ(passes.field("Content-Type"), "none");
  const Seen refused = get(target);
  EXPECT_EQ(refused.status, 403) << "anything but 401 and 403 is an error to nginx";
  EXPECT_EQ(refused.body, "");
  EXPECT_EQ(refused.field("RateLimit"), R"("rpm";r=1;t=20)");
  EXPECT_EQ(refused.field("Retry-After"), "20");
  EXPECT_EQ(refused.field("retry-after-ms"), "20000");
  EXPECT_EQ(get(target + "&status=429").status, 429);
  EXPECT_EQ(problem_of(get(target + "&status=200")), "400 malformed");
  EXPECT_EQ(get("/v1/authorize?entity=key-1&resource=gpt-4&consume=rpm:1").status, 200)
      << "refusals charged nothing";
}

TEST_P(Acquire, AProxyIsRefusedWith403WhateverTheReason) {
  set_system(R"("rpm":"3/min","off":"0/min")");
  for (const char* const consume : {"rpm:4", "off:1", "rpm:1,off:1"}) {
    const Seen refused = get("/v1/authorize?entity=key-1&resource=gpt-4&consume=" + std::string(consume));
    EXPECT_EQ(refused.status, 403) << consume;
    EXPECT_EQ(refused.body, "") << consume;
    EXPECT_EQ(refused.field("Content-Type"), "none") << consume;
    EXPECT_EQ(refused.field("Retry-After"), "none") << consume;
  }
}

TEST_P(Acquire, AProxyMaySayWhoAsksInHeaders) {
  set_system(R"("rpm":"3/min")");
  const std::string fields = "Weir-Entity: key-1\r\nWeir-Resource: gpt-4\r\nWeir-Consume: rpm:1\r\n";
  EXPECT_EQ(get("/v1/authorize", fields).field("RateLimit"), R"("rpm";r=2;t=0)");
  EXPECT_EQ(get("/v1/authorize?entity=key-2", fields).field("RateLimit"), R"("rpm";r=2;t=0)")
      << "the proxy's own address counts more than what it may have from its client";
  EXPECT_EQ(problem_of(get("/v1/authorize", "Weir-Entity: a\r\nWeir-Entity: b\r\n")), "400 malformed");
  EXPECT_EQ(problem_of(get("/v1/authorize")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get("/v1/authorize?entity=key-1&resource=gpt-4&consume=tpm:1")), "422 unknown-limit");
}

}  // namespace
}  // namespace weir::service
