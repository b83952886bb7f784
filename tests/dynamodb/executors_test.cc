// Threads that serve many at once are told of their operations on their own.
#include <atomic>
#include <deque>
#include <thread>

#include "app/open_store.h"
#include "dynamodb/faulty_proxy.h"
#include "dynamodb/table.h"
#include "limiter/pending.h"
#include "support/test_executor.h"

namespace weir::dynamodb {
namespace {

using tests::TestExecutor;

class Executors : public testing::Test {
 protected:
  Executors() {
    EXPECT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "20/day"}}));
    foundation = {std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                  std::make_shared<base::SystemEntropy>(), table.store({.refuse_for = 0ms})};
    core = std::make_unique<limiter::Core>(foundation, Options{});
  }
  struct Call {
    explicit Call(limiter::Core& core) : pending(core) {}
    static void done(void* self, Result<void>&& result) {
      auto& call = *static_cast<Call*>(self);
      call.thread = std::this_thread::get_id();
      call.admitted = result && call.pending.decision().admitted();
      call.result = std::move(result);
      ++*call.told;
    }
    limiter::PendingAcquire pending;
    std::atomic<int>* told = nullptr;
    std::thread::id thread;
    bool admitted = false;
    Result<void> result;
  };
  /// Its limits are known from here on: who has to look them up first goes on where they were found.
  void warm(const std::string& entity) {
    const auto decision = core->acquire(entity, "gpt-4", nothing, {});
    EXPECT_TRUE(decision) << decision.error().message;
  }
  /// So many at once, on this thread, until it was told of all of them.
  std::deque<Call> serve(TestExecutor& executor, int count, const std::string& entity) {
    std::deque<Call> calls;
    std::atomic<int> told{0};
    for (int i = 0; i < count; ++i) {
      Call& call = calls.emplace_back(*core);
      call.told = &told;
      call.pending.start(entity, "gpt-4", consume, {}, {&Call::done, &call});
    }
    while (told < count && executor.tell_next()) {
    }
    EXPECT_EQ(told, count);
    for (const Call& call : calls) EXPECT_EQ(call.thread, std::this_thread::get_id());
    return calls;
  }

  const std::vector<Charge> nothing{{"rpm", Amount(0)}};
  const std::vector<Charge> consume{{"rpm", Amount(1)}};
  TestTable table;
  limiter::Foundation foundation;
  std::unique_ptr<limiter::Core> core;
};

TEST_F(Executors, ADecisionIsDeliveredOnTheThreadOfItsCaller) {
  warm("key");
  TestExecutor executor;
  int admitted = 0;
  for (const Call& call : serve(executor, 30, "key")) {
    EXPECT_TRUE(call.result) << call.result.error().message;
    admitted += call.admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted, 20);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 20'000);
}

TEST_F(Executors, EachOfSeveralThreadsGetsItsOwnDecisions) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const std::string entity = "key-" + std::to_string(i);
      warm(entity);
      TestExecutor executor;
      for (int round = 0; round < 3; ++round) {
        for (const Call& call : serve(executor, 5, entity)) EXPECT_TRUE(call.admitted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(table.number("key-" + std::to_string(i), "b_rpm_tc"), 15'000);
}

TEST_F(Executors, AFailureIsDeliveredThereToo) {
  std::atomic<bool> unavailable{false};
  tests::FaultyProxy proxy(tests::DynamoDbLocal::shared().port(), [&](const std::string&) {
    return unavailable ? tests::FaultyProxy::Fault::lost_before : tests::FaultyProxy::Fault::none;
  });
  foundation.store =
      *app::open_store("dynamodb://" + table.table + "?deadline_ms=3000&endpoint=" + proxy.url(), {},
                       foundation.clock, *foundation.entropy);
  core = std::make_unique<limiter::Core>(foundation, Options{});
  warm("key");
  TestExecutor executor;
  unavailable = true;
  for (const Call& call : serve(executor, 8, "key")) EXPECT_FALSE(call.result);
}

}  // namespace
}  // namespace weir::dynamodb
