// Limits of routes and of the store: which requests pass, what the answers say, and what happens without a
// store.
#include "app/open_store.h"
#include "base/text.h"
#include "gateway/refusal.h"
#include "gateway/rig.h"
#include "support/folder.h"

namespace weir::gateway {
namespace {

using net::get;
using net::post;

void answer_all(Peer& peer, unsigned /*number*/) {
  while (!peer.read_head().empty()) peer.answer("passed");
}

class Limits : public testing::Test {
 public:
  std::string route(const std::string& more) const { return Rig::route(upstream.url(), more); }
  Upstream upstream{answer_all};
};

/// A store that works while `up` says so, and whose acquires end as `fails_with` says.
class Fickle final : public store::Store, private store::Buckets {
 public:
  explicit Fickle(std::shared_ptr<store::Store> inner) : inner_(std::move(inner)) {}
  std::atomic<bool> up{true};
  std::atomic<std::optional<ErrorCode>> fails_with{};
  std::atomic<int> catalog_used{0};

  store::Buckets& buckets() override { return *this; }
  store::Catalog& catalog() override {
    ++catalog_used;
    return inner_->catalog();
  }
  store::UsageReader& usage() override { return inner_->usage(); }
  const store::LeaseKey& lease_key() const override { return inner_->lease_key(); }
  Result<void> health() const override {
    if (up) return {};
    return Error{ErrorCode::unavailable, "away"};
  }
  Time now() const override { return inner_->now(); }
  Result<void> erase_namespace(std::string_view name) override { return inner_->erase_namespace(name); }
  Result<void> keep_audit_for(Time duration) override { return inner_->keep_audit_for(duration); }
  Result<void> keep_usage(const store::UsageKept& kept) override { return inner_->keep_usage(kept); }

 private:
  void acquire(const store::Plan& plan, Decision& decision,
               store::Completion<store::Progress> done) override {
    if (!up) return done(Error{ErrorCode::unavailable, "away"});
    if (const auto code = fails_with.load()) return done(Error{*code, "secret"});
    // From another thread, as stores do that ask others.
    std::thread([this, &plan, &decision, done] { inner_->buckets().acquire(plan, decision, done); }).detach();
  }
  void peek(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override {
    inner_->buckets().peek(plan, decision, done);
  }
  void correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
               store::Completion<store::Progress> done) override {
    inner_->buckets().correct(plan, outcome, done);
  }
  void change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done) override {
    inner_->buckets().change(plan, outcome, done);
  }
  void list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
            store::Completion<store::Page<Bucket>> done) override {
    inner_->buckets().list(name_space, entity, paging, done);
  }
  void list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
               store::Completion<store::Page<Bucket>> done) override {
    inner_->buckets().list_on(name_space, resource, paging, done);
  }
  const std::shared_ptr<store::Store> inner_;
};

