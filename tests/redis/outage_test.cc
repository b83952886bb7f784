// Redis is unavailable in one way or another: what callers are told meanwhile, and that it is over when it is
// over.
#include <gtest/gtest.h>

#include <future>

#include "app/check_store.h"
#include "app/open_store.h"
#include "base/entropy.h"
#include "limiter/core.h"
#include "limiter/pending.h"
#include "net/redis_client.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/slow_proxy.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::eventually;
using tests::RedisServer;

/// With a deadline that a server in order keeps on a busy machine, too.
std::string with_port(std::uint16_t port, int deadline_ms = 2000) {
  return "redis://127.0.0.1:" + std::to_string(port) + "?deadline_ms=" + std::to_string(deadline_ms);
}

/// Sees how the client says the server is at the moment when its own call fails.
class Witness final : public net::RedisCall {
 public:
  explicit Witness(const net::RedisClient& client) : client_(client) {
    command = wire::resp::command({"PING"});
  }
  /// What it saw: "answered", "failed, up", "failed, unavailable".
  std::string saw() { return seen_.get_future().get(); }

 private:
  void on_reply(const wire::resp::Reply& /*reply*/) override { seen_.set_value("answered"); }
  void on_failure(const net::RedisFailure& /*failure*/) override {
    seen_.set_value(client_.up() ? "failed, up" : "failed, unavailable");
  }
  const net::RedisClient& client_;
  std::promise<std::string> seen_;
};

class RedisOutage : public testing::Test {
 protected:
  /// A limiter whose caches are warm.
  static Limiter warm(const std::string& url) {
    auto limiter = Limiter::open(url);
    EXPECT_TRUE(limiter) << limiter.error().message;
    EXPECT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "1000000/min"}}));
    EXPECT_TRUE(back(*limiter));
    return *std::move(limiter);
  }
  static std::string ask(Limiter& limiter) {
    auto decision = limiter.acquire("key", "r", {{"rpm", 1}});
    if (!decision) return std::string(name_of(decision.error().code)) + ": " + decision.error().message;
    return decision->admitted() ? "admitted" : "refused";
  }
  /// That nothing is charged or admitted, whatever it is called.
  static bool unavailable(const std::string& answer) {
    return answer.starts_with("store-unavailable: ") || answer.starts_with("outcome-unknown: ");
  }
  static bool back(Limiter& limiter) {
    return eventually([&] { return ask(limiter) == "admitted"; });
  }
};

TEST_F(RedisOutage, AServerThatIsStoppedIsAwayUntilItIsStartedAgain) {
  RedisServer server;
  Limiter limiter = warm(with_port(server.port()));
  server.kill();
  EXPECT_TRUE(
      eventually([&] { return ask(limiter).starts_with("store-unavailable: Redis is unavailable"); }));
  EXPECT_NE(ask(limiter).find("cannot be reached"), std::string::npos) << ask(limiter);
  EXPECT_EQ(limiter.set_limits(Level::system(), {{"rpm", "1"}}).error().code, ErrorCode::unavailable);
  server.start();
  // It has forgotten everything, limits included.
  EXPECT_TRUE(eventually([&] { return limiter.set_limits(Level::system(), {{"rpm", "10/min"}}).ok(); }));
  EXPECT_TRUE(back(limiter));
}

TEST_F(RedisOutage, APausedServerLeavesTheFirstInDoubtAndTheNextUnsent) {
  RedisServer server;
  Limiter limiter = warm(with_port(server.port()));
  server.pause();
  const std::string first = ask(limiter);
  EXPECT_TRUE(first.starts_with("outcome-unknown: ")) << first;
  EXPECT_NE(first.find("does not answer"), std::string::npos) << first;
  EXPECT_TRUE(ask(limiter).starts_with("store-unavailable: ")) << "the breaker is open: nothing is sent";
  server.resume();
  EXPECT_TRUE(back(limiter));
}

