// The record of a bucket in Redis: one string, whose layout is in docs/format/redis.md.
//
//   head | kept until | version | stamp | digest | hold | plain until | generation | refilled at | expires at
//   | tokens 1 | consumed 1 | ... | events   8 bytes each: little-endian doubles, integers below 2^53
//   name capacity burst ... \n              words of each limit in force
//   FIELD word ... \n ...                   optional fields
//
// acquire.lua reads and writes the numbers. Everything else is read and written here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lock.h"
#include "bucket/state.h"
#include "limits/resolution.h"
#include "store/redis/call.h"
#include "usage/segment.h"

namespace weir::redis {

/// The value of "never" as a double: 2^53.
inline constexpr std::int64_t never_in_redis = std::int64_t{1} << 53;
inline constexpr std::int64_t round_of_counter = std::int64_t{1} << 52;

/// Converts a time to the form in Redis, and back.
inline std::int64_t to_redis(Time time) { return time >= never_in_redis ? never_in_redis : time; }
inline Time from_redis(std::int64_t time) { return time >= never_in_redis ? limits::never : time; }

void append_number(std::string& out, std::int64_t number);
/// The double at a position counted in doubles. The text must be long enough.
std::int64_t number_at(std::string_view numbers, std::size_t index);

/// The first number of a record, which the plan repeats for comparison. A record that counts usage has a
/// higher one, and the number of events behind its balances: versions that do not know it refuse the record.
inline constexpr std::int64_t head_of(std::size_t limits) {
  return std::int64_t{2} * 256 + static_cast<std::int64_t>(limits);
}
inline constexpr std::int64_t counting_head = 256;

/// One bucket after acquire.lua has charged it: a view of the numbers in the answer.
struct Charged {
  static constexpr std::size_t words = 3;
  std::uint64_t generation = 0;
  Time refilled_at = 0;
  std::string_view numbers;

  std::int64_t tokens(std::size_t limit) const { return number_at(numbers, words + 2 * limit); }
};
/// Takes the numbers of a bucket with this many limits from the front of an answer. `counts`: the bucket
/// counts usage. Nothing if the answer is too short.
std::optional<Charged> take_charged(std::string_view& answer, std::size_t limits, bool counts);
/// The numbers of all buckets, where an answer has a text for each.
std::string joined_numbers(Reply::Children texts);
/// The error for a malformed answer of acquire.lua.
inline Error unreadable() { return {ErrorCode::outcome_unknown, "Redis sent a malformed answer"}; }

/// A bucket that was read, or is to be written.
struct StoredBucket {
  bucket::State state;
  Time stamp = 0;                              ///< the newest that it was written under or notified of
  std::vector<std::string> others;             ///< fields of later versions, kept unchanged
  std::optional<usage::Segment> segment = {};  ///< of usage, open; nothing: the bucket does not count it
};

/// One bucket of an answer. `raw`: the bytes that a write compares; empty: there is none.
struct ReadBucket {
  std::string raw;
  std::optional<StoredBucket> bucket;
  bool bad = false;  ///< there is one that cannot be used
};
/// Reads a record, a hash of format 1, or an absent bucket. Fails on a damaged record, or one that needs a
/// later version.
Result<ReadBucket> read_bucket(const Reply& reply, std::string_view entity, std::string_view resource);
Result<ReadBucket> read_bucket(std::string_view text, std::string_view entity, std::string_view resource);

/// Buckets of one entity as of one moment of the server's clock.
struct LoadedBuckets {
  Time now = 0;
  std::vector<ReadBucket> buckets;  ///< in the order of the resources
  /// Null if there is none or it has expired.
  const StoredBucket* alive(std::size_t index) const {
    const auto& bucket = buckets[index].bucket;
    return bucket && bucket->state.expires_at > now ? &*bucket : nullptr;
  }
};
/// Blocks.
Result<LoadedBuckets> load_buckets(Context& context, std::string_view name_space, std::string_view family,
                                   std::string_view entity, const std::vector<std::string>& resources);

/// A record, and when its key expires.
struct Record {
  std::string bytes;
  Time kept_until = 0;
};
/// `collected`: nothing in the open segment is left to be collected, so the key need not outlive the bucket.
Record encode(const StoredBucket& bucket, bool collected = false);

/// A set of limits as encoded in a plan. Immutable.
struct SetInPlan {
  std::string text;  ///< as in a record
  std::int64_t digest = 0;
  std::string parameters;  ///< burst, rate amount, rate period of each limit as doubles
  limits::LimitSetRef set;
};

/// A cache of these, since sets are few and used often. Safe to use from any thread.
class SetsInPlan {
 public:
  std::shared_ptr<const SetInPlan> get(const limits::LimitSetRef& set);

 private:
  base::Mutex mutex_;
  std::unordered_map<const limits::LimitSet*, std::shared_ptr<const SetInPlan>> sets_ WEIR_GUARDED_BY(mutex_);
};

std::int64_t digest_of(std::string_view text);

}  // namespace weir::redis
