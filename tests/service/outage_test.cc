// While the store is unavailable: who is admitted, who is told, and what is asked of the store meanwhile.
#include <sqlite3.h>

#include <sstream>
#include <thread>

#include "crash/disk.h"
#include "service/api.h"
#include "store/store.h"

namespace weir::service {
namespace {

using store::Completion;

/// A store that can be unplugged, and counts how often it is asked while it is.
class Unplugged final : public store::Store, private store::Buckets, private store::Catalog {
 public:
  explicit Unplugged(std::shared_ptr<store::Store> real) : real_(std::move(real)) {}
  std::atomic<bool> unavailable{false};
  std::atomic<bool> torn{false};      ///< requests fail, and the store knows nothing of it
  std::atomic<int> asked_catalog{0};  ///< while it was unavailable

  store::Buckets& buckets() override { return *this; }
  store::Catalog& catalog() override { return *this; }
  store::UsageReader& usage() override { return real_->usage(); }
  const store::LeaseKey& lease_key() const override { return real_->lease_key(); }
  Result<void> health() const override { return unavailable ? Result<void>(why()) : Result<void>(); }
  Time now() const override { return real_->now(); }
  Result<void> erase_namespace(std::string_view name) override { return real_->erase_namespace(name); }
  Result<void> keep_audit_for(Time duration) override { return real_->keep_audit_for(duration); }
  Result<void> keep_usage(const store::UsageKept& kept) override { return real_->keep_usage(kept); }

 private:
  static Error why() { return {ErrorCode::unavailable, "somebody pulled the plug"}; }
  bool catalog_is_unavailable() {
    if (unavailable) ++asked_catalog;
    return unavailable;
  }

  void acquire(const store::Plan& plan, Decision& decision, Completion<store::Progress> done) override {
    if (unavailable) return done(why());
    real_->buckets().acquire(plan, decision, done);
  }
  bool start_carried(const store::Request& request, Decision& decision,
                     Completion<store::Progress> done) override {
    if (unavailable || torn) {
      done(why());
      return true;
    }
    return real_->buckets().start_carried(request, decision, done);
  }
  void peek(const store::Plan& plan, Decision& decision, Completion<store::Progress> done) override {
    if (unavailable) return done(why());
    real_->buckets().peek(plan, decision, done);
  }
  void correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
               store::Completion<store::Progress> done) override {
    if (unavailable) return done(why());
    real_->buckets().correct(plan, outcome, done);
  }
  void change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              Completion<store::Progress> done) override {
    if (unavailable) return done(why());
    real_->buckets().change(plan, outcome, done);
  }
  void list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
            Completion<store::Page<Bucket>> done) override {
    if (unavailable) return done(why());
    real_->buckets().list(name_space, entity, paging, done);
  }
  void list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
               Completion<store::Page<Bucket>> done) override {
    if (unavailable) return done(why());
    real_->buckets().list_on(name_space, resource, paging, done);
  }
  void change(const store::Changes& changes, Completion<std::vector<store::Changed>> done) override {
    if (catalog_is_unavailable()) return done(why());
    real_->catalog().change(changes, done);
  }
  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            Completion<store::Found> done) override {
    if (catalog_is_unavailable()) return done(why());
    real_->catalog().find(name_space, entity, resource, done);
  }
  void limits(std::string_view name_space, const Level& level,
              Completion<limits::LimitsRecordRef> done) override {
    if (catalog_is_unavailable()) return done(why());
    real_->catalog().limits(name_space, level, done);
  }
  void mark(std::string_view, Completion<limits::NamespaceMark> done) override { done(why()); }
  void list_limits(std::string_view, const LimitsFilter&, const store::Paging&,
                   Completion<store::Page<store::StoredLimitsItem>> done) override {
    done(why());
  }
  void entity(std::string_view, std::string_view, Completion<Entity> done) override { done(why()); }
  void children(std::string_view, std::string_view, const store::Paging&,
                Completion<store::Page<std::string>> done) override {
    done(why());
  }
  void plan(std::string_view, std::string_view, Completion<limits::PlanRecordRef> done) override {
    done(why());
  }
  void plans(std::string_view, const store::Paging&,
             Completion<store::Page<store::StoredPlan>> done) override {
    done(why());
  }
  void members(std::string_view, std::string_view, const store::Paging&,
               Completion<store::Page<std::string>> done) override {
    done(why());
  }
  void entities(std::string_view, const store::Paging&, Completion<store::Page<Entity>> done) override {
    done(why());
  }
  void audit(std::string_view, std::string_view, const store::Paging&,
             Completion<store::Page<AuditEvent>> done) override {
    done(why());
  }

  std::shared_ptr<store::Store> real_;
};