TEST_F(RedisOutage, WhoIsToldThatItIsAwayFindsItAway) {
  RedisServer server;
  base::SystemEntropy entropy;
  net::RedisClient client({.address = {"127.0.0.1", server.port()}, .deadline = 2s}, entropy, {}, nullptr);
  client.start();
  ASSERT_TRUE(client.wait_until_ready());
  server.pause();
  Witness first(client);
  client.send(first);
  EXPECT_EQ(first.saw(), "failed, unavailable");
}

TEST_F(RedisOutage, AServerThatAnswersTooLateIsAway) {
  RedisServer server;
  tests::SlowProxy proxy(server.port());
  Limiter limiter = warm(with_port(proxy.port(), 500));
  proxy.set_delay(1500ms);
  EXPECT_TRUE(unavailable(ask(limiter)));
  EXPECT_TRUE(unavailable(ask(limiter)));
  proxy.set_delay(0ms);
  EXPECT_TRUE(back(limiter));
}

TEST_F(RedisOutage, AChangeOfLimitsMayTakeLongerThanAnAcquire) {
  RedisServer server;
  tests::SlowProxy proxy(server.port());
  Limiter limiter = warm(with_port(proxy.port(), 500));
  proxy.set_delay(1200ms);
  const auto changed = limiter.set_limits(Level::system(), {{"rpm", "10/min"}});
  EXPECT_TRUE(changed) << changed.error().message;
}

TEST_F(RedisOutage, AFullServerRefusesAndNothingIsCharged) {
  RedisServer server({"--maxmemory-policy", "noeviction"});
  Limiter limiter = warm(with_port(server.port()));
  const Amount before = limiter.buckets("key")->items[0].limits[0].consumed;
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  const std::string answer = ask(limiter);
  EXPECT_TRUE(answer.starts_with("store-unavailable: ")) << answer;
  EXPECT_NE(answer.find("no memory left"), std::string::npos) << answer;
  EXPECT_EQ(limiter.buckets("key")->items[0].limits[0].consumed, before);
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(back(limiter));
}

TEST_F(RedisOutage, AWrongPasswordIsSaidAndNotShown) {
  RedisServer server({"--requirepass", "right"});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  auto wrong = Limiter::open("redis://:wrong@" + address);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::unavailable);
  EXPECT_NE(wrong.error().message.find("WRONGPASS"), std::string::npos) << wrong.error().message;
  EXPECT_EQ(wrong.error().message.find("wrong@"), std::string::npos) << wrong.error().message;
  auto none = Limiter::open("redis://" + address);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("NOAUTH"), std::string::npos) << none.error().message;

  Limiter limiter = warm("redis://:right@" + address + "?deadline_ms=500");
  tests::RedisProbe probe(server.port());
  ASSERT_EQ(probe.ask({"AUTH", "right"}), "OK");
  probe.ask({"CONFIG", "SET", "requirepass", "changed"});
  probe.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_TRUE(eventually([&] { return ask(limiter).find("WRONGPASS") != std::string::npos; }));
  probe.ask({"CONFIG", "SET", "requirepass", "right"});
  EXPECT_TRUE(back(limiter));
}

TEST_F(RedisOutage, AReplicaThatCannotBeWrittenIsNoStore) {
  RedisServer primary({"--repl-diskless-sync-delay", "0"});
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())});
  Limiter limiter = warm(with_port(primary.port()));
  ASSERT_TRUE(eventually([&] { return replica.ask({"DBSIZE"}) == primary.ask({"DBSIZE"}); }));
  auto reader = Limiter::open(with_port(replica.port()));
  ASSERT_TRUE(reader) << reader.error().message;
  const std::string answer = ask(*reader);
  EXPECT_TRUE(answer.starts_with("store-unavailable: ")) << answer;
  EXPECT_NE(answer.find("replica"), std::string::npos) << answer;
  replica.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(back(*reader));
}