TEST_F(Limits, RefuseWhatIsTooMuchAndSayWhenToComeBack) {
  Rig rig(route("limits: {rpm: 3/min}"));
  for (int i = 2; i >= 0; --i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_TRUE(passed.has("RateLimit-Policy: \"rpm\";q=3;w=60\r\n"));
    EXPECT_TRUE(passed.has("RateLimit: \"rpm\";r=" + std::to_string(i) + ";t=0\r\n")) << passed.head;
  }
  const auto refused = rig.get("/");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.has("RateLimit: \"rpm\";r=0;t=20\r\n"));
  EXPECT_TRUE(refused.has("Retry-After: 20\r\n"));
  EXPECT_TRUE(refused.has("retry-after-ms: 20000\r\n"));
  EXPECT_TRUE(refused.has("Content-Type: application/problem+json\r\n"));
  EXPECT_EQ(
      refused.body,
      R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
      R"("title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,)"
      R"("detail":"over the limit rpm; retry in 20000 ms","retry_after_ms":20000,"violated-policies":["rpm"]})");
  EXPECT_EQ(upstream.accepted(), 1U);
  rig.clock.advance(std::chrono::milliseconds(19'999));
  EXPECT_EQ(rig.get("/").status, 429);
  rig.clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(rig.get("/").status, 200);
}

TEST_F(Limits, InShadowModeLetPassAndSayWhatTheyWouldRefuse) {
  Rig rig(route("limits: {rpm: 2/min:shadow, rpd: 10/day}"));
  for (int i = 1; i <= 4; ++i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_EQ(passed.body, "passed");
    EXPECT_TRUE(passed.has("RateLimit-Policy: \"rpd\";q=10;w=86400\r\n")) << passed.head;
    EXPECT_EQ(passed.has("Weir-Would-Refuse: rpm\r\n"), i > 2) << passed.head;
  }
  EXPECT_NE(
      rig.gateway->metrics().text().find("weir_would_refuse_total{namespace=\"default\",resource=\"/\"} 2"),
      std::string::npos);
}

TEST_F(Limits, OfARouteInShadowModeRefuseNothing) {
  Rig rig(route("limits: {rpm: 2/min}, mode: shadow"));
  for (int i = 1; i <= 4; ++i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_TRUE(passed.has("RateLimit: \"rpm\";r=" + std::to_string(std::max(2 - i, 0)) + ";t=0\r\n"))
        << passed.head;
    EXPECT_EQ(passed.has("Weir-Would-Refuse: rpm\r\n"), i > 2) << passed.head;
  }
}

TEST_F(Limits, InShadowModeDoNotUndoABlock) {
  const auto clock = std::make_shared<FakeClock>(1'800'000'000'000);
  const auto entropy = std::make_shared<base::SystemEntropy>();
  const auto store = std::make_shared<memory::MemoryStore>(*clock, *entropy);
  limiter::Core core({clock, entropy, store}, {});
  ASSERT_TRUE(core.set_access("key-9", {.access = Access::blocked, .reason = "abuse"}));
  const std::string by_key = "limits: {rpm: 2/min}, limit_by: \"header:x-key\", mode: ";
  {
    const Rig rig(route(by_key + "shadow"), store);
    EXPECT_EQ(rig.get("/", "x-key: key-9\r\n").status, 429) << "an operator's explicit act wins";
    EXPECT_EQ(rig.get("/", "x-key: key-1\r\n").status, 200);
  }
  const Rig off(route(by_key + "off"), store);
  EXPECT_EQ(off.get("/", "x-key: key-9\r\n").status, 200) << "the store is not asked";
}

TEST_F(Limits, OfARouteThatIsOffAreNotLookedAt) {
  Rig rig(route("limits: {rpm: 1/min}, mode: off"));
  for (int i = 1; i <= 3; ++i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_FALSE(passed.has("RateLimit")) << passed.head;
  }
}

TEST_F(Limits, OfZeroDoNotAskForLess) {
  const Rig rig(route("limits: {rpm: 0}"));
  const auto refused = rig.get("/");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, R"("detail":"over the limit rpm; a limit of 0 admits nothing",)"))
      << refused.body;
  EXPECT_TRUE(has(rig.get("/", "Accept: text/plain\r\n").body,
                  "Too many requests: over the limit rpm; a limit of 0 admits nothing\n"));
}

TEST_F(Limits, SeveralHoldAtOnce) {
  const Rig rig(route("limits: {rps: 2/s, rpd: 3/day}"));
  const auto passed = rig.get("/");
  EXPECT_TRUE(passed.has("RateLimit: \"rpd\";r=2;t=0, \"rps\";r=1;t=0\r\n")) << passed.head;
  rig.get("/");
  const auto refused = rig.get("/");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, R"("violated-policies":["rps"])"));
}

TEST_F(Limits, AreOfEachClientAndEachRoute) {
  const Rig rig("routes:\n- {path: /, name: all, upstream: \"" + upstream.url() +
                "\", limit_by: header:X-Key, limits: {rpm: 1}}\n- {path: /b, upstream: \"" + upstream.url() +
                "\", limit_by: header:X-Key, limits: {rpm: 1}}");
  EXPECT_EQ(rig.get("/", "X-Key: one\r\n").status, 200);
  EXPECT_EQ(rig.get("/", "X-Key: one\r\n").status, 429);
  EXPECT_EQ(rig.get("/", "X-Key: two\r\n").status, 200) << "another client";
  EXPECT_EQ(rig.get("/b", "X-Key: one\r\n").status, 200) << "another route";
  EXPECT_EQ(rig.get("/").status, 200) << "whoever has no key, by address";
  EXPECT_EQ(rig.get("/").status, 429);
}

