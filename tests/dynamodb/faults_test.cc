// Answers that are lost, cut, repeated or late: nothing is charged twice, nothing admitted that was not
// there.
#include "dynamodb/faulty_proxy.h"
#include "dynamodb/table.h"

namespace weir::dynamodb {
namespace {

using tests::FaultyProxy;
using Fault = FaultyProxy::Fault;

bool writes(const std::string& request) {
  return request.find(".UpdateItem") != std::string::npos || request.find(".PutItem") != std::string::npos ||
         request.find(".TransactWriteItems") != std::string::npos;
}

/// Every third write or so meets one of the faults, in an order that the seed decides.
FaultyProxy::Choose by_chance(unsigned seed, int one_in) {
  return [random = std::mt19937(seed), one_in](const std::string& request) mutable {
    if (!writes(request) || static_cast<int>(random() % static_cast<unsigned>(one_in)) != 0)
      return Fault::none;
    constexpr Fault faults[] = {Fault::lost_before, Fault::lost_after, Fault::cut, Fault::twice, Fault::late};
    return faults[random() % 5];
  };
}

class Faults : public testing::Test {
 protected:
  using Steady = std::chrono::steady_clock;
  static Steady::time_point patient() { return Steady::now() + 60s; }
  static bool over(Steady::time_point patience) { return Steady::now() >= patience; }
  std::string through(const FaultyProxy& proxy, int deadline_ms) const {
    return "dynamodb://" + table.table + "?endpoint=" + proxy.url() +
           "&refuse_ms=0&deadline_ms=" + std::to_string(deadline_ms);
  }
  /// The start-up may meet a fault, too, or take longer than the deadline.
  Limiter opened(const std::string& url) {
    auto limiter = Limiter::open(url, {.clock = &table.clock});
    for (const auto patience = patient(); !limiter && !over(patience);)
      limiter = Limiter::open(url, {.clock = &table.clock});
    EXPECT_TRUE(limiter) << limiter.error().message;
    return *std::move(limiter);
  }
  TestTable table;
};

TEST_F(Faults, AnAcquireWhoseAnswerIsLostIsNotSentAgain) {  // S9
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "10/min"}}));
  int lose = 0;
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), [&](const std::string& request) {
    return writes(request) && lose-- > 0 ? Fault::lost_after : Fault::none;
  });
  Limiter limiter = table.limiter(proxy.url());
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  lose = 1;
  const auto lost = limiter.acquire("key", "gpt-4", {{"rpm", 1}});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::outcome_unknown);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 2'000) << "charged once";
}

TEST_F(Faults, ARollbackWhoseAnswerIsLostGivesBackOnce) {  // S10
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "10/min"}}));
  int lose = 0;
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), [&](const std::string& request) {
    return writes(request) && lose-- > 0 ? Fault::lost_after : Fault::none;
  });
  Limiter limiter = table.limiter(proxy.url());
  auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 4}});
  const std::string id = *decision->lease().id();
  lose = 3;
  const auto first = limiter.rollback(id);
  EXPECT_TRUE(first) << first.error().message;
  lose = 0;
  EXPECT_TRUE(limiter.rollback(id));
  EXPECT_EQ(table.number("key", "b_rpm_tk"), 10'000);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 0);
}

TEST_F(Faults, ACascadeWhoseAnswerIsLostIsSentAgainAndChargedOnce) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "10/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  int lose = 0;
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), [&](const std::string& request) {
    return writes(request) && lose-- > 0 ? Fault::lost_after : Fault::none;
  });
  Limiter limiter = table.limiter(proxy.url());
  lose = 2;
  const auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 3}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 3'000);
  EXPECT_EQ(table.number("project", "b_rpm_tc"), 3'000);
}

/// Calls that may be sent again, each with a key or of a lease, while every answer to a write is lost: until
/// the store is not asked any more.
class LostAnswers : public Faults {
 protected:
  void SetUp() override {
    ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "10/min"}}));
    limiter = opened(through(proxy, 5000));
  }
  template <class Call>
  ErrorCode code_of(Call&& call) {
    lose = true;
    const auto answer = call();
    EXPECT_FALSE(answer);
    return answer ? ErrorCode::invalid_argument : answer.error().code;
  }
  std::atomic<bool> lose{false};
  FaultyProxy proxy{tests::DynamoDbLocal::shared().port(), [&](const std::string& request) {
                      return writes(request) && lose ? Fault::lost_after : Fault::none;
                    }};
  Limiter limiter = table.limiter();
};

