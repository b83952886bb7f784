// Several processes on one Redis: what they share, how soon they know of each other's changes, and what goes
// over the wire.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <thread>

#include "net/certificates.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::eventually;
using tests::RedisServer;

/// Every command that arrives while something is done, as MONITOR shows it, without those that scripts make.
class Monitored {
 public:
  explicit Monitored(RedisServer& server) : server_(server), probe_(server.port()) {
    probe_.ask({"MONITOR"});
  }
  std::vector<std::string> commands() {
    server_.ask({"ECHO", "the end"});
    std::vector<std::string> lines;
    for (std::string line = probe_.next(); line.find("the end") == std::string::npos; line = probe_.next()) {
      if (line == "-gone") break;
      if (line.find(" lua]") == std::string::npos) lines.push_back(line);
    }
    return lines;
  }

 private:
  RedisServer& server_;
  tests::RedisProbe probe_;
};

/// New buckets, debts and concurrent limits are read, decided and written in two commands. Callers that
/// charge the same parent in one command must not win against them every time.
TEST(RedisSharing, NobodyLosesForEverAgainstThoseThatChargeTheSameParent) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter) << limiter.error().message;
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "1000000000/min"}}));
  ASSERT_TRUE(limiter->put_entity({.id = "busy", .parent = "project", .cascade = true}));
  std::atomic<bool> done = false;
  std::atomic<int> charged = 0;
  std::vector<std::jthread> busy;
  for (int i = 0; i < 6; ++i) {
    busy.emplace_back([&] {
      for (; !done; ++charged) EXPECT_TRUE(limiter->acquire("busy", "r", {{"rpm", 1}}));
    });
  }
  int made = 0;
  for (; made < 40 && !HasFailure(); ++made) {
    const std::string key = "key" + std::to_string(made);
    EXPECT_TRUE(limiter->put_entity({.id = key, .parent = "project", .cascade = true}));
    EXPECT_TRUE(limiter->set_limits(Level::entity(key, "r"), {{"rpm", "10/min"}}));
    auto decision = limiter->acquire(key, "r", {{"rpm", 1}});
    EXPECT_TRUE(decision) << decision.error().message;
    if (!decision) break;
    const auto settled = decision->lease().settle({{"rpm", 100}});
    EXPECT_TRUE(settled) << settled.error().message;
  }
  done = true;
  busy.clear();
  const auto used = limiter->usage({.entity = "project"});
  ASSERT_TRUE(used) << used.error().message;
  std::int64_t total = 0;
  for (const Usage& hour : used->items) total += hour.limits[0].amount.millitokens();
  EXPECT_EQ(total, 1000 * (charged + 100 * made));
  EXPECT_EQ(made, 40);
}

TEST(RedisSharing, AnAcquireIsOneCommandWhateverItsLimitsAndLevels) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter) << limiter.error().message;
  ASSERT_TRUE(
      limiter->set_limits(Level::system(), {{"rpm", "1000/min"}, {"tpm", "5/min"}, {"rpd", "9000/day"}}));
  ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}));
  ASSERT_TRUE(limiter->put_entity({.id = "project", .parent = "company", .cascade = true}));
  const auto acquire = [&](std::string_view entity, int tokens) {
    const auto decision = limiter->acquire(entity, "r", {{"rpm", 1}, {"tpm", tokens}, {"rpd", 1}});
    ASSERT_TRUE(decision) << decision.error().message;
  };
  acquire("key", 1);
  acquire("single", 1);
  Monitored monitored(server);
  acquire("single", 1);  // one bucket
  acquire("key", 1);     // a chain of three
  acquire("key", 100);   // refused
  const auto commands = monitored.commands();
  EXPECT_EQ(commands.size(), 3U);
  for (const std::string& command : commands)
    EXPECT_NE(command.find("\"EVALSHA\""), std::string::npos) << command;
}

TEST(RedisSharing, ASettleIsOneCommand) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"tpm", "1000/min"}}));
  ASSERT_TRUE(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}));
  ASSERT_TRUE(limiter->acquire("key", "r", {{"tpm", 1}})->lease().settle({{"tpm", 2}}));
  auto decision = limiter->acquire("key", "r", {{"tpm", 100}});
  Monitored monitored(server);
  ASSERT_TRUE(decision->lease().settle({{"tpm", 30}}));
  EXPECT_EQ(monitored.commands().size(), 1U);
  EXPECT_EQ(limiter->buckets("project")->items[0].limits[0].consumed, Amount(2 + 30));
}

