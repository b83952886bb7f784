// POST /v1/leases/{id}/adjust, settle and rollback.
#include "service/api.h"

namespace weir::service {
namespace {

class Leases : public Api {
 protected:
  void SetUp() override { set_system(R"("rpm":"10/min","tpm":"1000/min")"); }
  /// Acquires one request and 500 tokens; the path of the lease.
  std::string lease(const std::string& entity = "key-1") {
    const Seen seen = acquire(entity, R"("rpm":1,"tpm":500)");
    EXPECT_EQ(seen.status, 200) << seen.body;
    return "/v1/leases/" + seen.text("/lease");
  }
  /// The rest of tpm.
  std::string left(const std::string& entity = "key-1") {
    return get("/v1/available?resource=gpt-4&entity=" + entity).at("/limits/1/remaining");
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Leases, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Leases, AreAdjustedOncePerKey) {
  const std::string path = lease() + "/adjust";
  const Seen seen = post(path, R"({"consume":{"tpm":-120}})", "Idempotency-Key: part-1\r\n");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.field("Content-Type"), "application/json");
  EXPECT_EQ(seen.at("/limits/1/name"), "\"tpm\"");
  EXPECT_EQ(seen.at("/limits/1/requested"), "-120");
  EXPECT_EQ(seen.at("/limits/1/remaining"), "620");
  const Seen again = post(path, R"({"consume":{"tpm":-120}})", "Idempotency-Key: part-1\r\n");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("/limits/1/remaining"), "620");
  EXPECT_EQ(post(path, R"({"consume":{"tpm":1000}})", "Idempotency-Key: part-2\r\n").status, 200);
  EXPECT_EQ(left(), "-380");
}

TEST_P(Leases, NeedAKeyToBeAdjusted) {
  const std::string path = lease() + "/adjust";
  EXPECT_EQ(problem_of(post(path, R"({"consume":{"tpm":1}})")), "400 idempotency-key-missing");
  EXPECT_EQ(problem_of(post(path, R"({"consume":{"tpm":1}})", "Idempotency-Key: \r\n")),
            "400 idempotency-key-missing");
  const std::string long_key = "Idempotency-Key: " + std::string(129, 'k') + "\r\n";
  EXPECT_EQ(problem_of(post(path, R"({"consume":{"tpm":1}})", long_key)), "422 invalid-argument");
  EXPECT_EQ(left(), "500");
}

TEST_P(Leases, AreNeverAdjustedBelowNothing) {
  const std::string path = lease() + "/adjust";
  const Seen seen = post(path, R"({"consume":{"tpm":-500.001}})", "Idempotency-Key: a\r\n");
  EXPECT_EQ(problem_of(seen), "422 invalid-argument");
  EXPECT_EQ(left(), "500");
  EXPECT_EQ(problem_of(post(path, R"({"consume":{"nope":1}})", "Idempotency-Key: a\r\n")),
            "422 unknown-limit");
  EXPECT_EQ(post(path, R"({"consume":{"tpm":-500}})", "Idempotency-Key: a\r\n").status, 200);
  EXPECT_EQ(left(), "1000");
}

TEST_P(Leases, AreSettledOnceHoweverOftenItIsSent) {
  const std::string path = lease();
  const Seen seen = post(path + "/settle", R"({"actual":{"tpm":380}})");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.at("/limits/1/remaining"), "620");
  EXPECT_EQ(seen.at("/limits/0/remaining"), "9");
  EXPECT_EQ(post(path + "/settle", R"({"actual":{"tpm":380}})").status, 200);
  EXPECT_EQ(left(), "620");
  EXPECT_EQ(problem_of(post(path + "/settle", R"({"actual":{"tpm":381}})")), "409 conflict");
  EXPECT_EQ(problem_of(post(path + "/rollback", "")), "409 conflict");
  EXPECT_EQ(problem_of(post(path + "/adjust", R"({"consume":{"tpm":1}})", "Idempotency-Key: a\r\n")),
            "409 conflict");
  EXPECT_EQ(left(), "620");
}

TEST_P(Leases, AreSettledAsTheyStandWithoutAmounts) {
  for (const char* const body : {"{}", "", " \r\n", R"({"actual":{}})"}) {
    const std::string path = lease() + "/settle";
    EXPECT_EQ(post(path, body).status, 200) << body;
    EXPECT_EQ(left(), "500");
    EXPECT_EQ(post(path, body).status, 200) << body;
    clock->advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(problem_of(post(lease() + "/settle", R"({"actual":{"tpm":-1}})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post(lease() + "/settle", R"({"consume":{"tpm":1}})")), "422 invalid-argument");
}

TEST_P(Leases, AreRolledBackOnce) {
  const std::string path = lease();
  const Seen seen = post(path + "/rollback", "");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.at("/limits/0/remaining"), "10");
  EXPECT_EQ(seen.at("/limits/1/remaining"), "1000");
  EXPECT_EQ(post(path + "/rollback", "").status, 200);
  EXPECT_EQ(left(), "1000");
  EXPECT_EQ(problem_of(post(path + "/settle", "{}")), "409 conflict");
}

TEST_P(Leases, AreUnknownIfForgedOrOfAnotherNamespace) {
  const std::string path = lease();
  std::string forged = path;
  forged[forged.size() / 2] = forged[forged.size() / 2] == 'A' ? 'B' : 'A';
  for (const char* const verb : {"/settle", "/rollback"}) {
    EXPECT_EQ(problem_of(post(forged + verb, "")), "404 not-found");
    EXPECT_EQ(problem_of(post(std::string("/v1/leases/nonsense") + verb, "")), "404 not-found");
    EXPECT_EQ(problem_of(post(path + verb, "", "Weir-Namespace: other\r\n")), "404 not-found");
  }
  EXPECT_EQ(left(), "500");
}

TEST_P(Leases, CannotBeChangedPastTheirDeadline) {
  const std::string path = lease();
  clock->advance(std::chrono::minutes(10) - std::chrono::milliseconds(1));
  EXPECT_EQ(post(path + "/adjust", R"({"consume":{"tpm":1}})", "Idempotency-Key: a\r\n").status, 200);
  clock->advance(std::chrono::milliseconds(1));
  EXPECT_EQ(problem_of(post(path + "/adjust", R"({"consume":{"tpm":1}})", "Idempotency-Key: b\r\n")),
            "410 expired");
  EXPECT_EQ(problem_of(post(path + "/settle", "{}")), "410 expired");
  EXPECT_EQ(problem_of(post(path + "/rollback", "")), "410 expired");
}

TEST_P(Leases, MayBeTheLastThingThatAServiceIsAskedFor) {
  // The answer comes from a thread of the store, which must not be left holding the store.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(post(lease("key-" + std::to_string(i)) + "/settle", "{}").status, 200);
    stop();
    start(open_store());
    if (GetParam() == std::string_view("memory")) SetUp();
  }
}

TEST_P(Leases, ReachTheWholeChain) {
  ASSERT_EQ(put("/v1/entities/project", "{}").status, 200);
  ASSERT_EQ(put("/v1/entities/key-9", R"({"parent":"project","cascade":true})").status, 200);
  const std::string path = lease("key-9");
  EXPECT_EQ(left("project"), "500");
  const Seen seen = post(path + "/settle", R"({"actual":{"tpm":100}})");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(left("project"), "900");
  EXPECT_EQ(left("key-9"), "900");
}

}  // namespace
}  // namespace weir::service
