// POST /v1/changes, GET /v1/store/check, and limits in a look at what is available.
#include "service/changes.h"

#include <latch>

#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Changes);

std::string changes(const std::string& list) { return "{\"changes\":[" + list + "]}"; }

TEST_P(Changes, AreMadeTogether) {
  const Seen seen = post(
      "/v1/changes",
      changes(
          R"({"change":"limits.set","level":"system","limits":{"rpm":"5/min"},"on_unavailable":"allow",)"
          R"("bucket_ttl_refill_multiplier":9,"usage":"off","from_file":true},)"
          R"({"change":"limits.set","level":"resource","resource":"gpt-4","limits":{"rpm":{"capacity":7}}},)"
          R"({"change":"limits.set","level":"entity","entity":"a/b","resource":"gpt-4","limits":{"rpm":"3"},)"
          R"("owner":"sync","ttl_ms":60000},)"
          R"({"change":"limits.set","level":"entity_default","entity":"a/b","limits":{"rpm":"4"}},)"
          R"({"change":"entity.put","entity":"a/b","parent":"org","cascade":true,"name":"Zo\u00eb",)"
          R"("metadata":{"x":"y"},"from_file":true})"));
  EXPECT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.body, R"({"changed":5})");
  EXPECT_EQ(get("/v1/limits/system").body,
            R"({"limits":{"rpm":{"capacity":5,"burst":5,"refill_amount":5,"refill_period_ms":60000}},)"
            R"("owner":"operator","bucket_ttl_refill_multiplier":9,"on_unavailable":"allow","usage":"off",)"
            R"("from_file":true})");
  EXPECT_EQ(get("/v1/limits/entity/a%2Fb/gpt-4").at("/expires_at_ms"), "1700000060000");
  EXPECT_EQ(get("/v1/limits/entity/a%2Fb/_default_").at("/limits/rpm/capacity"), "4");
  EXPECT_EQ(get("/v1/entities/a%2Fb").body,
            R"({"entity":"a/b","parent":"org","cascade":true,"name":"Zoë","metadata":{"x":"y"},)"
            R"("created_at_ms":1700000000000,"from_file":true})");
  EXPECT_EQ(post("/v1/changes", changes(R"({"change":"limits.delete","level":"system"},)"
                                        R"({"change":"limits.delete","level":"resource","resource":"gpt-4"},)"
                                        R"({"change":"entity.delete","entity":"a/b"})"))
                .body,
            R"({"changed":3})");
  EXPECT_EQ(get("/v1/limits").body, R"({"items":[]})");
  EXPECT_EQ(get("/v1/entities").body, R"({"items":[]})");
}

TEST_P(Changes, AreMadeAllOrNot) {
  const Seen seen =
      post("/v1/changes", changes(R"({"change":"limits.set","level":"system","limits":{"rpm":"5/min"}},)"
                                  R"({"change":"entity.put","entity":"a","parent":"a"})"));
  EXPECT_EQ(problem_of(seen), "409 conflict");
  EXPECT_EQ(get("/v1/limits").body, R"({"items":[]})");
  EXPECT_EQ(get("/v1/audit").body, R"({"events":[]})");
  EXPECT_EQ(post("/v1/changes", changes("")).body, R"({"changed":0})");
}