class Outages : public Api {
 protected:
  ~Outages() override { stop(); }
  void start_logged(std::shared_ptr<store::Store> store, ServiceOptions options = {}) {
    options.log = &log;
    start(std::move(store), std::move(options));
  }
  /// Limits that nothing reaches, and what they say about outages.
  void allow_or_deny(const std::string& policy) {
    const Seen seen =
        put("/v1/limits/system", R"({"limits":{"rpm":"1000000/day"},"on_unavailable":")" + policy + R"("})");
    ASSERT_EQ(seen.status, 200) << seen.body;
  }
  /// "200 degraded", "503 store-unavailable", "200 admitted".
  std::string outcome() {
    const Seen seen = acquire("e", R"("rpm":1)");
    if (seen.status != 200) return problem_of(seen);
    const bool degraded = seen.at("/degraded") == "true";
    EXPECT_EQ(seen.field("Weir-Degraded"), degraded ? "true" : "none");
    return degraded ? "200 degraded" : "200 admitted";
  }
  std::string sample(const std::string& name) {
    std::istringstream lines(get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
    }
    return "none";
  }
  std::string decisions(const std::string& outcome) {
    return sample(R"(weir_decisions_total{namespace="default",resource="gpt-4",outcome=")" + outcome + "\"}");
  }
  int logged(const std::string& text) const {
    const std::string all = logged_.str();
    int count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
    return count;
  }

  std::ostringstream logged_;
  telemetry::Log log{logged_, *clock, {}};
};

class Plug : public Outages {
 protected:
  Plug() { start_logged(store); }
  std::shared_ptr<Unplugged> store = std::make_shared<Unplugged>(open_store());
};
INSTANTIATE_TEST_SUITE_P(Stores, Plug, testing::Values("memory"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Plug, DeniesUnlessSomebodySaidOtherwise) {
  set_system(R"("rpm":"1000000/day")");
  EXPECT_EQ(outcome(), "200 admitted");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
  EXPECT_EQ(decisions("error"), "1");
  EXPECT_EQ(decisions("degraded"), "0");
}

TEST_P(Plug, KeepsToWhatTheSystemLimitsSaidLast) {
  allow_or_deny("deny");
  allow_or_deny("allow");
  EXPECT_EQ(outcome(), "200 admitted");
  store->unavailable = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(decisions("degraded"), "3");
  EXPECT_EQ(decisions("admitted"), "1");
  store->unavailable = false;
  EXPECT_EQ(outcome(), "200 admitted");
  allow_or_deny("deny");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
  store->unavailable = false;
  allow_or_deny("allow");
  ASSERT_EQ(remove("/v1/limits/system").status, 204);
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
}

TEST_P(Plug, DoesNotAskAStoreThatIsAwayWhatToDo) {
  allow_or_deny("allow");
  store->unavailable = true;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/metrics").status, 200);
  EXPECT_EQ(store->asked_catalog, 0);
}

TEST_P(Plug, KnowsWhatHoldsForANamespaceFromBeforeAnybodyCalledIn) {
  allow_or_deny("allow");
  // As after a restart: somebody only looks, and then the store becomes unavailable.
  start_logged(store);
  EXPECT_EQ(get("/v1/available?entity=e&resource=gpt-4").status, 200);
  store->unavailable = true;
  EXPECT_EQ(outcome(), "200 degraded");
}

TEST_P(Plug, AppliesWhatIsKnownOfANamespaceToCallersThatAreNew) {
  auto tokens = Tokens::parse(
      "alice admin sha256:0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376\n"
      "edge acquire sha256:0b863617d30f02eb2cc8e2f26787bdf34a19a06b7ab72c7da72185ed734fce13\n",
      "tokens");
  service->set_tokens(std::make_shared<const Tokens>(*std::move(tokens)));
  headers = "Authorization: Bearer alice-secret\r\n";
  allow_or_deny("allow");
  store->unavailable = true;
  headers = "Authorization: Bearer edge-secret\r\n";
  EXPECT_EQ(outcome(), "200 degraded");
}

TEST_P(Plug, LearnsLaterWhatItCouldNotReadDuringAnOutage) {
  headers = "Weir-Namespace: team-2\r\n";
  allow_or_deny("allow");
  start_logged(store);
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
  store->unavailable = false;
  EXPECT_EQ(outcome(), "200 admitted");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "200 degraded");
}

