// Four processes with sixteen callers each on one bucket and its parent's: they are admitted exactly to the
// allowance, whatever happens to scripts, connections and the server.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "support/eventually.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::RedisServer;

constexpr int processes = 4;
constexpr int callers = 16;
constexpr int allowance = 6000;

struct Counts {
  int admitted = 0;
  int unknown = 0;
  int wrong = 0;
};

enum class Manner { plain, keyed };

/// Acquires until it is refused for good. With a key, what is in doubt is sent again until it is known.
void call(Limiter& limiter, Manner manner, int caller, std::atomic<int>& admitted, std::atomic<int>& unknown,
          std::atomic<int>& wrong) {
  const std::string name = std::to_string(::getpid()) + "-" + std::to_string(caller) + "-";
  std::string key;
  for (int troubles = 0, calls = 0; troubles < 20'000;) {
    AcquireOptions options;
    if (manner == Manner::keyed) options.idempotency_key = key = name + std::to_string(calls);
    auto decision = limiter.acquire("key", "r", {{"rpm", 1}, {"tpm", 3}}, options);
    if (decision && decision->refused()) return;
    if (decision) {
      ++admitted;
      ++calls;
    } else if (decision.error().code == ErrorCode::outcome_unknown) {
      ++unknown;
    } else if (decision.error().code == ErrorCode::unavailable) {
      ++troubles;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      ++wrong;
      return;
    }
  }
  ++wrong;
}

/// One process: what it counted goes into the pipe.
[[noreturn]] void be_a_process(const std::string& url, Manner manner, int pipe) {
  std::atomic<int> admitted = 0;
  std::atomic<int> unknown = 0;
  std::atomic<int> wrong = 0;
  {
    auto limiter = Limiter::open(url, {.must_be_reachable = false});
    if (!limiter) ::_exit(1);
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
      threads.emplace_back([&, i] { call(*limiter, manner, i, admitted, unknown, wrong); });
  }
  const Counts counts{admitted, unknown, wrong};
  ::_exit(::write(pipe, &counts, sizeof counts) == sizeof counts ? 0 : 1);
}

/// Runs all processes, and `disturb` again and again meanwhile.
Counts run(const std::string& url, const std::function<void()>& disturb, Manner manner = Manner::plain) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      be_a_process(url, manner, pipe[1]);
    }
    children.push_back(child);
  }
  ::close(pipe[1]);
  Counts all;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      disturb();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(status, 0);
  }
  Counts one;
  while (::read(pipe[0], &one, sizeof one) == sizeof one) {
    all.admitted += one.admitted;
    all.unknown += one.unknown;
    all.wrong += one.wrong;
  }
  ::close(pipe[0]);
  return all;
}

void set_up(const std::string& url) {
  auto limiter = Limiter::open(url);
  ASSERT_TRUE(limiter) << limiter.error().message;
  // So slow that nothing refills meanwhile.
  const std::string slow = R"(,"refill_amount":0.001,"refill_period_ms":86400000})";
  const std::string rpm = R"({"capacity":)" + std::to_string(allowance) + slow;
  const std::string tpm = R"({"capacity":)" + std::to_string(10 * allowance) + slow;
  for (const char* const entity : {"key", "project"})
    ASSERT_TRUE(limiter->set_limits(Level::entity(entity, "r"), {{"rpm", rpm}, {"tpm", tpm}}));
  ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}));
}

/// Both buckets have charged the same, and exactly the allowance.
void expect_all_charged(const std::string& url) {
  auto limiter = Limiter::open(url);
  ASSERT_TRUE(limiter) << limiter.error().message;
  for (const char* const entity : {"key", "project"}) {
    const auto buckets = limiter->buckets(entity);
    ASSERT_TRUE(buckets) << buckets.error().message;
    ASSERT_EQ(buckets->items.size(), 1U);
    EXPECT_EQ(buckets->items[0].limits[0].consumed, Amount(allowance)) << entity;
    EXPECT_EQ(buckets->items[0].limits[1].consumed, Amount(3 * allowance)) << entity;
    EXPECT_EQ(buckets->items[0].limits[0].tokens, Amount(0)) << entity;
  }
}

/// What the first limit of the bucket has counted so far, in tokens (docs/format/redis.md).
int charged(const RedisServer& server) {
  const std::string record = server.ask({"GET", "weir:default:{key}:b:key:r"});
  double consumed = 0;
  if (record.size() >= 96) std::memcpy(&consumed, record.data() + 88, sizeof consumed);
  return static_cast<int>(consumed / 1000);
}

TEST(RedisExactness, ProcessesAreAdmittedExactlyToTheAllowance) {
  RedisServer server;
  set_up(server.patient_url());
  const Counts counts = run(server.patient_url(), [] {});
  EXPECT_EQ(counts.admitted, allowance);
  EXPECT_EQ(counts.unknown, 0);
  EXPECT_EQ(counts.wrong, 0);
  expect_all_charged(server.patient_url());
}

TEST(RedisExactness, AlsoWhileScriptsAreForgottenAndConnectionsKilled) {
  RedisServer server;
  set_up(server.patient_url());
  int disturbances = 0;
  const Counts counts = run(server.patient_url(), [&] {
    server.ask({"SCRIPT", "FLUSH"});
    if (++disturbances % 10 == 0) server.ask({"CLIENT", "KILL", "TYPE", "normal"});
  });
  EXPECT_LE(counts.admitted, allowance);
  EXPECT_GE(counts.admitted + counts.unknown, allowance) << "what is not admitted was in doubt";
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(disturbances, 10);
  expect_all_charged(server.patient_url());
}

TEST(RedisExactness, WithKeysWhatWasInDoubtIsSentAgainAndChargedOnce) {
  RedisServer server;
  set_up(server.patient_url());
  int disturbances = 0;
  const auto disturb = [&] {
    server.ask({"SCRIPT", "FLUSH"});
    if (++disturbances % 5 == 0) server.ask({"CLIENT", "KILL", "TYPE", "normal"});
  };
  const Counts counts = run(server.patient_url(), disturb, Manner::keyed);
  EXPECT_EQ(counts.admitted, allowance);
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(disturbances, 10);
  expect_all_charged(server.patient_url());
}

TEST(RedisExactness, AlsoOverRestartsThatSyncEveryWrite) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  set_up(server.patient_url());
  int restarts = 0;
  const Counts counts = run(server.patient_url(), [&] {
    if (restarts == 4 || charged(server) < (restarts + 1) * allowance / 6) return;
    server.kill();
    server.start();
    ++restarts;
  });
  EXPECT_GT(restarts, 0);
  EXPECT_LE(counts.admitted, allowance);
  EXPECT_GE(counts.admitted + counts.unknown, allowance);
  EXPECT_EQ(counts.wrong, 0);
  expect_all_charged(server.patient_url());
}

}  // namespace
}  // namespace weir
