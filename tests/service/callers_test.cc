// Tokens, roles and namespaces; and what is answered while the store is unavailable.
#include "service/api.h"
#include "store/store.h"

namespace weir::service {
namespace {

// The digests of "alice-secret", "edge-secret", "viewer-secret" and "team-secret".
constexpr const char* token_file =
    "alice admin sha256:0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376\n"
    "edge acquire sha256:0b863617d30f02eb2cc8e2f26787bdf34a19a06b7ab72c7da72185ed734fce13\n"
    "viewer read sha256:f6aa3a0aabbb721b4aa7763a987a47688a702b1bcf4850cb4ba5bdab26f9cc4b\n"
    "team acquire,admin sha256:7509900f69b7d4f018b111f107a6c7fc92e3664ccaff6ed2c397bf02f5afe725 team-2\n";

class Callers : public Api {
 protected:
  void SetUp() override { service->set_tokens(tokens(token_file)); }
  static std::shared_ptr<const Tokens> tokens(std::string_view text) {
    auto parsed = Tokens::parse(text, "tokens");
    EXPECT_TRUE(parsed) << parsed.error().message;
    return std::make_shared<const Tokens>(*std::move(parsed));
  }
  void as(const std::string& token, const std::string& more = {}) {
    headers = "Authorization: Bearer " + token + "\r\n" + more;
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Callers, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Callers, WithoutAKnownTokenAreToldToSendOne) {
  for (const char* const authorization :
       {"", "Authorization: Bearer\r\n", "Authorization: Bearer wrong\r\n", "Authorization: alice-secret\r\n",
        "Authorization: Basic alice-secret\r\n", "Authorization: Bearer alice-secret2\r\n",
        "Authorization: Bearer alice-secre\r\n"}) {
    headers = authorization;
    const Seen seen = get("/v1/limits");
    EXPECT_EQ(problem_of(seen), "401 unauthorized") << authorization;
    EXPECT_EQ(seen.field("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(seen.body.find("secre"), std::string::npos) << seen.body;
    EXPECT_EQ(acquire("e", R"("rpm":1)").status, 401);
    EXPECT_EQ(get("/livez").status, 200);
    EXPECT_EQ(get("/readyz").status, 200);
  }
  headers = "authorization: bearer alice-secret\r\n";
  EXPECT_EQ(get("/v1/limits").status, 200);
}

TEST_P(Callers, MayDoWhatTheirRolesAllow) {
  as("alice-secret");
  set_system(R"("rpm":"3/min")");
  as("edge-secret");
  EXPECT_EQ(acquire("e", R"("rpm":1)").status, 200);
  EXPECT_EQ(get("/v1/available?entity=e&resource=gpt-4").status, 200);
  EXPECT_EQ(problem_of(post("/v1/leases/x/settle", "{}")), "404 not-found");
  const char* const reading[] = {
      "/v1/limits",   "/v1/limits/system",       "/v1/limits/effective?entity=e&resource=r",
      "/v1/entities", "/v1/entities/e/children", "/v1/entities/e/buckets",
      "/v1/audit"};
  for (const char* const path : reading) EXPECT_EQ(problem_of(get(path)), "403 forbidden") << path;
  EXPECT_EQ(call("HEAD", "/v1/audit").status, 403);
  EXPECT_EQ(get("/v1/audit").at("/detail"),
            R"("the token's roles do not allow this call: it needs read, and the token has acquire")");
  EXPECT_EQ(put("/v1/limits/system", "{}").at("/detail"),
            R"("the token's roles do not allow this call: it needs admin, and the token has acquire")");
  as("viewer-secret");
  for (const char* const path : reading) EXPECT_EQ(get(path).status, 200) << path;
  EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)")), "403 forbidden");
  EXPECT_EQ(problem_of(put("/v1/limits/system", "{}")), "403 forbidden");
  EXPECT_EQ(problem_of(remove("/v1/limits/system")), "403 forbidden");
  EXPECT_EQ(problem_of(put("/v1/entities/e", "{}")), "403 forbidden");
  EXPECT_EQ(problem_of(remove("/v1/entities/e")), "403 forbidden");
  as("alice-secret");
  EXPECT_EQ(acquire("e", R"("rpm":1)").status, 200);
  EXPECT_EQ(get("/v1/audit").at("/events/0/principal"), "\"alice\"");
}

TEST_P(Callers, OfANamespaceStayInIt) {
  as("team-secret");
  set_system(R"("rpm":"3/min")");
  EXPECT_EQ(get("/v1/audit").at("/events/0/principal"), "\"team\"");
  as("team-secret", "Weir-Namespace: team-2\r\n");
  EXPECT_EQ(get("/v1/limits/system").status, 200);
  for (const char* const other : {"default", "team-3", "Bad"}) {
    as("team-secret", "Weir-Namespace: " + std::string(other) + "\r\n");
    EXPECT_EQ(problem_of(get("/v1/limits/system")), "403 forbidden");
  }
  as("alice-secret");
  EXPECT_EQ(problem_of(get("/v1/limits/system")), "404 not-found");
  as("alice-secret", "Weir-Namespace: team-2\r\n");
  EXPECT_EQ(get("/v1/limits/system").status, 200);
}

TEST_P(Callers, OfANamespaceCannotCreateOrPurgeNamespaces) {
  as("team-secret");
  EXPECT_EQ(put("/v1/limits/system", R"({"limits":{"rpm":"10/min"}})").status, 200);
  EXPECT_EQ(problem_of(put("/v1/namespaces/team-2", "")), "403 forbidden");
  EXPECT_EQ(problem_of(remove("/v1/namespaces/team-2")), "403 forbidden");
  EXPECT_EQ(problem_of(post("/v1/namespaces/team-2/restore", "")), "403 forbidden");
  as("alice-secret");
  EXPECT_EQ(remove("/v1/namespaces/team-2").status, 200);
}

TEST_P(Callers, OfANamespaceSeeOnlyItInTheCheckOfTheStore) {
  std::string asked = "nothing";
  ServiceOptions options;
  options.check_store = [&](const std::string& name_space) {
    asked = name_space;
    return Result(std::vector<store::Finding>());
  };
  start(open_store(), std::move(options));
  service->set_tokens(tokens(token_file));
  as("team-secret");
  EXPECT_EQ(get("/v1/store/check").status, 200);
  EXPECT_EQ(asked, "team-2");
  as("viewer-secret", "Weir-Namespace: team-2\r\n");
  EXPECT_EQ(get("/v1/store/check").status, 200);
  EXPECT_EQ(asked, "") << "a token for all namespaces sees the whole store";
  as("edge-secret");
  EXPECT_EQ(problem_of(get("/v1/store/check")), "403 forbidden");
}

TEST_P(Callers, AreThoseOfTheLastReload) {
  as("alice-secret");
  EXPECT_EQ(get("/v1/limits").status, 200);
  const std::string_view text = token_file;
  service->set_tokens(tokens(text.substr(text.find('\n') + 1)));
  EXPECT_EQ(get("/v1/limits").status, 401);
  as("viewer-secret");
  EXPECT_EQ(get("/v1/limits").status, 200);
  service->set_tokens(nullptr);
  headers = "";
  EXPECT_EQ(get("/v1/limits").status, 200);
}

/// A store whose buckets cannot be reached.
class UnavailableStore final : public store::Store, private store::Buckets {
 public:
  explicit UnavailableStore(std::shared_ptr<store::Store> real, ErrorCode code)
      : real_(std::move(real)), code_(code) {}
  store::Buckets& buckets() override { return *this; }
  store::Catalog& catalog() override { return real_->catalog(); }
  store::UsageReader& usage() override { return real_->usage(); }
  const store::LeaseKey& lease_key() const override { return real_->lease_key(); }
  Result<void> health() const override { return why(); }
  Time now() const override { return real_->now(); }
  Result<void> erase_namespace(std::string_view name) override { return real_->erase_namespace(name); }
  Result<void> keep_audit_for(Time duration) override { return real_->keep_audit_for(duration); }
  Result<void> keep_usage(const store::UsageKept& kept) override { return real_->keep_usage(kept); }

 private:
  Error why() const { return {code_, "the store is unavailable"}; }
  void acquire(const store::Plan&, Decision&, store::Completion<store::Progress> done) override {
    done(why());
  }
  void peek(const store::Plan&, Decision&, store::Completion<store::Progress> done) override { done(why()); }
  void correct(const store::CorrectionPlan&, store::CorrectionOutcome&,
               store::Completion<store::Progress> done) override {
    done(why());
  }
  void change(const store::LeasePlan&, store::LeaseOutcome&,
              store::Completion<store::Progress> done) override {
    done(why());
  }
  void list(std::string_view, std::string_view, const store::Paging&,
            store::Completion<store::Page<Bucket>> done) override {
    done(why());
  }
  void list_on(std::string_view, std::string_view, const store::Paging&,
               store::Completion<store::Page<Bucket>> done) override {
    done(why());
  }
  std::shared_ptr<store::Store> real_;
  ErrorCode code_;
};

class StoreAway : public Api {
 protected:
  /// A service on a store that fails like that, and a lease from before.
  void go(ErrorCode code, ServiceOptions options = {}) {
    set_system(R"("rpm":"3/min")");
    lease = "/v1/leases/" + acquire("e", R"("rpm":1)").text("/lease");
    start(std::make_shared<UnavailableStore>(store, code), std::move(options));
  }
  std::shared_ptr<store::Store> store = [this] {
    auto opened = app::open_store("memory:", {}, clock, *entropy_);
    start(*opened);
    return *opened;
  }();
  std::string lease;
};
INSTANTIATE_TEST_SUITE_P(Stores, StoreAway, testing::Values("memory"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(StoreAway, IsAnErrorUnlessThePolicyIsToAllow) {
  go(ErrorCode::unavailable);
  const Seen seen = acquire("e", R"("rpm":1)");
  EXPECT_EQ(problem_of(seen), "503 store-unavailable");
  EXPECT_EQ(seen.field("Retry-After"), "1");
  EXPECT_EQ(problem_of(get("/v1/available?entity=e&resource=gpt-4")), "503 store-unavailable");
  EXPECT_EQ(problem_of(post(lease + "/settle", "{}")), "503 store-unavailable");
  EXPECT_EQ(problem_of(get("/v1/entities/e/buckets")), "503 store-unavailable");
}

TEST_P(StoreAway, AdmitsWithoutADecisionIfThePolicyIsToAllow) {
  go(ErrorCode::unavailable);
  ASSERT_EQ(put("/v1/limits/system", R"({"limits":{"rpm":"3/min"},"on_unavailable":"allow"})").status, 200);
  const Seen seen = acquire("e", R"("rpm":1)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})");
  EXPECT_EQ(seen.field("Weir-Degraded"), "true");
  EXPECT_EQ(seen.field("RateLimit"), "none");
  EXPECT_EQ(problem_of(post(lease + "/settle", "{}")), "503 store-unavailable");
  EXPECT_EQ(problem_of(acquire("e e", R"("rpm":1)")), "422 invalid-argument");
}

TEST_P(StoreAway, ObeysTheFlagBeforeTheSystemsLimits) {
  go(ErrorCode::unavailable, {.on_unavailable = OnUnavailable::allow});
  EXPECT_EQ(acquire("e", R"("rpm":1)").at("/degraded"), "true");
  go(ErrorCode::unavailable, {.on_unavailable = OnUnavailable::deny});
  ASSERT_EQ(put("/v1/limits/system", R"({"limits":{"rpm":"3/min"},"on_unavailable":"allow"})").status, 200);
  EXPECT_EQ(problem_of(acquire("e", R"("rpm":1)")), "503 store-unavailable");
}

TEST_P(StoreAway, TellsContentionAndUnknownOutcomesApart) {
  go(ErrorCode::contention, {.on_unavailable = OnUnavailable::allow});
  const Seen contended = acquire("e", R"("rpm":1)");
  EXPECT_EQ(problem_of(contended), "503 contention");
  EXPECT_EQ(contended.field("Retry-After"), "1");
}

TEST_P(StoreAway, NeverInvitesToRepeatWhatMayHaveHappened) {
  for (const auto policy : {OnUnavailable::deny, OnUnavailable::allow}) {
    go(ErrorCode::outcome_unknown, {.on_unavailable = policy});
    const Seen unknown = acquire("e", R"("rpm":1)");
    EXPECT_EQ(problem_of(unknown), "503 outcome-unknown");
    EXPECT_EQ(unknown.field("Retry-After"), "none");
  }
}

}  // namespace
}  // namespace weir::service
