// The context of a Redis store: the connection, the names, the time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/entropy.h"
#include "net/redis_client.h"
#include "store/bad_records.h"
#include "store/redis/exhausted_buckets.h"
#include "store/redis/names.h"
#include "store/redis/write_health.h"
#include "store/usage.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::redis {

/// A Lua script and the digest by which Redis knows it. Lives as long as the program.
struct Script {
  explicit Script(std::string_view text);
  std::string_view body;
  std::string digest;  ///< SHA-1, in hexadecimal digits
  std::string named;   ///< EVALSHA and the digest, as words of a command

  /// For chains without concurrent limits.
  static const Script& acquire();
  /// For chains that have some.
  static const Script& acquire_concurrent();
  static const Script& load();
  static const Script& put();
  static const Script& usage();
  static const Script& collect();
  static const Script& fold();
  static const Script& touch();
  static const Script& catalog();
  static const Script& fence();
  static const Script& open();
  static const Script& copy_usage();
};

/// Estimates the time of a server, in whole milliseconds, from a local clock in microseconds. The estimate is
/// never ahead of the server: its time was at least the whole milliseconds that it returned.
class TimeOffset {
 public:
  void learn(Time server, std::int64_t here_us) {
    offset_us_.store(server * 1000 - here_us, std::memory_order_relaxed);
  }
  Time at(std::int64_t here_us) const {
    const std::int64_t micros = here_us + offset_us_.load(std::memory_order_relaxed);
    return micros / 1000 - (micros % 1000 < 0 ? 1 : 0);
  }

 private:
  std::atomic<std::int64_t> offset_us_{0};
};

/// An estimate of the server's time: never ahead of it, and behind it by the network delay of the last
/// answer. Decisions and stamps use the server's own clock; scripts compare it with this estimate, and
/// reports show the estimate. Safe to use from any thread.
class ServerTime {
 public:
  /// `instead`: a clock for tests, which scripts use too; null: the server's.
  explicit ServerTime(const Clock* instead) : instead_(instead) {}
  Time now() const;
  /// A monotonic clock of this machine for the age of answers: clocks of servers differ and can be set.
  Time here() const;
  bool for_tests() const { return instead_ != nullptr; }
  /// The time argument of scripts that use TIME: -1, or the time in tests.
  Time for_scripts() const { return for_tests() ? instead_->now() : -1; }
  /// The same for acquire.lua, which derives the time from the expiry of a key if it has an estimate to check
  /// it with.
  Time expected() const;
  /// The server has just returned this time.
  void learn(Time now);
  /// Discards the estimate: the next server may be another one.
  void forget() { learned_.store(false, std::memory_order_relaxed); }

 private:
  const Clock* const instead_;
  TimeOffset offset_;
  std::atomic<bool> learned_{false};
};

class StartUp;

struct Context {
  net::RedisClient& client;
  Names names;
  bool cluster = false;
  ServerTime time;
  base::Entropy& entropy;
  ExhaustedBuckets exhausted{std::chrono::milliseconds(0)};
  StartUp* start_up = nullptr;               ///< null: the store is open without it
  std::atomic<bool> without_digests{false};  ///< the server forbids EVALSHA
  WriteHealth write_health{*this};
  store::BadRecords bad;

  /// How long usage is kept.
  store::UsageKept usage_kept() const;

  /// Sends a call, once the store is open. Until then it fails at once.
  void send(net::RedisCall& call);

  /// The family whose slot a bucket lies in. A single server has no slots, so there each entity is its own
  /// family and can move freely, and leases have no family.
  std::string_view family(std::string_view entity, std::string_view end_of_chain) const {
    return cluster ? end_of_chain : entity;
  }
};

/// The error of a failed call, with a remedy.
Error error_of(const net::RedisFailure& failure);
/// The error of an error reply. `writes`: the call may have changed something, unless this error is known to
/// occur before any write.
Error error_of(std::string_view reply, bool writes);

}  // namespace weir::redis