TEST_P(Plug, LearnsFromAChangeThatIsTheFirstToReachTheStoreAgain) {
  allow_or_deny("deny");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
  store->unavailable = false;
  allow_or_deny("allow");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "200 degraded");
}

TEST_P(Plug, LearnsFromManyChangesAtOnce) {
  const auto allow_or_deny_among_others = [&](const std::string& policy) {
    EXPECT_EQ(
        post("/v1/changes", R"({"changes":[{"change":"entity.put","entity":"e"},{"change":"limits.set",)"
                            R"("level":"system","limits":{"rpm":"5/min"},"on_unavailable":")" +
                                policy + "\"}]}")
            .status,
        200);
  };
  allow_or_deny_among_others("allow");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "200 degraded");
  store->unavailable = false;
  allow_or_deny_among_others("deny");
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
}

TEST_P(Plug, TellsEachChangeOnceHoweverManyCall) {
  allow_or_deny("allow");
  for (int outage = 1; outage <= 2; ++outage) {
    store->unavailable = true;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([this] {
        Connection connection(address());
        for (int i = 0; i < 25; ++i) {
          connection.send("POST", "/v1/acquire", R"({"entity":"e","resource":"gpt-4","consume":{"rpm":1}})");
          EXPECT_EQ(connection.receive().status, 200);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sample("weir_store_up"), "0");
    EXPECT_EQ(logged(R"(warning the store is unavailable error="somebody pulled the plug")"), outage);
    EXPECT_EQ(logged("warning the store is back"), outage - 1);
    clock->advance(std::chrono::milliseconds(1234));
    store->unavailable = false;
    EXPECT_EQ(outcome(), "200 admitted");
    EXPECT_EQ(outcome(), "200 admitted");
    EXPECT_EQ(sample("weir_store_up"), "1");
    EXPECT_EQ(logged("warning the store is back unavailable_ms=1234"), outage);
  }
  EXPECT_EQ(decisions("degraded"), "200");
}

TEST_P(Plug, IsNotTheSameAsARequestThatTheStoreCannotAnswer) {
  allow_or_deny("allow");
  EXPECT_EQ(outcome(), "200 admitted");
  for (int minute = 1; minute <= 2; ++minute) {
    for (int i = 0; i < 10; ++i) {
      store->torn = true;
      EXPECT_EQ(outcome(), "200 degraded");
      store->torn = false;
      EXPECT_EQ(outcome(), "200 admitted");
    }
    EXPECT_EQ(logged("warning the store could not answer a request error="), minute);
    clock->advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(logged("the store is unavailable"), 0);
  EXPECT_EQ(sample("weir_store_up"), "1");
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_P(Plug, IsSeenByProbesWithoutARequest) {
  EXPECT_EQ(get("/readyz").status, 200);
  store->unavailable = true;
  const Seen seen = get("/readyz");
  EXPECT_EQ(problem_of(seen), "503 store-unavailable");
  EXPECT_EQ(seen.text("/detail"), "somebody pulled the plug");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(sample("weir_store_up"), "0");
  store->unavailable = false;
  EXPECT_EQ(sample("weir_store_up"), "1");
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(logged("the store is unavailable"), 1);
  service->set_ready(false);
  EXPECT_EQ(problem_of(get("/readyz")), "503 not-ready");
}

TEST_P(Plug, IsSeenByOtherCallsToo) {
  set_system(R"("rpm":"3/min")");
  const std::string lease = acquire("e", R"("rpm":1)").text("/lease");
  for (const bool settle : {true, false}) {
    store->unavailable = true;
    const Seen seen = settle ? post("/v1/leases/" + lease + "/settle", "{}")
                             : get("/v1/limits/effective?entity=e&resource=r");
    EXPECT_EQ(problem_of(seen), "503 store-unavailable");
    EXPECT_EQ(logged("the store is unavailable"), settle ? 1 : 2);
    store->unavailable = false;
    EXPECT_EQ(get("/readyz").status, 200);
  }
}

TEST_P(Plug, ObeysTheFlagFirst) {
  allow_or_deny("allow");
  start_logged(store, {.on_unavailable = OnUnavailable::deny});
  store->unavailable = true;
  EXPECT_EQ(outcome(), "503 store-unavailable");
  store->unavailable = false;
  allow_or_deny("deny");
  start_logged(store, {.on_unavailable = OnUnavailable::allow});
  store->unavailable = true;
  EXPECT_EQ(outcome(), "200 degraded");
}

/// Before any file is opened.
struct FaultyDisk {
  FaultyDisk() { crash::Disk::install(); }
  ~FaultyDisk() { crash::Disk::heal(); }
};

/// The real file, on a disk that can be full.
class FullDisk : private FaultyDisk, public Outages {
 protected:
  FullDisk() { start_logged(open_store()); }
  ~FullDisk() override {
    crash::Disk::heal();
    stop();
  }
  void fill_the_disk() {
    crash::Disk::fail_writes(SQLITE_FULL, 1);
    // A write has to fail for it to be noticed; the outcome of that charge is unknown.
    ASSERT_NE(outcome(), "200 admitted");
  }
  void wait_until_ready() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (get("/readyz").status != 200 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(get("/readyz").status, 200);
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, FullDisk, testing::Values("sqlite"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(FullDisk, AdmitsWithoutChargingIfThePolicyIsToAllow) {
  allow_or_deny("allow");
  EXPECT_EQ(outcome(), "200 admitted");
  fill_the_disk();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome(), "200 degraded");
  EXPECT_EQ(decisions("degraded"), "10");
  EXPECT_EQ(decisions("error"), "1") << "the charge whose outcome nobody knows";
  EXPECT_EQ(sample("weir_store_up"), "0");
  const Seen ready = get("/readyz");
  EXPECT_EQ(problem_of(ready), "503 store-unavailable");
  EXPECT_NE(ready.text("/detail").find("make room"), std::string::npos) << ready.body;
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(logged("warning the store is unavailable"), 1);
  EXPECT_EQ(logged("make room"), 1);

  crash::Disk::heal();
  wait_until_ready();
  EXPECT_EQ(outcome(), "200 admitted");
  EXPECT_EQ(sample("weir_store_up"), "1");
  EXPECT_EQ(logged("warning the store is unavailable"), 1);
  EXPECT_EQ(logged("warning the store is back"), 1);
  // Two that were told so, and at most the one that nobody knows about.
  const Seen buckets = get("/v1/entities/e/buckets");
  const std::string consumed = buckets.at("/buckets/0/limits/0/consumed");
  EXPECT_TRUE(consumed == "2" || consumed == "3") << buckets.body;
}

TEST_P(FullDisk, LearnsFromAChangeThatIsTheFirstToBeWrittenAgain) {
  set_system(R"("rpm":"1000000/day")");
  fill_the_disk();
  EXPECT_EQ(outcome(), "503 store-unavailable");
  crash::Disk::heal();
  allow_or_deny("allow");
  // At once, whether or not the store has found out that it is back.
  crash::Disk::fail_writes(SQLITE_FULL, 1);
  EXPECT_EQ(outcome(), "200 degraded");
}

TEST_P(FullDisk, DeniesUnlessSomebodySaidOtherwise) {
  set_system(R"("rpm":"1000000/day")");
  fill_the_disk();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome(), "503 store-unavailable");
  EXPECT_EQ(decisions("error"), "4");
  EXPECT_EQ(decisions("degraded"), "0");
  crash::Disk::heal();
  wait_until_ready();
  EXPECT_EQ(outcome(), "200 admitted");
}

}  // namespace
}  // namespace weir::service
