// Concurrent limits in the gateway: a request holds them from its admission to its end.
#include <semaphore>

#include "gateway/rig.h"

namespace weir::gateway {
namespace {

/// Answers each request once it is told to.
class Patient {
 public:
  void operator()(Peer& peer, unsigned /*number*/) {
    while (!peer.read_head().empty()) {
      arrived.release();
      go.acquire();
      peer.answer("passed");
    }
  }
  std::counting_semaphore<> arrived{0};
  std::counting_semaphore<> go{0};
};

class ConcurrentLimits : public testing::Test {
 public:
  /// Sends a request and waits until the upstream has it.
  net::Client begin(const Rig& rig, std::string_view path = "/") {
    net::Client client = rig.client();
    client.send(net::get(path));
    patient.arrived.acquire();
    return client;
  }
  /// The free part of a limit for the client at 127.0.0.1, without taking anything.
  static std::string free(Rig& rig, std::string_view limit = "calls") {
    auto decision = rig.gateway->decider()->core.available("ip:127.0.0.1", "/", {}, {});
    if (!decision) return decision.error().message;
    const auto status = decision->limits().find(limit);
    return status ? status->remaining.to_string() : "none";
  }
  /// Waits until it is as it should be: the end of a request is seen a moment later than its answer.
  static void expect_free(Rig& rig, const std::string& expected) {
    for (int i = 0; i < 30'000 && free(rig) != expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(free(rig), expected);
  }
  std::shared_ptr<memory::MemoryStore> store_with(const std::vector<LimitText>& limits) {
    auto store = std::make_shared<memory::MemoryStore>(clock, *entropy_);
    limiter::Core core(
        {std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock), entropy_, store}, {});
    EXPECT_TRUE(core.set_limits(Level::system(), *parse_limits(limits), {}));
    return store;
  }

  FakeClock clock{1'800'000'000'000};
  Patient patient;
  Upstream upstream{[this](Peer& peer, unsigned number) { patient(peer, number); }};

 private:
  std::shared_ptr<base::SystemEntropy> entropy_ = std::make_shared<base::SystemEntropy>();
};

TEST_F(ConcurrentLimits, AreHeldForTheLengthOfTheCall) {
  Rig rig(Rig::route(upstream.url(), "limits: {rpm: 100/min}, cost: 5"),
          store_with({{"calls", "2:concurrent"}, {"rpm", "100/min"}}));
  for (int round = 0; round < 3; ++round) {
    net::Client first = begin(rig);
    net::Client second = begin(rig);
    EXPECT_EQ(free(rig), "0") << "one for each call, whatever it costs";
    const auto refused = rig.get("/");
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(refused.has("RateLimit-Policy: \"calls\";q=2, \"rpm\";q=100;w=60\r\n")) << refused.head;
    EXPECT_TRUE(refused.has("\"calls\";r=0;t=")) << refused.head;
    EXPECT_TRUE(refused.has("Retry-After: ")) << refused.head;
    patient.go.release();
    patient.go.release();
    EXPECT_EQ(first.receive().body, "passed");
    EXPECT_EQ(second.receive().body, "passed");
    expect_free(rig, "2");
  }
  EXPECT_EQ(free(rig, "rpm"), "70") << "a rate stays charged";
}

TEST_F(ConcurrentLimits, AreGivenBackWhenTheClientLeaves) {
  Rig rig(Rig::route(upstream.url(), "limits: {rpm: 100/min}"), store_with({{"calls", "1:concurrent"}}));
  {
    net::Client leaves = begin(rig);
    EXPECT_EQ(free(rig), "0");
    leaves.reset();
  }
  expect_free(rig, "1");
  patient.go.release();
}

TEST_F(ConcurrentLimits, AreGivenBackWhenTheUpstreamFails) {
  Rig rig(Rig::route("http://127.0.0.1:" + std::to_string(closed_port()), "limits: {rpm: 100/min}"),
          store_with({{"calls", "1:concurrent"}}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.get("/").status, 502);
  expect_free(rig, "1");
}

TEST_F(ConcurrentLimits, OfAGatewayThatEndsMidwayAreGivenBack) {
  const auto store = store_with({{"calls", "1:concurrent"}});
  {
    Rig rig(Rig::route(upstream.url(), "limits: {rpm: 100/min}"), store);
    net::Client waits = begin(rig);
    EXPECT_EQ(free(rig), "0");
    patient.go.release();
  }
  Rig again(Rig::route(upstream.url(), "limits: {rpm: 100/min}"), store);
  expect_free(again, "1");
}

TEST_F(ConcurrentLimits, AreExtendedAsLongAsTheCallGoesOn) {
  using std::chrono::milliseconds;
  const auto store = store_with({{"calls", "1:concurrent"}});
  Rig rig(Rig::route(upstream.url(), "limits: {rpm: 100/min}"), store, 1, true, {}, milliseconds(60));
  net::Client waits = begin(rig);
  const auto deadline = [&] {
    const auto buckets = rig.gateway->decider()->core.buckets("ip:127.0.0.1", {});
    return buckets && !buckets->items.empty() && !buckets->items[0].limits[0].held.empty()
               ? buckets->items[0].limits[0].held.back().deadline
               : Time{0};
  };
  for (int i = 0; i < 5; ++i) {
    const Time before = deadline();
    ASSERT_GT(before, clock.now());
    clock.advance(milliseconds(30));
    for (int wait = 0; wait < 60'000 && deadline() <= before; ++wait)
      std::this_thread::sleep_for(milliseconds(1));
    EXPECT_GT(deadline(), before);
    EXPECT_EQ(free(rig), "0");
  }
  patient.go.release();
  EXPECT_EQ(waits.receive().body, "passed");
  expect_free(rig, "1");
}

}  // namespace
}  // namespace weir::gateway
