// Writes to buckets that no request charges: taking over new limits, items of an older form, deletion. Each
// is one write whose conditions restate what it relies on; its owner adds it to a transaction of its own, and
// starts over from what is there if that fails.
#pragma once

#include <optional>
#include <span>

#include "store/conditional/machine.h"

namespace weir::conditional {

/// Claims refill under the old limits and takes the plan's over. Nothing where the bucket has them already,
/// or has expired. `plan` charges nothing.
std::optional<Write> adopt(const BucketPlan& plan, const Record& item, const Settings& settings, Time now);

/// Puts a bucket that was kept in another form in its place, unless there is one.
Write convert(std::size_t bucket, Record record, Time now);

/// A limit that was kept in another form beside a bucket.
struct Absorbed {
  bucket::LimitState limit;  ///< at the bucket's refill time; put in where the bucket lacks it
  std::int64_t lacks = 0;    ///< to be full: charged where the bucket has the limit
};
/// Adds such limits to the bucket.
Write absorb(std::size_t bucket, const Record& item, std::span<const Absorbed> limits,
             const Settings& settings);

/// Deletes a bucket, whatever it is like: its entity is deleted.
Write forget(std::size_t bucket);

}  // namespace weir::conditional
