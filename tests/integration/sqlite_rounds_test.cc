// Callers that serve many at once: what they ask for in a round shares a commit, and they are told on their
// own thread.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "app/open_store.h"
#include "limiter/pending.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "support/test_executor.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::TestExecutor;

class Rounds : public testing::Test {
 protected:
  Rounds() {
    auto clock = std::make_shared<FakeClock>();
    auto entropy = std::make_shared<base::SystemEntropy>();
    foundation = {clock, entropy, *app::open_store("sqlite:" + folder.file("weir.db"), {}, clock, *entropy)};
    core = std::make_unique<limiter::Core>(foundation, Options{});
    const std::vector<NamedLimit> limits{{"rpm", *Limit::parse("1000000/day")}};
    EXPECT_TRUE(core->set_limits(Level::system(), limits, {}));
    // From here on the bucket is there.
    EXPECT_TRUE(core->acquire("key", "r", consume, {}));
  }
  sqlite::SqliteStore& file() { return dynamic_cast<sqlite::SqliteStore&>(*foundation.store); }

  const std::vector<Charge> consume{{"rpm", Amount(1)}};
  tests::Folder folder;
  limiter::Foundation foundation;
  std::unique_ptr<limiter::Core> core;
};

struct Call {
  explicit Call(limiter::Core& core) : pending(core) {}
  static void done(void* self, Result<void>&& result) {
    auto& call = *static_cast<Call*>(self);
    call.thread = std::this_thread::get_id();
    call.ok = result && call.pending.decision().admitted();
  }
  limiter::PendingAcquire pending;
  std::thread::id thread;
  bool ok = false;
};

TEST_F(Rounds, ShareACommitAndAreToldOnTheirThread) {
  constexpr int count = 300;
  TestExecutor executor;
  std::deque<Call> calls;
  const auto before = file().counts().commits;
  foundation.store->buckets().begin_round();
  for (int i = 0; i < count; ++i)
    calls.emplace_back(*core).pending.start("key", "r", consume, {}, {&Call::done, &calls.back()});
  foundation.store->buckets().end_round();
  while (!calls.back().ok) ASSERT_TRUE(executor.tell_next());
  for (const Call& call : calls) {
    EXPECT_TRUE(call.ok);
    EXPECT_EQ(call.thread, std::this_thread::get_id());
  }
  // The writer also looks by itself now and then.
  EXPECT_LE(file().counts().commits, before + 3);
  EXPECT_EQ(core->available("key", "r", {}, {})->limits()[0].remaining, Amount(1'000'000 - 1 - count));
}

TEST_F(Rounds, DoNotHoldUpThoseWhoHaveNone) {
  foundation.store->buckets().begin_round();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(core->acquire("key", "r", consume, {})->admitted());
  foundation.store->buckets().end_round();
}

TEST_F(Rounds, OfSeveralThreadsLoseNobody) {
  constexpr int rounds = 200;
  std::atomic<int> told = 0;
  const auto serve = [&] {
    TestExecutor executor;
    for (int i = 0; i < rounds; ++i) {
      std::deque<Call> calls;
      foundation.store->buckets().begin_round();
      for (int one = 0; one < 1 + i % 7; ++one)
        calls.emplace_back(*core).pending.start("key", "r", consume, {}, {&Call::done, &calls.back()});
      foundation.store->buckets().end_round();
      while (!calls.back().ok) ASSERT_TRUE(executor.tell_next());
      for (const Call& call : calls) told += call.ok ? 1 : 0;
    }
  };
  std::thread other(serve);
  std::thread third(serve);
  serve();
  other.join();
  third.join();
  int expected = 0;
  for (int i = 0; i < rounds; ++i) expected += 1 + i % 7;
  EXPECT_EQ(told, 3 * expected);
  EXPECT_EQ(core->available("key", "r", {}, {})->limits()[0].remaining, Amount(1'000'000 - 1 - 3 * expected));
}

}  // namespace
}  // namespace weir
