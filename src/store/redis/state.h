// A bucket as it lies in Redis, and as the table decides on it.
//
// The hash of a bucket has the fields
//   b   what every charge changes, as little-endian doubles: State, then tokens and consumed of each limit
//   p   names and parameters of the limits in force, as words
//   d   limits that are not in force any more and not full again: parameters, tokens, consumed, refilled at
//   k   for how long it is kept unused, in milliseconds
//   oN  how often the counter of the N-th limit has gone past 2^52
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "limits/resolution.h"
#include "base/lock.h"
#include "store/redis/call.h"
#include "store/table/record.h"

namespace weir::redis {

/// Stands for "never" where doubles count: 2^53.
inline constexpr std::int64_t never_in_redis = std::int64_t{1} << 53;
inline constexpr std::int64_t round_of_counter = std::int64_t{1} << 52;

/// A time as Redis keeps it, and back.
inline std::int64_t to_redis(Time time) { return time >= never_in_redis ? never_in_redis : time; }
inline Time from_redis(std::int64_t time) { return time >= never_in_redis ? limits::never : time; }

struct State {
  static constexpr std::size_t words = 8;
  Time refilled_at = 0;
  Time expires_at = 0;
  Time kept_until = 0;  ///< the key itself
  std::int64_t version = 0;
  Time stamp = 0;  ///< the newest that the bucket was written under, or told of
  std::int64_t generation = 0;
  std::int64_t digest = 0;  ///< of field p
  Time hold = 0;            ///< when the last limit that is not in force is full again; 0: there is none
  Time keep_for = 0;        ///< in field k

  std::size_t limits = 0;  ///< how many tokens and consumed follow
};

/// Reads the numbers of a field b. Nothing, if it is damaged.
std::optional<State> read_state(std::string_view b);
/// The n-th double behind the state: tokens and consumed in turn.
std::int64_t number_at(std::string_view b, std::size_t index);
void append_number(std::string& out, std::int64_t number);

/// What a set of limits looks like in a plan. Immutable.
struct SetInPlan {
  std::string text;  ///< field p
  std::int64_t digest = 0;
  std::string parameters;  ///< burst, rate amount, rate period of each limit as doubles
  limits::LimitSetRef set;
};

/// Sets are few and used often. Safe to use from any thread.
class SetsInPlan {
 public:
  std::shared_ptr<const SetInPlan> get(const limits::LimitSetRef& set);

 private:
  base::Mutex mutex_;
  std::unordered_map<const limits::LimitSet*, std::shared_ptr<const SetInPlan>> sets_ WEIR_GUARDED_BY(mutex_);
};

std::int64_t digest_of(std::string_view text);

/// A bucket that was read whole.
struct Found {
  std::string raw;  ///< field b; empty: there is none
  State state;
  table::RecordPtr record;  ///< null: there is none
};
/// From the names and values of a hash; fails on one that is damaged.
Result<Found> read_bucket(const Reply& hash, const table::Key& key);

/// What a record becomes in Redis.
struct Written {
  std::string entity;
  std::string resource;
  Time expires_at = 0;
  std::string b, p, d, rounds;
  Time keep_for = 0;
  Time stays = 0;  ///< 0: for good
};
/// `before`: what it replaces.
Written write_bucket(const table::Record& record, const State& before);

}  // namespace weir::redis