TEST_F(LostAnswers, OfAnAcquireWithAKeyAreNotCalledUnavailable) {
  EXPECT_EQ(code_of([&] { return limiter.acquire("key", "gpt-4", {{"rpm", 3}}, {.idempotency_key = "K"}); }),
            ErrorCode::outcome_unknown);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 3'000) << "charged once";
}

TEST_F(LostAnswers, OfASettleAreNotCalledUnavailable) {
  auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 3}});
  ASSERT_TRUE(decision) << decision.error().message;
  const std::string id = *decision->lease().id();
  EXPECT_EQ(code_of([&] { return limiter.settle(id, {{"rpm", 1}}); }), ErrorCode::outcome_unknown);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 1'000) << "settled once";
}

TEST_F(LostAnswers, OfAGrantAreNotCalledUnavailable) {
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 3}}));
  EXPECT_EQ(code_of([&] { return limiter.grant("key", "gpt-4", {{"rpm", 5}}, {.key = "K"}); }),
            ErrorCode::outcome_unknown);
}

TEST_F(Faults, UnderAllFaultsNothingIsAdmittedThatWasNotThere) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "120/day"}}));
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), by_chance(7, 3));
  std::atomic<int> admitted{0};
  std::atomic<int> unknown{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      Limiter limiter = opened(through(proxy, 200));
      for (int j = 0; j < 60; ++j) {
        const auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 1}});
        if (decision && decision->admitted()) ++admitted;
        if (!decision && decision.error().code == ErrorCode::outcome_unknown) ++unknown;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const std::int64_t consumed = table.number("key", "b_rpm_tc") / 1000;
  EXPECT_LE(admitted, 120);
  EXPECT_GE(consumed, admitted);
  EXPECT_LE(consumed, admitted + unknown);
  EXPECT_EQ(table.number("key", "b_rpm_tk") / 1000, 120 - consumed);
  EXPECT_GT(proxy.harmed(), 10);
}

TEST_F(Faults, UnderAllFaultsAnAcquireWithAKeyIsChargedExactlyOnce) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "1000/day"}}));
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), by_chance(11, 2));
  Limiter limiter = opened(through(proxy, 200));
  for (int i = 0; i < 25; ++i) {
    const std::string key = "request-" + std::to_string(i);
    bool admitted = false;
    // For a while after some failures in a row the store does not even ask.
    for (const auto patience = patient(); !admitted && !over(patience); std::this_thread::yield()) {
      const auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 1}}, {.idempotency_key = key});
      admitted = decision && decision->admitted();
    }
    ASSERT_TRUE(admitted) << i;
  }
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 25'000);
}

TEST_F(Faults, UnderAllFaultsSettlingHappensExactlyOnce) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1000/day"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), by_chance(13, 2));
  Limiter limiter = opened(through(proxy, 200));
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    auto decision = admin.acquire("key", "gpt-4", {{"rpm", 10}});
    ids.push_back(*decision->lease().id());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bool ended = false;
    for (const auto patience = patient(); !ended && !over(patience); std::this_thread::yield()) {
      const auto changed =
          i % 2 == 0 ? limiter.rollback(ids[i]) : limiter.settle(ids[i], std::vector<Charge>{{"rpm", 4}});
      ended = changed.ok();
    }
    ASSERT_TRUE(ended) << i;
  }
  for (const char* const entity : {"key", "project"}) {
    EXPECT_EQ(table.number(entity, "b_rpm_tc"), 40'000) << entity;
    EXPECT_EQ(table.number(entity, "b_rpm_tk"), 960'000) << entity;
  }
}

TEST_F(Faults, AServerThatIsAwaySaysSoAndComesBack) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "1000/day"}}));
  std::atomic<bool> unavailable{false};
  FaultyProxy proxy(tests::DynamoDbLocal::shared().port(),
                    [&](const std::string&) { return unavailable ? Fault::lost_before : Fault::none; });
  StoreOptions options;
  options.clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock);
  options.table = table.table;
  options.endpoint = proxy.url();
  options.deadline = 1s;
  auto store = *DynamoStore::open(options);
  EXPECT_TRUE(store->health());
  unavailable = true;
  while (store->health()) {
    (void)store::wait_for<store::Found>([&](store::Completion<store::Found> done) {
      store->catalog().find("default", "key", "gpt-4", done);
    });
  }
  const auto why = store->health();
  EXPECT_EQ(why.error().code, ErrorCode::unavailable);
  unavailable = false;
  while (!store->health()) std::this_thread::yield();
  const auto found = store::wait_for<store::Found>(
      [&](store::Completion<store::Found> done) { store->catalog().find("default", "key", "gpt-4", done); });
  EXPECT_TRUE(found) << found.error().message;
}

}  // namespace
}  // namespace weir::dynamodb
