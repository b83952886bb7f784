// Refusals have an id that explains them; GET /v1/decisions.
#include "service/api.h"

namespace weir::service {
namespace {

class DecisionsCall : public Api {
 protected:
  DecisionsCall() { keep(decision_log::Keeps::refusals); }
  ~DecisionsCall() override { stop(); }

  void keep(decision_log::Keeps keeps) {
    stop();
    log_.reset();
    auto log =
        decision_log::DecisionLog::open({.keeps = keeps, .path = {}, .has_thread = false}, *clock, *entropy_);
    ASSERT_TRUE(log) << log.error().message;
    log_ = *std::move(log);
    start(open_store(), {.decisions = log_.get()});
    set_system(R"("rpm":"2/min","tpm":"1000/min")");
  }

  std::unique_ptr<decision_log::DecisionLog> log_;
};
INSTANTIATE_TEST_SUITE_P(Stores, DecisionsCall, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(DecisionsCall, ARefusalHasAnIdThatExplainsIt) {
  EXPECT_EQ(acquire("key-7", R"("rpm":2)").field("Weir-Decision"), "none") << "it was admitted";
  const Seen refused = acquire("key-7", R"("rpm":1,"tpm":500)", "X-Request-Id: abc-1\r\n");
  ASSERT_EQ(refused.status, 429);
  const std::string id = refused.field("Weir-Decision");
  EXPECT_EQ(refused.text("/decision"), id);
  EXPECT_EQ(id, log_->id() + "-1");
  const Seen seen = get("/v1/decisions/" + id);
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.text("/id"), id);
  EXPECT_EQ(seen.text("/kind"), "acquire");
  EXPECT_EQ(seen.text("/outcome"), "refused");
  EXPECT_EQ(seen.text("/entity"), "key-7");
  EXPECT_EQ(seen.text("/resource"), "gpt-4");
  EXPECT_EQ(seen.text("/request_id"), "abc-1");
  EXPECT_EQ(seen.at("/consume"), R"({"rpm":1,"tpm":500})");
  EXPECT_EQ(seen.at("/retry_after_ms"), refused.at("/retry_after_ms"));
  EXPECT_EQ(seen.at("/refused_by"), R"([{"entity":"key-7","name":"rpm","source":"system"}])");
  EXPECT_EQ(seen.at("/limits/0/remaining"), refused.at("/limits/0/remaining"));
  EXPECT_EQ(seen.at("/limits/1/name"), refused.at("/limits/1/name"));
  EXPECT_EQ(seen.text("/at_ms"), std::to_string(clock->now()));
  const std::string version = seen.text("/limits/0/version");
  EXPECT_GT(std::stoll(version), 0);
}

TEST_P(DecisionsCall, ARefusedAdjustHasOneToo) {
  const std::string lease = acquire("key-7", R"("tpm":900)").text("/lease");
  const Seen refused = post("/v1/leases/" + lease + "/adjust", R"({"consume":{"tpm":200},"enforce":true})",
                            "Idempotency-Key: a\r\nX-Request-Id: abc-2\r\n");
  ASSERT_EQ(refused.status, 429) << refused.body;
  const std::string id = refused.field("Weir-Decision");
  EXPECT_EQ(refused.text("/decision"), id);
  const Seen seen = get("/v1/decisions/" + id);
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.text("/kind"), "adjust");
  EXPECT_EQ(seen.text("/outcome"), "refused");
  EXPECT_EQ(seen.text("/entity"), "key-7");
  EXPECT_EQ(seen.text("/resource"), "gpt-4");
  EXPECT_EQ(seen.text("/request_id"), "abc-2");
  EXPECT_EQ(seen.at("/consume"), R"({"tpm":200})");
  EXPECT_EQ(seen.at("/more/detail"), refused.at("/detail"));
  const Seen not_a_lease =
      post("/v1/leases/none/adjust", R"({"consume":{"tpm":1},"enforce":true})", "Idempotency-Key: b\r\n");
  EXPECT_EQ(not_a_lease.field("Weir-Decision"), "none");
}

TEST_P(DecisionsCall, AuthorizeHasItToo) {
  const std::string target = "/v1/authorize?entity=key-7&resource=gpt-4&consume=rpm:2";
  EXPECT_EQ(get(target).field("Weir-Decision"), "none");
  const Seen refused = get(target);
  ASSERT_EQ(refused.status, 403);
  const Seen seen = get("/v1/decisions/" + refused.field("Weir-Decision"));
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.text("/entity"), "key-7");
}

