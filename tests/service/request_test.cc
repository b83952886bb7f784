// What holds of every call: methods, namespaces, request ids, and bodies that nobody should send.
#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Requests);

TEST_P(Requests, ToUnknownPathsFindNothing) {
  for (const char* const path :
       {"/", "/v1", "/v1/", "/v1/acquire/", "/v2/acquire", "/v1/limits/system/x", "/v1/limits/entity/e",
        "/v1/usages", "/metrics/", "/openapi.json/", "/openapi.yaml", "/a/b/c/d/e/f/g/h/i/j"}) {
    const Seen seen = get(path);
    EXPECT_EQ(problem_of(seen), "404 not-found") << path;
    EXPECT_EQ(seen.text("/title"), "Not found");
  }
  EXPECT_EQ(get("/nope").text("/detail"), R"(there is nothing at \"/nope\")");
}

TEST_P(Requests, WithAnotherMethodAreToldWhichToUse) {
  const auto allowed = [&](const char* method, const char* path) {
    const Seen seen = call(method, path);
    EXPECT_EQ(seen.status, 405) << method << " " << path;
    return seen.field("Allow");
  };
  EXPECT_EQ(allowed("GET", "/v1/acquire"), "POST");
  EXPECT_EQ(allowed("PUT", "/v1/leases/x/settle"), "POST");
  EXPECT_EQ(allowed("POST", "/v1/available"), "GET, HEAD");
  EXPECT_EQ(allowed("POST", "/v1/limits/system"), "GET, HEAD, PUT, DELETE");
  EXPECT_EQ(allowed("PATCH", "/v1/entities/e"), "GET, HEAD, PUT, DELETE");
  EXPECT_EQ(allowed("DELETE", "/v1/entities/e/children"), "GET, HEAD");
  EXPECT_EQ(allowed("PUT", "/v1/limits/effective"), "GET, HEAD");
  EXPECT_EQ(allowed("get", "/livez"), "GET, HEAD");
  EXPECT_EQ(problem_of(call("OPTIONS", "/v1/audit")), "405 method-not-allowed");
}

TEST_P(Requests, WithHeadAreAnsweredWithoutABody) {
  set_system(R"("rpm":"3/min")");
  const std::string path = "/v1/available?entity=e&resource=r";
  const Seen seen = call("HEAD", path);
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "");
  EXPECT_EQ(seen.field("Content-Length"), std::to_string(get(path).body.size()));
  EXPECT_EQ(seen.field("RateLimit"), R"("rpm";r=3;t=0)");
  EXPECT_EQ(call("HEAD", "/v1/entities/nobody").status, 404);
}

TEST_P(Requests, AreAnsweredWithTheirIdOrANewOne) {
  EXPECT_EQ(call("GET", "/livez", "", "X-Request-Id: a-1/b\r\n").field("X-Request-Id"), "a-1/b");
  const std::string first = get("/livez").field("X-Request-Id");
  EXPECT_TRUE(first.starts_with("weir-")) << first;
  EXPECT_NE(get("/livez").field("X-Request-Id"), first);
  for (const std::string& unusable : {std::string("a b"), std::string("a\"b"), std::string(129, 'x')}) {
    const Seen seen = call("GET", "/v1/nope", "", "X-Request-Id: " + unusable + "\r\n");
    EXPECT_TRUE(seen.field("X-Request-Id").starts_with("weir-")) << seen.head;
  }
}

TEST_P(Requests, StayInTheirNamespace) {
  set_system(R"("rpm":"3/min")");
  ASSERT_EQ(put("/v1/entities/e", "{}").status, 200);
  headers = "Weir-Namespace: team-2\r\n";
  EXPECT_EQ(problem_of(get("/v1/limits/system")), "404 not-found");
  EXPECT_EQ(problem_of(get("/v1/entities/e")), "404 not-found");
  EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)")), "422 no-limits");
  EXPECT_EQ(get("/v1/audit").body, R"({"events":[]})");
  set_system(R"("rpm":"1/min")");
  EXPECT_EQ(acquire("e", R"("rpm":1)").status, 200);
  EXPECT_EQ(acquire("e", R"("rpm":1)").status, 429);
  headers = "weir-namespace: default\r\n";
  EXPECT_EQ(acquire("e", R"("rpm":3)").status, 200);
  for (const char* const wrong : {"Team", "a_b", "a/b", "", "012345678901234567890123456789012"}) {
    headers = "Weir-Namespace: " + std::string(wrong) + "\r\n";
    EXPECT_EQ(problem_of(get("/v1/audit")), "422 invalid-argument") << wrong;
  }
}