TEST(RedisSharing, AChangeByAnotherProcessIsSoonKnown) {
  RedisServer server;
  const std::string url = server.patient_url() + "&cache_ms=3600000";
  auto one = Limiter::open(url);
  auto other = Limiter::open(url);
  ASSERT_TRUE(one && other);
  ASSERT_TRUE(other->set_limits(Level::system(), {{"rpm", "10/min"}}));
  const auto capacity = [&] {
    const auto decision = one->acquire("key", "r", {{"rpm", 0}});
    return decision ? decision->limits()[0].capacity : Amount();
  };
  ASSERT_TRUE(eventually([&] { return capacity() == Amount(10); }));
  ASSERT_TRUE(other->set_limits(Level::system(), {{"rpm", "20/min"}}));
  EXPECT_TRUE(eventually([&] { return capacity() == Amount(20); })) << "it was told, not asked after an hour";
  ASSERT_TRUE(other->set_limits(Level::resource("r"), {{"rpm", "30/min"}}));
  EXPECT_TRUE(eventually([&] { return capacity() == Amount(30); }));
  ASSERT_TRUE(other->delete_limits(Level::resource("r")));
  EXPECT_TRUE(eventually([&] { return capacity() == Amount(20); }));
}

TEST(RedisSharing, AChangeOfAnEntitysLimitsHoldsAtOnceEvenForWhoWasNotTold) {
  RedisServer server;
  const std::string url = server.patient_url() + "&cache_ms=3600000";
  auto one = Limiter::open(url);
  ASSERT_TRUE(one->set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(one->acquire("key", "r", {{"rpm", 1}}));
  // A user that may not subscribe hears nothing.
  server.ask({"ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"});
  auto deaf =
      Limiter::open("redis://deaf:secret@" + server.address() + "?cache_ms=3600000&deadline_ms=20000");
  ASSERT_TRUE(deaf) << deaf.error().message;
  ASSERT_TRUE(deaf->acquire("key", "r", {{"rpm", 1}}));
  ASSERT_TRUE(one->set_limits(Level::entity("key", "r"), {{"rpm", "5/min"}}));
  const auto decision = deaf->acquire("key", "r", {{"rpm", 0}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->limits()[0].capacity, Amount(5));
}

TEST(RedisSharing, AParentThatWasAcknowledgedIsChargedAtOnceEvenByWhoWasNotTold) {
  RedisServer server;
  const std::string more = "cache_ms=3600000&deadline_ms=20000";
  auto one = Limiter::open(server.url() + "?" + more);
  ASSERT_TRUE(one->set_limits(Level::system(), {{"rpm", "100/min"}}));
  server.ask({"ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"});
  auto deaf = Limiter::open("redis://deaf:secret@" + server.address() + "?" + more);
  ASSERT_TRUE(deaf) << deaf.error().message;
  // Both know an entity without a parent.
  ASSERT_TRUE(one->available("key", "r"));
  ASSERT_TRUE(deaf->available("key", "r"));
  const auto put = one->put_entity({.id = "key", .parent = "project", .cascade = true});
  ASSERT_TRUE(put) << put.error().message;
  for (Limiter* const limiter : {&*deaf, &*one, &*deaf}) {
    const auto decision = limiter->acquire("key", "r", {{"rpm", 1}});
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_EQ(decision->limits().size(), 2U);
  }
  EXPECT_EQ(one->buckets("project")->items[0].limits[0].consumed, Amount(3));
}

TEST(RedisSharing, AMoveThatIsRefusedKeepsNobodyFromMakingBuckets) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_EQ(limiter->put_entity({.id = "key", .parent = "project", .cascade = true}).error().code,
            ErrorCode::conflict);
  const auto decision = limiter->acquire("key", "other", {{"rpm", 1}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted());
}

/// Milliseconds by the server's clock.
Time time_of(const RedisServer& server) {
  std::istringstream words(server.ask({"TIME"}));
  Time seconds = 0;
  Time micros = 0;
  words >> seconds >> micros;
  return seconds * 1000 + micros / 1000;
}

// A client that has just heard the server's time goes on counting by itself for a while, and must never be
// ahead.
TEST(RedisSharing, NobodyIsAheadOfTheServersClock) {
  RedisServer server;
  constexpr Time per_millisecond = 2;
  constexpr int capacity = 10;
  std::vector<Limiter> limiters;
  for (int i = 0; i < 3; ++i) limiters.push_back(*Limiter::open(server.patient_url()));
  const std::string fast = R"({"capacity":10,"burst":1000,"refill_amount":2,"refill_period_ms":1})";
  ASSERT_TRUE(limiters[0].set_limits(Level::system(), {{"rps", fast}, {"tpm", "1000000000/min"}}));
  const Time from = time_of(server);
  std::atomic<int> admitted = 0;
  {
    std::vector<std::jthread> threads;
    for (Limiter& limiter : limiters) {
      threads.emplace_back([&] {
        for (int i = 0; i < 4000; ++i) {
          auto decision = limiter.acquire("key", "r", {{"rps", 1}, {"tpm", 1}});
          if (decision && decision->admitted()) ++admitted;
        }
      });
    }
  }
  const Time to = time_of(server);
  EXPECT_LE(admitted, capacity + per_millisecond * (to - from));
  EXPECT_GT(admitted, capacity) << "something refilled";
  const Bucket bucket = limiters[0].buckets("key")->items[0];
  EXPECT_EQ(bucket.limits[0].consumed, Amount(admitted.load())) << "counters equal the sum";
  EXPECT_LE(bucket.refilled_at, to);
}

TEST(RedisSharing, UsersDatabasesAndPrefixesAreKeptApart) {
  RedisServer server;
  server.ask({"ACL", "SETUSER", "alice", "on", ">p@ss:word", "~mine:*", "&mine:*", "+@all"});
  auto mine =
      Limiter::open("redis://alice:p%40ss%3Aword@" + server.address() + "/3?prefix=mine&deadline_ms=20000");
  ASSERT_TRUE(mine) << mine.error().message;
  ASSERT_TRUE(mine->set_limits(Level::system(), {{"rpm", "10/min"}}));
  ASSERT_TRUE(mine->acquire("key", "r", {{"rpm", 1}}));
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
  auto theirs = Limiter::open("redis://alice:p%40ss%3Aword@" + server.address() + "/3?prefix=theirs");
  ASSERT_FALSE(theirs);
  EXPECT_NE(theirs.error().message.find("NOPERM"), std::string::npos) << theirs.error().message;
}

TEST(RedisSharing, ScriptsThatTheServerForgetsAreSentAgain) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/min"}}));
  for (int i = 0; i < 10; ++i) {
    server.ask({"SCRIPT", "FLUSH"});
    auto decision = limiter->acquire("key", "r", {{"rpm", 2}});
    ASSERT_TRUE(decision) << decision.error().message;
    server.ask({"SCRIPT", "FLUSH"});
    ASSERT_TRUE(decision->lease().settle({{"rpm", 1}}));
  }
  EXPECT_EQ(limiter->buckets("key")->items[0].limits[0].consumed, Amount(10));
}

TEST(RedisSharing, WhoMayNotCallScriptsByTheirDigestsSendsThemWhole) {
  RedisServer server;
  ASSERT_EQ(server.ask({"ACL", "SETUSER", "bob", "on", ">word", "~*", "&*", "+@all", "-evalsha", "-script"}),
            "OK");
  auto limiter = Limiter::open("redis://bob:word@" + server.address() + "?deadline_ms=20000");
  ASSERT_TRUE(limiter) << limiter.error().message;
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "2/365d"}}));
  auto decision = limiter->acquire("key", "r", {{"rpm", 2}});
  ASSERT_TRUE(decision) << decision.error().message;
  ASSERT_TRUE(decision->lease().settle({{"rpm", 1}}));
  EXPECT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->refused());
}

