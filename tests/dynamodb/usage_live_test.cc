// Usage on DynamoDB beside live traffic, from processes that are killed and from some that are not.
#include <sys/wait.h>

#include <random>
#include <thread>

#include "dynamodb/hammer.h"
#include "dynamodb/shared_clock.h"
#include "dynamodb/usage_on_dynamo.h"
#include "support/folder.h"

namespace weir::dynamodb {
namespace {

/// A process `weir aggregate`, to be killed.
class AggregateProcess {
 public:
  explicit AggregateProcess(const TestTable& table) : pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string store = "dynamodb://" + table.table + "?endpoint=" + table.endpoint;
    ::execl(WEIR_PROGRAM, WEIR_PROGRAM, "aggregate", "--batch", "50ms", "--log-level", "error", "--store",
            store.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~AggregateProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  AggregateProcess(const AggregateProcess&) = delete;
  AggregateProcess& operator=(const AggregateProcess&) = delete;

 private:
  const pid_t pid_;
};

/// The amounts that an entity was charged, or that were counted for it, in millitokens.
struct Charged {
  std::int64_t rpm = 0;
  std::int64_t tpm = 0;
};

class UsageWithKills : public UsageOnDynamo {
 protected:
  static constexpr int entities = 7;
  static constexpr int clients = 4;
  static constexpr int acquires = 3;  // of each client between two kills
  static std::string entity(int index) { return "key-" + std::to_string(index); }

  /// Kills one of three workers after another, at random moments, while clients charge.
  void kill_workers(int kills) {
    std::mt19937 random(17);
    std::vector<Limiter> limiters;
    for (int i = 0; i < clients; ++i) limiters.push_back(table.limiter());
    std::vector<std::unique_ptr<AggregateProcess>> workers(3);
    for (auto& worker : workers) worker = std::make_unique<AggregateProcess>(table);
    for (int i = 0; i < kills; ++i) {
      std::thread traffic([&] { charge_from_all(limiters, i); });
      ::poll(nullptr, 0, static_cast<int>(random() % 1200));
      auto& victim = workers[random() % workers.size()];
      victim.reset();
      traffic.join();
      release_shards(random() % 2 == 0);
      victim = std::make_unique<AggregateProcess>(table);
      if (i % 8 == 7) table.clock.advance(10min);
    }
    workers.clear();
    release_shards(true);
  }
  Charged counted_of(const std::string& entity, std::int64_t& events) {
    Charged sum;
    auto store = table.store();
    const auto page = store::wait_for<Page<Usage>>([&](store::Completion<Page<Usage>> done) {
      store->usage().read({.name_space = "default", .entity = entity, .to = last_window}, {.limit = 1000},
                          done);
    });
    EXPECT_TRUE(page);
    for (const Usage& row : page->items) {
      events += row.events;
      for (const UsedAmount& limit : row.limits)
        (limit.limit == "rpm" ? sum.rpm : sum.tpm) += limit.amount.millitokens();
    }
    return sum;
  }
  /// At rest: what was counted of each entity is what was charged to it.
  void expect_exact(int kills) {
    auto aggregation = Aggregation::start(options());
    ASSERT_TRUE(aggregation) << aggregation.error().message;
    ASSERT_TRUE((*aggregation)->count_all(120s)) << (*aggregation)->state().trouble;
    std::int64_t events = 0;
    for (int i = 0; i < entities; ++i) {
      const Charged counted = counted_of(entity(i), events);
      EXPECT_EQ(counted.rpm, charged_[static_cast<std::size_t>(i)].rpm) << entity(i);
      EXPECT_EQ(counted.tpm, charged_[static_cast<std::size_t>(i)].tpm) << entity(i);
    }
    EXPECT_EQ(events, events_);
    by_killed_ = events - static_cast<std::int64_t>((*aggregation)->state().events);
    std::cout << kills << " kills, " << events << " events, " << by_killed_
              << " of them counted by workers that were killed; read again from the start " << from_start_
              << " times\n";
  }

  std::int64_t by_killed_ = 0;  ///< events that were counted before expect_exact()