TEST_P(Requests, SayOnceWhoCallsAndWhatItMeans) {
  set_system(R"("rpm":"3/min")");
  for (const char* const name : {"Weir-Namespace", "Authorization", "Idempotency-Key"}) {
    const std::string field = std::string(name) + ": a\r\n";
    headers = field + field;
    EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)")), "400 malformed") << name;
  }
  headers = "";
  EXPECT_EQ(acquire("e", R"("rpm":3)").status, 200) << "nothing was charged";
}

TEST_P(Requests, WithAnUnknownQueryParameterAreMalformed) {
  const std::pair<const char*, const char*> calls[] = {{"POST", "/v1/acquire"},
                                                       {"GET", "/v1/authorize"},
                                                       {"POST", "/v1/leases/x/adjust"},
                                                       {"POST", "/v1/leases/x/settle"},
                                                       {"POST", "/v1/leases/x/rollback"},
                                                       {"GET", "/v1/available"},
                                                       {"GET", "/v1/limits"},
                                                       {"GET", "/v1/limits/effective"},
                                                       {"GET", "/v1/limits/system"},
                                                       {"PUT", "/v1/limits/system"},
                                                       {"DELETE", "/v1/limits/system"},
                                                       {"GET", "/v1/limits/resource/r"},
                                                       {"PUT", "/v1/limits/entity/e/r"},
                                                       {"GET", "/v1/entities"},
                                                       {"PUT", "/v1/entities/e"},
                                                       {"DELETE", "/v1/entities/e"},
                                                       {"GET", "/v1/entities/e/children"},
                                                       {"GET", "/v1/entities/e/buckets"},
                                                       {"GET", "/v1/audit"},
                                                       {"POST", "/v1/changes"},
                                                       {"GET", "/v1/store/check"},
                                                       {"GET", "/livez"},
                                                       {"GET", "/readyz"},
                                                       {"GET", "/openapi.json"},
                                                       {"GET", "/metrics"}};
  for (const auto& [method, path] : calls) {
    for (const char* const query : {"?nothing=1", "?nothing", "?%zz=1"}) {
      const std::string body = std::string(method) == "GET" ? "" : "{}";
      const Seen seen = call(method, std::string(path) + query, body);
      EXPECT_EQ(problem_of(seen), "400 malformed") << method << " " << path << query << " " << seen.body;
    }
  }
  EXPECT_EQ(post("/v1/acquire?dry_run=true", "{}").text("/detail"),
            R"(parameter \"dry_run\" is not known here)");
  EXPECT_EQ(get("/livez?").status, 200) << "an empty query has no parameter";
}

TEST_P(Requests, WithAnEmptyIdempotencyKeyAreMalformed) {
  set_system(R"("rpm":"3/min")");
  for (const char* const field : {"Idempotency-Key:\r\n", "Idempotency-Key: \r\n"}) {
    EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)", field)), "400 malformed");
    EXPECT_EQ(post("/v1/leases/x/adjust", R"({"consume":{"rpm":1}})", field).status, 400);
    EXPECT_EQ(post("/v1/leases/x/settle", "{}", field).status, 400);
  }
  EXPECT_EQ(acquire("e", R"("rpm":3)").status, 200) << "nothing was charged";
}