TEST(RedisSharing, TlsProvesWhoTheServerIs) {
  const net::TemporaryFolder folder;
  const net::TlsFiles files = net::make_certificate(folder, "redis");
  const net::TlsFiles others = net::make_certificate(folder, "others");
  const std::string port = std::to_string(tests::free_port());
  RedisServer server({"--tls-port", port, "--tls-cert-file", files.certificate, "--tls-key-file", files.key,
                      "--tls-ca-cert-file", files.certificate, "--tls-auth-clients", "no"});
  auto limiter =
      Limiter::open("rediss://localhost:" + port + "?deadline_ms=20000&cacert=" + files.certificate);
  ASSERT_TRUE(limiter) << limiter.error().message;
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "100/min"}}));
  EXPECT_TRUE(limiter->acquire("key", "r", {{"rpm", 1}})->admitted());
  for (const std::string& wrong : {"rediss://localhost:" + port + "?cacert=" + others.certificate,
                                   "rediss://127.0.0.1:" + port + "?cacert=" + files.certificate}) {
    auto refused = Limiter::open(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().message.find("certificate"), std::string::npos) << refused.error().message;
  }
}

// A bucket that counts usage stays until that is collected.
TEST(RedisSharing, WhatExpiresLeavesTheServer) {
  RedisServer server;
  auto limiter = Limiter::open(server.patient_url());
  ASSERT_TRUE(limiter->set_limits(Level::system(), {{"rps", "10/s"}}, {.bucket_ttl_refill_multiplier = 1}));
  AcquireOptions options;
  options.usage = false;
  ASSERT_TRUE(limiter->acquire("key", "r", {{"rps", 1}}, options));
  EXPECT_EQ(server.ask({"EXISTS", "weir:default:{key}:b:key:r", "weir:default:{key}:i:key"}), "2");
  EXPECT_TRUE(eventually([&] {
    return server.ask({"EXISTS", "weir:default:{key}:b:key:r", "weir:default:{key}:i:key"}) == "0";
  }));
}

}  // namespace
}  // namespace weir