TEST_F(Limits, OfTheStoreCountMoreThanThoseOfTheFile) {
  Rig rig(route("name: api, limit_by: header:X-Key, limits: {rpm: 1}"));
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(core.set_limits(Level::entity("vip", "api"), *parse_limits({{"rpm", "3/min"}}), {}));
  for (const int status : {200, 200, 200, 429}) EXPECT_EQ(rig.get("/", "X-Key: vip\r\n").status, status);
  for (const int status : {200, 429}) EXPECT_EQ(rig.get("/", "X-Key: other\r\n").status, status);
}

TEST_F(Limits, OfTheStoreAreChargedWhateverTheyAreCalled) {
  Rig rig(route("name: api, limit_by: header:X-Key, limits: {rpm: 100}"));
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(
      core.set_limits(Level::entity("vip", "api"), *parse_limits({{"burst", "5/s"}, {"rpm", "2/min"}}), {}));
  ASSERT_TRUE(core.set_limits(Level::entity("odd", "api"), *parse_limits({{"daily", "1/day"}}), {}));
  const auto passed = rig.get("/", "X-Key: vip\r\n");
  EXPECT_TRUE(passed.has("RateLimit: \"burst\";r=4;t=0, \"rpm\";r=1;t=0\r\n")) << passed.head;
  const auto again = rig.get("/", "X-Key: vip\r\n");
  EXPECT_TRUE(again.has("RateLimit: \"burst\";r=3;t=0, \"rpm\";r=0;t=0\r\n")) << again.head;
  EXPECT_EQ(rig.get("/", "X-Key: vip\r\n").status, 429);
  EXPECT_EQ(rig.get("/", "X-Key: odd\r\n").status, 200);
  EXPECT_EQ(rig.get("/", "X-Key: odd\r\n").status, 429);
}

TEST_F(Limits, OfAParentAreChargedToo) {
  Rig rig(route("name: api, limit_by: header:X-Key, limits: {rpm: 100}"));
  limiter::Core& core = rig.gateway->decider()->core;
  for (const char* key : {"key-1", "key-2"})
    ASSERT_TRUE(core.put_entity({.id = key, .parent = "team", .cascade = true}));
  ASSERT_TRUE(core.set_limits(Level::entity("team", "api"), *parse_limits({{"team-rpm", "3/min"}}), {}));
  for (const char* key : {"key-1", "key-2", "key-1"})
    EXPECT_EQ(rig.get("/", std::string("X-Key: ") + key + "\r\n").status, 200);
  const auto refused = rig.get("/", "X-Key: key-2\r\n");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, R"("violated-policies":["team-rpm"])"));
  EXPECT_FALSE(has(refused.body, "team\"")) << "who else shares the limit is nobody's business";
}

/// A store on a file, which answers later, on the thread that asked.
std::shared_ptr<store::Store> file_store(const FakeClock& clock, base::Entropy& entropy,
                                         const std::string& path) {
  auto opened = app::open_store(
      "sqlite:" + path, {}, std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock), entropy);
  EXPECT_TRUE(opened) << opened.error().message;
  return *std::move(opened);
}

TEST_F(Limits, HoldOnAFileToo) {
  const tests::Folder folder;
  FakeClock clock;
  base::SystemEntropy entropy;
  Rig rig(route("name: api, limit_by: header:X-Key, limits: {rpm: 2}"),
          file_store(clock, entropy, folder.file("w.db")));
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(core.set_limits(Level::entity("vip", "api"),
                              *parse_limits({{"daily", "3/day"}, {"rpm", "9/min"}}), {}));
  for (const int status : {200, 200, 200, 429}) EXPECT_EQ(rig.get("/", "X-Key: vip\r\n").status, status);
  for (const int status : {200, 200, 429}) EXPECT_EQ(rig.get("/", "X-Key: other\r\n").status, status);
}

/// How many of 400 requests pass that eight clients send at once to three threads.
int passed_of_400(const Rig& rig) {
  std::atomic<int> passed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      net::Client client = rig.client();
      for (int j = 0; j < 50; ++j) passed += client.ask(get("/")).status == 200 ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  return passed;
}

