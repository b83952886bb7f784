// Concurrent limits over HTTP: lease_ms, extend, and many callers on few places.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "service/api.h"

namespace weir::service {
namespace {

class Places : public Api {
 protected:
  Seen take(const std::string& entity, const std::string& more = {}) {
    return post("/v1/acquire",
                R"({"entity":")" + entity + R"(","resource":"gpt-4","consume":{"calls":1})" + more + "}");
  }
  std::string free(const std::string& entity) {
    return get("/v1/available?resource=gpt-4&entity=" + entity).at("/limits/0/remaining");
  }
  Time deadline_of(const Seen& seen) const { return std::stoll(seen.at("/deadline_ms")); }
};
INSTANTIATE_TEST_SUITE_P(Stores, Places, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Places, AreHeldUntilTheLeaseEnds) {
  set_system(R"("calls":{"capacity":1,"kind":"concurrent"})");
  EXPECT_EQ(get("/v1/limits/system").at("/limits/calls"), R"({"capacity":1,"kind":"concurrent"})");
  const Seen first = take("key", R"(,"lease_ms":8000)");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.at("/limits/0/kind"), "\"concurrent\"");
  EXPECT_EQ(first.field("RateLimit-Policy"), "\"calls\";q=1");
  EXPECT_GE(deadline_of(first), clock->now() + 8000);
  EXPECT_LE(deadline_of(first), clock->now() + 9000);
  const Seen second = take("key");
  EXPECT_EQ(second.status, 429) << second.body;
  EXPECT_EQ(second.at("/retry_after_ms"), std::to_string(deadline_of(first) - clock->now()));
  const std::string path = "/v1/leases/" + first.text("/lease");
  const Seen extended = post(path + "/extend", R"({"lease_ms":60000})");
  EXPECT_EQ(extended.status, 200) << extended.body;
  EXPECT_GE(deadline_of(extended), clock->now() + 60'000);
  clock->advance(std::chrono::seconds(30));
  EXPECT_EQ(take("key").status, 429) << "the first deadline has passed, the second has not";
  EXPECT_EQ(bucket("key").find("\"kind\":\"concurrent\""), bucket("key").find("\"kind\""));
  EXPECT_EQ(post(path + "/settle", "{}").status, 200);
  EXPECT_EQ(free("key"), "1");
  EXPECT_EQ(problem_of(post(path + "/extend", R"({"lease_ms":1})")), "409 conflict");
}

TEST_P(Places, AreNotTakenByMistakes) {
  set_system(R"("calls":"1:concurrent")");
  EXPECT_EQ(problem_of(take("key", R"(,"lease_ms":0)")), "422 invalid-argument");
  EXPECT_EQ(problem_of(take("key", R"(,"lease_ms":"1s")")), "400 malformed");
  EXPECT_EQ(problem_of(take("key", R"(,"lease_ms":99999999999999)")), "422 invalid-argument");
  const Seen taken = take("key");
  const std::string path = "/v1/leases/" + taken.text("/lease") + "/extend";
  EXPECT_EQ(problem_of(post(path, "{}")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post(path, R"({"lease_ms":-5})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post(path, R"({"lease":5})")), "422 invalid-argument");
  EXPECT_EQ(problem_of(post("/v1/leases/nothing/extend", R"({"lease_ms":5})")), "404 not-found");
  for (const char* const limits : {R"("a":"1:concurrent","b":"1:concurrent","c":"1:concurrent")",
                                   R"("a":{"capacity":1,"kind":"concurrent","refill_amount":1})",
                                   R"("a":"5/min:concurrent")", R"("a":{"capacity":1,"kind":"slots"})"}) {
    EXPECT_EQ(problem_of(put("/v1/limits/system", "{\"limits\":{" + std::string(limits) + "}}")),
              "422 invalid-argument")
        << limits;
  }
  EXPECT_EQ(free("key"), "0") << "nothing has changed";
}

/// A thousand callers of one project with ten places, for simulated minutes. A caller may be killed while it
/// holds a place; nothing ends its lease then.
TEST_P(Places, AThousandCallersNeverHoldMoreThanTen) {
  set_system(R"("calls":"10:concurrent","rpm":"1000000/min")");
  struct Holding {
    std::string path;
    Time deadline;
  };
  std::map<int, Holding> working;  // by caller; until they end, or are killed
  std::vector<Time> lost;          // the deadlines of killed callers
  std::mt19937 random(11);
  const auto below = [&](int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random); };
  int admitted = 0, refused = 0, killed = 0, extended = 0;
  Time last_deadline = 0;
  const Time begin = clock->now();
  while (clock->now() - begin < 5 * 60'000 && !HasFailure()) {
    const int caller = below(1000);
    const auto at = working.find(caller);
    if (at == working.end()) {
      const int length = 1000 * (5 + 5 * below(5));
      const Seen seen =
          post("/v1/acquire",
               R"({"entity":"project","resource":"gpt-4","consume":{"calls":1,"rpm":1},"lease_ms":)" +
                   std::to_string(length) + "}");
      const auto live = static_cast<int>(working.size() + lost.size());
      ASSERT_EQ(seen.status, live < 10 ? 200 : 429) << live << " hold a place: " << seen.body;
      seen.status == 200 ? ++admitted : ++refused;
      if (seen.status == 200) {
        const Time deadline = deadline_of(seen);
        ASSERT_GE(deadline, clock->now() + length);
        working[caller] = {"/v1/leases/" + seen.text("/lease"), deadline};
        last_deadline = std::max(last_deadline, deadline);
      }
    }
    // One of those that work goes on, ends, or is killed.
    if (!working.empty() && below(3) == 0) {
      auto one = working.begin();
      std::advance(one, below(static_cast<int>(working.size())));
      const int fate = below(8);
      if (fate == 0) {
        lost.push_back(one->second.deadline);
        ++killed;
        working.erase(one);
      } else if (fate < 3) {
        const Seen seen = post(one->second.path + "/extend", R"({"lease_ms":20000})");
        ASSERT_EQ(seen.status, 200) << seen.body;
        one->second.deadline = deadline_of(seen);
        last_deadline = std::max(last_deadline, one->second.deadline);
        ++extended;
      } else {
        const Seen seen = post(one->second.path + (fate < 6 ? "/settle" : "/rollback"), "{}");
        ASSERT_EQ(seen.status, 200) << seen.body;
        working.erase(one);
      }
    }
    clock->advance(std::chrono::milliseconds(below(400)));
    std::erase_if(lost, [&](Time deadline) { return deadline <= clock->now(); });
    std::erase_if(working, [&](const auto& entry) { return entry.second.deadline <= clock->now(); });
  }
  EXPECT_GT(admitted, 100);
  EXPECT_GT(refused, 100);
  EXPECT_GT(killed, 10);
  EXPECT_GT(extended, 20);
  if (last_deadline > clock->now()) clock->advance(std::chrono::milliseconds(last_deadline - clock->now()));
  EXPECT_EQ(free("project"), "10") << "all places are back by the last stated deadline";
  std::printf("%s: %d admitted, %d refused, %d killed, %d extended\n", GetParam(), admitted, refused, killed,
              extended);
}

}  // namespace
}  // namespace weir::service
