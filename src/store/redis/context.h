// What every part of a Redis store shares: the connection, the names, the time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/entropy.h"
#include "net/redis_client.h"
#include "store/redis/exhausted_buckets.h"
#include "store/redis/names.h"
#include "store/redis/write_health.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::redis {

/// A Lua script and the digest by which Redis knows it. Lives as long as the program.
struct Script {
  explicit Script(std::string_view body);
  std::string_view body;
  std::string digest;  ///< SHA-1, in hexadecimal digits
  std::string named;   ///< EVALSHA and the digest, as words of a command

  static const Script& acquire();
  static const Script& load();
  static const Script& put();
  static const Script& touch();
  static const Script& catalog();
  static const Script& fence();
  static const Script& open();
};

/// An estimate of the server's time: never ahead of it, behind it by the age of the last answer's way back.
/// Decisions and stamps are made by the server's own clock; this is what scripts compare it with, and what is
/// shown. Safe to use from any thread.
class ServerTime {
 public:
  /// `instead`: for tests, a clock that holds for scripts too; null: the server's.
  explicit ServerTime(const Clock* instead) : instead_(instead) {}
  Time now() const;
  /// A clock of this machine, by which the age of an answer is told: servers differ, and theirs can be set.
  Time here() const;
  bool for_tests() const { return instead_ != nullptr; }
  /// What scripts are told that use TIME: -1, or the time in tests.
  Time for_scripts() const { return for_tests() ? instead_->now() : -1; }
  /// The same for acquire.lua, which tells the time by the expiry of a key if it knows about what to expect.
  Time expected() const;
  /// The server said so just now.
  void learn(Time now);
  /// It may be another server from here on.
  void forget() { learned_.store(false, std::memory_order_relaxed); }

 private:
  const Clock* const instead_;
  std::atomic<Time> ahead_{0};  ///< of the local steady clock, in milliseconds
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
  StartUp* start_up = nullptr;               ///< null: nothing has to be read first
  std::atomic<bool> without_digests{false};  ///< the server does not let us use EVALSHA
  WriteHealth write_health{*this};

  /// Sends a call, once the store is open. Until then it fails at once.
  void send(net::RedisCall& call);

  /// The family whose slot a bucket lies in. On a single server there are no slots, and families can be
  /// rearranged: each entity is its own, and leases have none.
  std::string_view family(std::string_view entity, std::string_view end_of_chain) const {
    return cluster ? end_of_chain : entity;
  }
};

/// Why a call did not succeed, in words that say what to do.
Error error_of(const net::RedisFailure& failure);
/// What an error reply means. `writes`: it may have changed something, unless the error is known to come
/// first.
Error error_of(std::string_view reply, bool writes);

}  // namespace weir::redis