TEST_F(Limits, AreExactWhateverTheThreads) {
  EXPECT_EQ(passed_of_400(Rig(route("limits: {rpd: 100/day}"), nullptr, 3)), 100);
  const tests::Folder folder;
  FakeClock clock;
  base::SystemEntropy entropy;
  EXPECT_EQ(
      passed_of_400(Rig(route("limits: {rpd: 100/day}"), file_store(clock, entropy, folder.file("w.db")), 3)),
      100);
}

TEST_F(Limits, WithoutAnyEverythingPasses) {
  const Rig rig(route("name: api"));
  for (int i = 0; i < 3; ++i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_FALSE(passed.has("RateLimit"));
    EXPECT_FALSE(passed.has("Weir-Degraded"));
  }
}

TEST_F(Limits, ARequestMayCostMore) {
  const Rig rig(route("limits: {units: 10/h}, cost: 4"));
  for (const int status : {200, 200, 429}) EXPECT_EQ(rig.get("/").status, status);
}

TEST_F(Limits, WhatARequestCostsIsSaidByThoseWhoAreTrusted) {
  const Rig trusting("trusted_proxies: [127.0.0.1]\n" + route("limits: {units: 10/h}, cost: header:X-Cost"));
  const auto passed = trusting.get("/", "X-Cost: 7.5\r\n");
  EXPECT_TRUE(passed.has("RateLimit: \"units\";r=2;t=0\r\n")) << passed.head;
  EXPECT_EQ(trusting.get("/", "X-Cost: 3\r\n").status, 429);
  EXPECT_TRUE(trusting.get("/").has("r=1;")) << "1 unless it is said";
  EXPECT_TRUE(trusting.get("/", "X-Cost: nonsense\r\n").has("r=0;"));
  EXPECT_EQ(trusting.get("/", "X-Cost: 11\r\n").status, 429);
  const Rig wary(route("limits: {units: 10/h}, cost: header:X-Cost"));
  EXPECT_TRUE(wary.get("/", "X-Cost: 0\r\n").has("r=9;")) << "strangers do not say what they cost";
}

TEST_F(Limits, WhatCanNeverFitHasNoTimeToComeBack) {
  const Rig rig(route("limits: {units: 10/h}, cost: 11"));
  const auto refused = rig.get("/");
  EXPECT_EQ(refused.status, 429);
  EXPECT_FALSE(refused.has("Retry-After"));
  EXPECT_TRUE(has(refused.body, R"("retry_after_ms":null)"));
}