 private:
  void charge_from_all(std::vector<Limiter>& limiters, int round) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0; j < acquires; ++j) {
          const int index = (round + i + j) % entities;
          Decision lease = acquire(limiters[static_cast<std::size_t>(i)], entity(index),
                                   {{"rpm", 1 + j % 3}, {"tpm", 100}});
          const bool settles = (round + j) % 5 == 0;
          EXPECT_TRUE(!settles || lease.lease().settle({{"tpm", 90}}));
          const std::scoped_lock lock(mutex);
          charged_[static_cast<std::size_t>(index)].rpm += std::int64_t{1000} * (1 + j % 3);
          charged_[static_cast<std::size_t>(index)].tpm += settles ? 90'000 : 100'000;
          events_ += settles ? 2 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  /// Ends the leases of the shards, as time does. From the start: the next worker reads from TRIM_HORIZON;
  /// otherwise it goes on where the last one was.
  void release_shards(bool from_start) {
    const auto leases = table.client->ask(
        "Query",
        query(table.table, {.pk = std::string(aggregator_pk), .begins_with = std::string(shard_prefix)}).json,
        true);
    ASSERT_TRUE(leases.ok());
    from_start_ += from_start ? 1 : 0;
    for (const Item& item : leases.answer.items) {
      ItemWrite write = erase(key_of(item));
      if (!from_start) {
        write = {.kind = ItemWrite::Kind::update, .key = key_of(item)};
        write.expression.set("until", Value::of(Time{0}));
      }
      Request request = single_write(table.table, write);
      ASSERT_TRUE(table.client->ask(std::move(request.operation), std::move(request.json), true).ok());
    }
  }

  // As the callers know it, since a bucket may expire and be made anew meanwhile.
  std::array<Charged, entities> charged_;
  std::int64_t events_ = 0;
  int from_start_ = 0;
};

TEST_F(UsageWithKills, LiveTrafficBesideWorkersThatAreKilledIsCountedExactly) {
  kill_workers(12);
  expect_exact(12);
}

using UsageSoak = UsageWithKills;

TEST_F(UsageSoak, TwoHundredKillsOverOneHistoryNeitherLoseNorDoubleAnything) {
  kill_workers(220);
  expect_exact(220);
  EXPECT_GT(by_killed_, 0);
}

TEST(UsageSoakLive, FiveMinutesOfTrafficFromFourProcessesEqualTheCountersOfTheBuckets) {
  TestTable table;
  const tests::Folder folder;
  const SystemClock system;
  // The real time, which the processes share so that they learn when it is over.
  tests::SharedClock clock(folder.file("clock"));
  clock.set(system.now());
  Limiter admin = *Limiter::open(table.url(), {.clock = &clock});
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "1000000/min"}}));
  AggregationOptions options;
  options.store = {.table = table.table, .endpoint = table.endpoint, .deadline = 60s};
  auto aggregation = Aggregation::start(options);
  ASSERT_TRUE(aggregation) << aggregation.error().message;
  const auto traffic = [&](const char* entity) {
    hammer(table.url(), 2, base::join(entity, " 2 1000000 ", folder.file("clock")), [&] {
      while (!clock.over()) ::poll(nullptr, 0, 20);
    });
  };
  std::thread first([&] { traffic("key-1"); });
  std::thread second([&] { traffic("key-2"); });
  Time most_lag = 0;
  const auto until = std::chrono::steady_clock::now() + 5min;
  while (std::chrono::steady_clock::now() < until) {
    clock.set(system.now());
    most_lag = std::max(most_lag, (*aggregation)->state().lag);
    ::poll(nullptr, 0, 5);
  }
  clock.end();
  first.join();
  second.join();
  ASSERT_TRUE((*aggregation)->count_all(120s)) << (*aggregation)->state().trouble;
  for (const char* const entity : {"key-1", "key-2"}) {
    std::int64_t counted = 0;
    const auto page = admin.usage({.entity = entity});
    ASSERT_TRUE(page) << page.error().message;
    for (const Usage& row : page->items) counted += row.limits.at(0).amount.millitokens();
    EXPECT_EQ(counted, table.number(entity, "b_rpm_tc")) << entity;
  }
  std::cout << (*aggregation)->state().events << " events, lag at most " << most_lag << " ms\n";
}

}  // namespace
}  // namespace weir::dynamodb