TEST_P(DecisionsCall, ComeInPagesAndAreFiltered) {
  std::vector<std::string> ids;
  for (const char* const entity : {"key-1", "key-2"}) {
    acquire(entity, R"("rpm":2)");
    for (int i = 0; i < 3; ++i) ids.push_back(acquire(entity, R"("rpm":1)").field("Weir-Decision"));
    clock->advance(std::chrono::seconds(1));
  }
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const Seen page = get("/v1/decisions?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    for (int i = 0; page.at("/decisions/" + std::to_string(i)) != "none"; ++i)
      seen.insert(seen.begin(), page.text("/decisions/" + std::to_string(i) + "/id"));
    cursor = page.text("/next");
  } while (cursor != "none");
  EXPECT_EQ(seen, ids);
  EXPECT_EQ(get("/v1/decisions?entity=key-2").text("/decisions/2/id"), ids[3]);
  EXPECT_EQ(get("/v1/decisions?entity=key-2").at("/decisions/3"), "none");
  EXPECT_EQ(get("/v1/decisions?chain=key-2&outcome=refused&resource=gpt-4").at("/decisions/3"), "none");
  EXPECT_EQ(get("/v1/decisions?outcome=admitted").body, R"({"decisions":[]})");
  EXPECT_EQ(get("/v1/decisions?to=2023-11-14").body, R"({"decisions":[]})");
  EXPECT_EQ(get("/v1/decisions", "Weir-Namespace: other\r\n").body, R"({"decisions":[]})");
}

TEST_P(DecisionsCall, ThatAreWrongSayWhy) {
  for (const char* const query :
       {"?outcome=maybe", "?from=yesterday", "?entity=", "?limit=x", "?cursor=xyz", "?since=5"})
    EXPECT_EQ(problem_of(get(std::string("/v1/decisions") + query)), "400 malformed") << query;
  for (const char* const query : {"?limit=0", "?limit=1001", "?cursor=00", "?from=2023-11-15&to=2023-11-15"})
    EXPECT_EQ(problem_of(get(std::string("/v1/decisions") + query)), "422 invalid-argument") << query;
  EXPECT_EQ(problem_of(get("/v1/decisions/key-7")), "422 invalid-argument");
  EXPECT_EQ(problem_of(get("/v1/decisions/00000000-1")), "404 not-found");
  EXPECT_EQ(problem_of(get("/v1/decisions/" + log_->id() + "-1")), "404 not-found");
  EXPECT_EQ(problem_of(post("/v1/decisions", "{}")), "405 method-not-allowed");
}

TEST_P(DecisionsCall, WithoutALogNothingHasAnId) {
  start(open_store());
  set_system(R"("rpm":"2/min")");
  acquire("key-7", R"("rpm":2)");
  const Seen refused = acquire("key-7", R"("rpm":1)");
  ASSERT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("Weir-Decision"), "none");
  EXPECT_EQ(refused.at("/decision"), "none");
  EXPECT_EQ(problem_of(get("/v1/decisions")), "404 not-found");
  EXPECT_EQ(problem_of(get("/v1/decisions/00000000-1")), "404 not-found");
}

TEST_P(DecisionsCall, AllKeepsAdmittedOnesAndChangesOfLeases) {
  keep(decision_log::Keeps::all);
  const Seen admitted = acquire("key-7", R"("rpm":1,"tpm":500)");
  const std::string lease = admitted.text("/lease");
  EXPECT_EQ(admitted.at("/decision"), "none");
  ASSERT_EQ(
      post("/v1/leases/" + lease + "/adjust", R"({"consume":{"tpm":-100}})", "Idempotency-Key: a\r\n").status,
      200);
  ASSERT_EQ(post("/v1/leases/" + lease + "/settle", R"({"actual":{"tpm":380}})").status, 200);
  const Seen seen = get("/v1/decisions");
  EXPECT_EQ(seen.text("/decisions/0/kind"), "settle");
  EXPECT_EQ(seen.at("/decisions/0/consume"), R"({"tpm":380})");
  EXPECT_EQ(seen.text("/decisions/0/entity"), "key-7");
  EXPECT_EQ(seen.text("/decisions/1/kind"), "adjust");
  EXPECT_EQ(seen.text("/decisions/2/outcome"), "admitted");
  EXPECT_EQ(seen.text("/decisions/2/at_ms"), std::to_string(clock->now()));
  EXPECT_EQ(seen.at("/decisions/0/lease"), seen.at("/decisions/2/lease"));
  EXPECT_EQ(seen.body.find(lease), std::string::npos) << "the id of a lease is the right to change it";
}

}  // namespace
}  // namespace weir::service