TEST_F(Limits, ARefusedBodyDoesNotCostTheConnection) {
  const Rig rig(route("limits: {rpm: 1}"));
  net::Client client = rig.client();
  EXPECT_EQ(client.ask(get("/")).status, 200);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ask(post("/", std::string(10'000, 'x'))).status, 429);
  EXPECT_EQ(client.ask(get("/")).status, 429);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n");
  const auto large = client.receive();
  EXPECT_EQ(large.status, 429) << "without reading ten megabytes first";
  EXPECT_TRUE(large.has("Connection: close\r\n"));
}

TEST_F(Limits, PeopleAreToldInText) {
  const Rig rig(route("limits: {rpm: 0/min}"));
  const auto page =
      rig.get("/", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n");
  EXPECT_EQ(page.status, 429);
  EXPECT_TRUE(page.has("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_TRUE(page.body.starts_with("Too many requests: over the limit rpm")) << page.body;
}

TEST(Refusals, AreInTheWordsThatTheClientAskedFor) {
  for (const char* accept :
       {"", "*/*", "application/json", "application/*", "text/plain;q=0.5, application/json",
        "application/problem+json, text/plain", "text/*;q=0.1, */*", "image/png"})
    EXPECT_FALSE(prefers_text(accept)) << accept;
  for (const char* accept :
       {"text/plain", "text/html", "text/*", "TEXT/PLAIN", "application/json;q=0.5, text/plain",
        "text/html, */*;q=0.8", "application/json;q=0, text/plain;q=0.1", "*/*;q=0.1, text/plain"})
    EXPECT_TRUE(prefers_text(accept)) << accept;
}

class Outages : public Limits {
 public:
  static std::shared_ptr<Fickle> fickle() {
    static FakeClock clock;
    static base::SystemEntropy entropy;
    return std::make_shared<Fickle>(std::make_shared<memory::MemoryStore>(clock, entropy));
  }
};

TEST_F(Outages, EverythingPassesAndSaysSo) {
  const auto store = fickle();
  const Rig rig(route("limits: {rpm: 2}"), store);
  EXPECT_TRUE(rig.get("/").has("r=1;"));
  store->up = false;
  for (int i = 0; i < 3; ++i) {
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200);
    EXPECT_TRUE(passed.has("Weir-Degraded: true\r\n"));
    EXPECT_FALSE(passed.has("RateLimit"));
  }
  EXPECT_TRUE(has(rig.gateway->metrics().text(),
                  R"(weir_decisions_total{namespace="default",resource="/",outcome="degraded"} 3)"));
  EXPECT_TRUE(has(rig.gateway->metrics().text(), "weir_store_up 0"));
  store->up = true;
  EXPECT_TRUE(rig.get("/").has("r=0;")) << "what passed meanwhile was not charged";
  EXPECT_EQ(rig.get("/").status, 429);
  EXPECT_TRUE(has(rig.gateway->metrics().text(), "weir_store_up 1"));
}

TEST_F(Outages, ARouteMayDeny) {
  const auto store = fickle();
  const Rig rig("routes:\n- {path: /open, upstream: \"" + upstream.url() +
                    "\", limits: {rpm: 9}}\n- {path: /shut, upstream: \"" + upstream.url() +
                    "\", limits: {rpm: 9}, on_unavailable: deny}",
                store);
  store->up = false;
  EXPECT_EQ(rig.get("/open").status, 200);
  const auto denied = rig.get("/shut");
  EXPECT_EQ(denied.status, 503);
  EXPECT_TRUE(denied.has("Retry-After: 1\r\n"));
  EXPECT_TRUE(has(denied.body, R"("type":"store-unavailable")")) << denied.body;
  EXPECT_FALSE(has(denied.body, "away")) << "what is wrong inside is not told outside";
}

TEST(Refusal, SaysWhetherAnyWaitHelps) {
  const auto told = [](bool never_fits, std::string_view accept) {
    Decision decision;
    decision.set_refused(std::nullopt, never_fits);
    server::Reply reply;
    write_refusal(reply, decision, accept);
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.fields, "");
    return reply.body;
  };
  EXPECT_TRUE(has(told(true, ""), R"("retry_after_ms":null,"never_fits":true,)"));
  EXPECT_TRUE(has(told(true, "text/plain"), "more than it can ever hold"));
  EXPECT_TRUE(has(told(false, ""), R"("retry_after_ms":null,"never_fits":false,)"));
  EXPECT_TRUE(has(told(false, "text/plain"), "no wait can be promised"));
}

/// Some error other than an outage, under every way to say that an outage is no reason to refuse.
class AllowedOutages : public Outages {
 public:
  void expect_503(ErrorCode code, const std::string& type, const std::string& outcome) {
    const auto store = fickle();
    store->fails_with = code;
    for (const std::string& said : {std::string(), std::string(", on_unavailable: allow")}) {
      const Rig rig(route("limits: {rpm: 1}" + said), store);
      const auto answer = rig.get("/");
      EXPECT_EQ(answer.status, 503);
      EXPECT_TRUE(has(answer.body, "\"type\":\"" + type + "\"")) << answer.body;
      EXPECT_FALSE(has(answer.body, "secret")) << "what is wrong inside is not told outside";
      EXPECT_FALSE(answer.has("Weir-Degraded")) << answer.head;
      EXPECT_EQ(answer.has("Retry-After: 1\r\n"), code != ErrorCode::outcome_unknown) << answer.head;
      const std::string metrics = rig.gateway->metrics().text();
      EXPECT_TRUE(has(metrics, "outcome=\"" + outcome + "\"} 1")) << metrics;
      EXPECT_TRUE(has(metrics, "weir_store_up 1"));
      EXPECT_FALSE(has(metrics, "outcome=\"degraded\"} 1")) << metrics;
    }
  }
};

TEST_F(AllowedOutages, ContentionIsNoneAndDoesNotPassUncharged) {
  expect_503(ErrorCode::contention, "contention", "contended");
}

TEST_F(AllowedOutages, AChargeThatMayHaveHappenedDoesNotPassUncharged) {
  expect_503(ErrorCode::outcome_unknown, "outcome-unknown", "error");
}

TEST_F(AllowedOutages, WhatTheStoreCannotDoDoesNotPassUncharged) {
  expect_503(ErrorCode::conflict, "conflict", "error");
}

TEST_F(Outages, TheRouteCountsMoreThanTheFile) {
  const auto store = fickle();
  const Rig rig("on_unavailable: deny\nroutes:\n- {path: /open, upstream: \"" + upstream.url() +
                    "\", limits: {rpm: 9}, on_unavailable: allow}\n- {path: /shut, upstream: \"" +
                    upstream.url() + "\", limits: {rpm: 9}}",
                store);
  store->up = false;
  EXPECT_EQ(rig.get("/open").status, 200);
  EXPECT_EQ(rig.get("/shut").status, 503);
}

TEST_F(Outages, ARouteInShadowModePassesWhateverTheStoreSays) {
  const auto store = fickle();
  const Rig rig(route("limits: {rpm: 9}, mode: shadow, on_unavailable: deny"), store);
  for (const auto code : {ErrorCode::contention, ErrorCode::outcome_unknown}) {
    store->fails_with = code;
    const auto passed = rig.get("/");
    EXPECT_EQ(passed.status, 200) << name_of(code);
    EXPECT_TRUE(passed.has("Weir-Degraded: true\r\n")) << passed.head;
  }
  store->up = false;
  EXPECT_EQ(rig.get("/").status, 200);
}

TEST_F(Outages, TheSystemsLimitsCountWhereTheFileSaysNothing) {
  const auto store = fickle();
  Rig rig(route("limits: {rpm: 9}"), store);
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(core.set_limits(Level::system(), *parse_limits({{"rpm", "9/min"}}),
                              {.on_unavailable = OnUnavailable::deny}));
  rig.gateway->decider()->outage.learn_changed("default");
  store->up = false;
  EXPECT_EQ(rig.get("/").status, 503);
}

TEST_F(Outages, AStoreThatComesLaterIsTakenIntoUse) {
  Rig rig(route("limits: {rpm: 1}"), nullptr, 1, /*with_store=*/false);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rig.get("/").has("Weir-Degraded: true\r\n"));
  rig.gateway->set_store(std::make_shared<memory::MemoryStore>(rig.clock, rig.entropy()));
  for (const int status : {200, 429}) EXPECT_EQ(rig.get("/").status, status);
}

TEST_F(Outages, ARouteThatIsOffDoesNotAskTheStore) {
  const auto store = fickle();
  const std::string key = "Authorization: Bearer key\r\n";
  const auto statuses = [&](const std::string& more) {
    const Rig rig(route("mode: off, on_unavailable: deny, limits: {rpm: 1/day}, " + more), store);
    store->up = false;
    const int before = store->catalog_used;
    const int status = rig.get("/", key).status;
    EXPECT_EQ(rig.client().ask(post("/v1/chat/completions", R"({"model":"m"})", key)).status, status);
    EXPECT_EQ(rig.get("/v1/models", key).status, status);
    store->up = true;
    return std::pair(status, store->catalog_used - before);
  };
  for (const char* by : {"header:Authorization", "bearer"}) {
    for (const char* unknown : {"limit", "share"}) {
      for (const char* llm : {"", ", llm: auto"})
        EXPECT_EQ(statuses(base::join("limit_by: \"", by, "\", unknown_clients: ", unknown, llm)),
                  std::pair(200, 0))
            << by << unknown << llm;
    }
    EXPECT_EQ(statuses(base::join("limit_by: \"", by, "\", unknown_clients: refuse")), std::pair(403, 3))
        << "whether a client is known is in the store";
  }
}

TEST_F(Outages, AClientThatLeavesWhileTheStoreThinksHarmsNobody) {
  const auto store = fickle();
  const Rig rig(route("limits: {rpm: 1000}"), store);
  for (int i = 0; i < 50; ++i) {
    net::Client client = rig.client();
    client.send(get("/"));
    client.reset();
  }
  EXPECT_EQ(rig.get("/").status, 200);
}

}  // namespace
}  // namespace weir::gateway