TEST_P(Changes, SayWhichOfThemIsWrong) {
  const std::string good = R"({"change":"limits.set","level":"system","limits":{"rpm":"5/min"}},)";
  const auto wrong = [&](const std::string& change) {
    const Seen seen = post("/v1/changes", changes(good + change));
    EXPECT_EQ(get("/v1/limits").body, R"({"items":[]})");
    return problem_of(seen) + ": " + seen.text("/detail");
  };
  EXPECT_EQ(
      wrong(R"({"change":"limits.st"})"),
      "422 invalid-argument: change 2: change must be limits.set, limits.delete, entity.put, "
      "entity.delete, entity.block, entity.unblock, entity.exempt, entity.unexempt, plan.put or plan.delete");
  EXPECT_EQ(wrong(R"({"change":"limits.set","level":"system"})"),
            "422 invalid-argument: change 2: limits.set needs limits");
  EXPECT_EQ(
      wrong(R"({"change":"limits.set","level":"entity","entity":"e","limits":{"rpm":1}})").substr(0, 31),
      "422 invalid-argument: change 2:");
  EXPECT_EQ(wrong(R"({"change":"limits.delete","level":"entity","entity":"e"})"),
            "422 invalid-argument: change 2: level entity is named by its entity and its resource, no less "
            "and no more");
  EXPECT_EQ(wrong(R"({"change":"limits.delete","level":"system","resource":"r"})"),
            "422 invalid-argument: change 2: level system is named by nothing, no less and no more");
  EXPECT_EQ(wrong(R"({"change":"limits.delete","level":"everything"})"),
            "422 invalid-argument: change 2: level must be entity, entity_default, resource or system");
  for (const char* const foreign :
       {R"({"change":"limits.delete","level":"system","limits":{}})",
        R"({"change":"limits.delete","level":"system","from_file":true})",
        R"({"change":"limits.set","level":"system","limits":{"rpm":"1"},"parent":"p"})",
        R"({"change":"entity.put","entity":"e","owner":"sync"})",
        R"({"change":"entity.put","entity":"e","level":"entity"})",
        R"({"change":"entity.delete","entity":"e","name":"n"})"})
    EXPECT_TRUE(wrong(foreign).ends_with("has a field that belongs to another change")) << foreign;
  EXPECT_EQ(wrong(R"({"change":"entity.put"})"),
            "422 invalid-argument: change 2: entity.put needs an entity");
  EXPECT_EQ(wrong(R"({"change":"entity.put","entity":"a b"})").substr(0, 31),
            "422 invalid-argument: change 2:");
  EXPECT_EQ(
      wrong(R"({"change":"entity.put","entity":"e","parnet":"p"})"),
      R"(422 invalid-argument: change 2: field \"parnet\" is not known here; did you mean \"parent\"?)");
  EXPECT_EQ(wrong("7"), R"(400 malformed: change 2: \"change 2\" must be an object)");
  EXPECT_EQ(problem_of(post("/v1/changes", R"({"change":[]})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post("/v1/changes", R"({"changes":{}})")), "400 malformed");
  EXPECT_EQ(problem_of(post("/v1/changes", "")), "400 malformed");
  EXPECT_EQ(problem_of(get("/v1/changes")), "405 method-not-allowed");
}

TEST_P(Changes, MayBeMany) {
  // Beyond what other bodies may have in this test: 64 KiB.
  std::string many;
  for (int i = 0; i < 2000; ++i) {
    many += (i == 0 ? "" : ",") + std::string(R"({"change":"entity.put","entity":"e-)") + std::to_string(i) +
            R"(","parent":"org"})";
  }
  ASSERT_GT(many.size(), std::size_t{64} * 1024);
  EXPECT_EQ(post("/v1/changes", changes(many)).body, R"({"changed":2000})");
  EXPECT_EQ(put("/v1/entities/large", "{\"name\":\"" + std::string(70'000, 'a') + "\"}").status, 413);
}

TEST_P(Changes, AreForAdmins) {
  constexpr const char* lines =
      "alice admin sha256:0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376\n"
      "viewer read,acquire sha256:f6aa3a0aabbb721b4aa7763a987a47688a702b1bcf4850cb4ba5bdab26f9cc4b\n";
  service->set_tokens(std::make_shared<const Tokens>(*Tokens::parse(lines, "tokens")));
  const std::string body = changes(R"({"change":"limits.set","level":"system","limits":{"rpm":"5/min"}})");
  Seen seen = post("/v1/changes", body);
  EXPECT_EQ(problem_of(seen), "401 unauthorized");
  EXPECT_EQ(seen.field("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(seen.field("Content-Type"), "application/problem+json");
  headers = "Authorization: Bearer viewer-secret\r\n";
  EXPECT_EQ(problem_of(post("/v1/changes", body)), "403 forbidden");
  EXPECT_EQ(get("/v1/limits").body, R"({"items":[]})");
  // Nothing of it is kept, be it ever so large.
  EXPECT_EQ(problem_of(post("/v1/changes", std::string(100'000, ' '))), "403 forbidden");
  headers = "Authorization: Bearer alice-secret\r\n";
  EXPECT_EQ(post("/v1/changes", body).status, 200);
  EXPECT_EQ(get("/v1/audit").text("/events/0/principal"), "alice");
}

TEST_P(Changes, StoresAreChecked) {
  EXPECT_EQ(problem_of(get("/v1/store/check")), "404 not-found");
  ServiceOptions options;
  options.check_store = [](const std::string&) {
    return Result(std::vector<store::Finding>{{store::Severity::ok, "file", "sound"},
                                              {store::Severity::failure, "page", "torn \"here\""}});
  };
  start(open_store(), std::move(options));
  EXPECT_EQ(get("/v1/store/check").body,
            R"({"findings":[{"severity":"ok","what":"file","detail":"sound"},)"
            R"({"severity":"failure","what":"page","detail":"torn \"here\""}]})");
}

TEST_P(Changes, AreMadeWhileTheStoreIsChecked) {
  std::latch begun(1), go_on(1);
  ServiceOptions options;
  options.check_store = [&](const std::string&) {
    begun.count_down();
    go_on.wait();
    return Result(std::vector<store::Finding>());
  };
  start(open_store(), std::move(options));
  Connection checks(address());
  checks.send("GET", "/v1/store/check");
  begun.wait();
  EXPECT_EQ(post("/v1/changes", changes(R"({"change":"entity.put","entity":"e"})")).status, 200);
  go_on.count_down();
  EXPECT_EQ(checks.receive().status, 200);
}

TEST_P(Changes, DoNotHoldUpOthersAndAreLimitedInNumber) {
  std::latch begun(1), go_on(1);
  ServiceOptions options;
  options.check_store = [&](const std::string&) {
    if (!begun.try_wait()) begun.count_down();
    go_on.wait();
    return Result(std::vector<store::Finding>());
  };
  start(open_store(), std::move(options));
  std::vector<std::unique_ptr<Connection>> waiting;
  const auto ask = [&] {
    waiting.push_back(std::make_unique<Connection>(address()));
    waiting.back()->send("GET", "/v1/store/check");
  };
  ask();
  begun.wait();
  // Eight more wait; a ninth is told to come again.
  for (int i = 0; i < 9; ++i) ask();
  EXPECT_EQ(get("/v1/limits").status, 200);
  int refused = 0;
  go_on.count_down();
  for (const auto& connection : waiting) {
    const Seen seen = connection->receive();
    if (seen.status == 503) {
      EXPECT_EQ(problem_of(seen), "503 contention");
      EXPECT_EQ(seen.field("Retry-After"), "1");
      ++refused;
    } else {
      EXPECT_EQ(seen.body, R"({"findings":[]})");
    }
  }
  EXPECT_LE(refused, 1);
}

TEST_P(Changes, AvailableTakesLimitsAsAnAcquireDoes) {
  const std::string target = "/v1/available?entity=e&resource=r&consume=rpm:8&limits=";
  const Seen seen = get(target + "%7B%22rpm%22%3A%225%2Fmin%3A7%22%7D");
  EXPECT_EQ(seen.at("/allowed"), "false");
  EXPECT_EQ(seen.at("/limits/0/burst"), "7");
  EXPECT_EQ(seen.text("/limits/0/source"), "request");
  EXPECT_EQ(problem_of(get(target + "5")), "400 malformed");
  EXPECT_EQ(problem_of(get(target + "%7B%22rpm%22%3A%22lots%22%7D")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get(target + "%7B%7D")), "422 invalid-argument");
}

}  // namespace
}  // namespace weir::service