TEST_F(RedisOutage, ASettleWhoseAnswerGotLostHappensOnce) {
  RedisServer server;
  Limiter limiter = warm(with_port(server.port()));
  for (int i = 0; i < 50; ++i) {
    auto decision = limiter.acquire("lease", "r", {{"rpm", 100}});
    if (!decision) continue;
    server.ask({"CLIENT", "KILL", "TYPE", "normal"});
    auto settled = decision->lease().settle({{"rpm", 10}});
    // Asked again it is the same.
    if (settled) continue;
    ASSERT_TRUE(eventually([&] { return decision->lease().settle({{"rpm", 10}}).ok(); }));
  }
  const Bucket bucket = limiter.buckets("lease")->items[0];
  EXPECT_EQ(bucket.limits[0].consumed.millitokens() % 10'000, 0);
  EXPECT_LE(bucket.limits[0].consumed, Amount(50 * 10 + 50 * 90));
}

/// A lease of 100 that is adjusted by 10 without a key, while an answer gets lost.
class RedisLostAdjust : public RedisOutage {
 protected:
  /// What the caller is told, where the answer to the first request with this text is lost.
  std::string adjust(const std::string& request) {
    auto decision = core.acquire("lease", "r", std::vector<Charge>{{"rpm", 100}}, {});
    EXPECT_TRUE(decision) << decision.error().message;
    if (!decision) return {};
    limiter::PendingChange change(core);
    change.take(*decision, nullptr);
    proxy.set_rule([&, lost = false](const std::string& bytes) mutable {
      if (lost || bytes.find(request) == std::string::npos) return tests::SlowProxy::Fate::passes;
      lost = true;
      return tests::SlowProxy::Fate::answer_is_lost;
    });
    const std::vector<Charge> more{{"rpm", 10}};
    const auto adjusted = store::wait_for<void>([&](store::Completion<void> done) {
      change.start_taken({.verb = detail::LeaseVerb::adjust, .charges = more}, done);
    });
    return adjusted ? "adjusted" : name_of(adjusted.error().code);
  }
  std::string consumed() { return direct.buckets("lease")->items[0].limits[0].consumed.to_string(); }

  RedisServer server;
  tests::SlowProxy proxy{server.port()};
  Limiter direct = warm(with_port(server.port()));
  base::SystemEntropy entropy;
  std::shared_ptr<Clock> clock = std::make_shared<SystemClock>();
  limiter::Core core{{clock, std::make_shared<base::SystemEntropy>(),
                      *app::open_store(with_port(proxy.port()), {}, clock, entropy)},
                     {}};
};

TEST_F(RedisLostAdjust, IsNotRepeated) {
  EXPECT_EQ(adjust("EVALSHA"), "outcome-unknown");
  EXPECT_EQ(consumed(), "110");
}

TEST_F(RedisLostAdjust, IsNotRepeatedWhereItLeavesADebt) {
  ASSERT_TRUE(direct.set_limits(Level::resource("r"), {{"rpm", "100/d"}}));
  EXPECT_EQ(adjust("PEXPIREAT"), "outcome-unknown") << "the write of a decision that is made here";
  EXPECT_EQ(consumed(), "110");
}

/// A keyed acquire that makes a bucket is charged, and its answer gets lost. Then something happens before a
/// later step.
class RedisLostAnswer : public RedisOutage {
 protected:
  /// `step`: 1: the second copy of the write; 2: what follows it. `happens` runs on the proxy's thread,
  /// before the server gets that step.
  void before_step(int step, std::function<void()> happens, const std::string& write = "PEXPIRE") {
    proxy.set_rule([=, happens = std::move(happens), steps = 0](const std::string& bytes) mutable {
      const bool writes = bytes.find(write) != std::string::npos;
      // A greeting of a new connection is no step.
      if (bytes.find("EVAL") == std::string::npos || (steps == 0 && !writes)) return Fate::passes;
      if (steps++ == 0) return Fate::answer_is_lost;
      if (steps == step + 1) happens();
      return Fate::passes;
    });
  }
  void refuse_scripts() { server.ask({"ACL", "SETUSER", "default", "-eval", "-evalsha"}); }
  void allow_scripts() {
    proxy.set_rule({});
    server.ask({"ACL", "SETUSER", "default", "+eval", "+evalsha"});
  }
  std::string keyed() { return told(limiter.acquire("fresh", "r", {{"rpm", 1}}, {.idempotency_key = "K"})); }
  static std::string told(const Result<Decision>& decision) {
    if (!decision) return std::string(name_of(decision.error().code)) + ": " + decision.error().message;
    return decision->admitted() ? "admitted" : "refused";
  }
  void expect_charged_once() {
    EXPECT_TRUE(eventually([&] { return keyed() == "admitted"; }));
    EXPECT_EQ(limiter.buckets("fresh")->items[0].limits[0].consumed, Amount(1));
  }

  using Fate = tests::SlowProxy::Fate;
  RedisServer server;
  tests::SlowProxy proxy{server.port()};
  Limiter direct = warm(with_port(server.port()));
  Limiter limiter = warm(with_port(proxy.port()));
};

TEST_F(RedisLostAnswer, IsNotCalledUnavailableWhereTheNextCopyIsRefused) {
  before_step(1, [&] { refuse_scripts(); });
  const std::string answer = keyed();
  EXPECT_TRUE(answer.starts_with("outcome-unknown: ")) << answer;
  allow_scripts();
  expect_charged_once();
}

TEST_F(RedisLostAnswer, IsNotCalledUnavailableWhereTheAcquireStartsOver) {
  before_step(2, [&] { refuse_scripts(); });
  const std::string answer = keyed();
  EXPECT_TRUE(answer.starts_with("outcome-unknown: ")) << answer;
  allow_scripts();
  expect_charged_once();
}

TEST_F(RedisLostAnswer, IsNoMistakeOfTheCallerWhereTheLimitHasLeftMeanwhile) {
  before_step(1, [&] {
    EXPECT_TRUE(direct.set_limits(Level::entity("fresh", "r"), {{"tpm", "10/min"}}));
    EXPECT_TRUE(direct.acquire("fresh", "r", {{"tpm", 1}})->admitted());
  });
  const std::string answer = keyed();
  EXPECT_TRUE(answer == "admitted" || answer.starts_with("outcome-unknown: ")) << answer;
}

TEST_F(RedisLostAnswer, OfARollbackIsNotCalledTooLateByACopyAfterTheDeadline) {
  FakeClock clock;
  auto late = Limiter::open(with_port(proxy.port()), {.clock = &clock});
  ASSERT_TRUE(late) << late.error().message;
  ASSERT_TRUE(late->set_limits(Level::entity("fresh", "r"), {{"rpm", "100/day"}}));
  auto decision = late->acquire("fresh", "r", {{"rpm", 5}});
  ASSERT_TRUE(decision) << decision.error().message;
  const std::string id = *decision->lease().id();
  before_step(1, [&] { clock.advance(std::chrono::hours(1)); }, "EVALSHA");
  const auto rolled_back = late->rollback(id);
  EXPECT_TRUE(rolled_back || rolled_back.error().code == ErrorCode::outcome_unknown)
      << rolled_back.error().message;
  EXPECT_EQ(late->buckets("fresh")->items[0].limits[0].consumed, Amount(0)) << "given back";
}

TEST_F(RedisOutage, NobodyAtTheAddressIsSaidWhenOpening) {
  const auto nobody = Limiter::open("redis://127.0.0.1:" + std::to_string(tests::free_port()));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unavailable);
  EXPECT_NE(nobody.error().message.find("cannot be reached"), std::string::npos) << nobody.error().message;
}

TEST_F(RedisOutage, ACheckRefusesAServerThatForgetsBucketsForRoom) {
  RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  const auto finding = [&](const std::string& what) -> app::Finding {
    const auto findings = app::check_store(server.url(), {});
    if (findings) {
      for (const app::Finding& one : *findings) {
        if (one.what == what) return one;
      }
    }
    return {};
  };
  EXPECT_EQ(finding("eviction").severity, app::Severity::failure);
  EXPECT_NE(finding("eviction").detail.find("allkeys-lru"), std::string::npos);
  server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_EQ(finding("eviction").severity, app::Severity::ok);
  EXPECT_EQ(finding("durability").severity, app::Severity::warning);
  server.ask({"CONFIG", "SET", "appendonly", "yes"});
  server.ask({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_EQ(finding("durability").severity, app::Severity::ok);
}

}  // namespace
}  // namespace weir