TEST_P(Requests, ThatAreNotJsonAreMalformed) {
  set_system(R"("rpm":"3/min")");
  for (const std::string& body : std::vector<std::string>{"",
                                                          " ",
                                                          "[]",
                                                          "1",
                                                          "\"x\"",
                                                          "null",
                                                          "{",
                                                          "}",
                                                          "{\"entity\"}",
                                                          "{\"entity\":}",
                                                          "{'entity':1}",
                                                          R"({"entity":"e",})",
                                                          R"({"entity":"e"}{})",
                                                          R"({"entity":"e"} x)",
                                                          R"({"entity":"e"}})",
                                                          R"({"entity":"e","entity":"e"})",
                                                          R"({"entity":1})",
                                                          R"({"consume":[]})",
                                                          R"({"consume":{"rpm":"1"}})",
                                                          R"({"consume":{"rpm":1,"rpm":1}})",
                                                          R"({"consume":{"rpm":null}})",
                                                          R"({"consume":{"rpm":01}})",
                                                          R"({"consume":{"rpm":+1}})",
                                                          R"({"consume":{"rpm":1.}})",
                                                          R"({"consume":{"rpm":.5}})",
                                                          R"({"consume":{"rpm":1x}})",
                                                          R"({"consume":{"rpm":NaN}})",
                                                          R"({"consume":{"rpm":1 2}})",
                                                          R"({"entity":"\x"})",
                                                          R"({"entity":"\ud800"})",
                                                          "{\"entity\":\"\xff\"}",
                                                          "{\"entity\":\"a\nb\"}",
                                                          std::string("{\"entity\":\"a\0b\"}", 16),
                                                          "\xef\xbb\xbf[]"}) {
    const Seen seen = post("/v1/acquire", body);
    EXPECT_EQ(problem_of(seen), "400 malformed") << body << " " << seen.body;
  }
  EXPECT_EQ(get("/v1/entities/e/buckets").body, R"({"buckets":[]})");
  EXPECT_EQ(post("/v1/acquire", R"({"entity":"e","entity":"e"})").text("/detail"),
            R"(\"entity\" stands twice in the body; keep one of them)");
}

TEST_P(Requests, WithAmountsOutOfRangeCannotBeDone) {
  set_system(R"("rpm":"3/min")");
  for (const char* const amount :
       {"1e13", "1E-4", "0.0001", "1.0000", "4503599627370.497", "99999999999999999999", "-1", "-0.001"}) {
    const Seen seen = acquire("e", R"("rpm":)" + std::string(amount));
    EXPECT_EQ(problem_of(seen), "422 invalid-argument") << amount << " " << seen.body;
  }
  EXPECT_EQ(acquire("e", R"( "rpm" : 0.001 )").at("/limits/0/remaining"), "2.999");
  EXPECT_EQ(acquire("f", R"("rpm":1e0)").at("/limits/0/remaining"), "2");
  EXPECT_EQ(acquire("e", R"("rpm":4503599627370.496)").at("/never_fits"), "true");
  const Seen unknown = post("/v1/acquire", R"({"entitty":"e"})");
  EXPECT_EQ(problem_of(unknown), "422 invalid-argument");
  EXPECT_EQ(unknown.text("/detail"), R"(field \"entitty\" is not known here; did you mean \"entity\"?)");
}

TEST_P(Requests, ThatAreDeepOrLargeAreRefused) {
  const std::string deep = R"({"consume":)" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  EXPECT_EQ(problem_of(post("/v1/acquire", deep)), "400 malformed");
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "{\"consume\":";
    return text;
  }();
  EXPECT_EQ(problem_of(post("/v1/acquire", objects)), "400 malformed");
  std::string many = R"({"consume":{)";
  for (int i = 0; i < 300; ++i) many += (i > 0 ? ",\"a" : "\"a") + std::to_string(i) + "\":1";
  EXPECT_EQ(problem_of(post("/v1/acquire", many + "}}")), "400 malformed");
  const Seen large = post("/v1/acquire", std::string(64 * 1024 + 1, ' '));
  EXPECT_EQ(problem_of(large), "413 about:blank");
  EXPECT_TRUE(large.field("X-Request-Id").starts_with("weir-")) << large.head;
  EXPECT_EQ(problem_of(post("/v1/acquire", std::string(64 * 1024, ' '))), "400 malformed");
}

TEST_P(Requests, ThatAreNotHttpAreProblemsToo) {
  const Seen seen = get("/livez HTTP/1.1\r\nContent-Length: x\r\nX:");
  EXPECT_EQ(problem_of(seen), "400 about:blank");
  EXPECT_EQ(get("/livez").status, 200);
}

TEST_P(Requests, OfProbesSayWhetherTheServiceIsReady) {
  const Seen alive = get("/livez");
  EXPECT_EQ(alive.body, "ok\n");
  EXPECT_EQ(alive.field("Content-Type"), "text/plain");
  EXPECT_EQ(get("/readyz").body, "ready\n");
  service->set_ready(false);
  EXPECT_EQ(problem_of(get("/readyz")), "503 not-ready");
  EXPECT_EQ(get("/livez").status, 200);
}

}  // namespace
}  // namespace weir::service
