// Writes to buckets outside of requests: adopting new limits, converting items of an older form, deletion.
// Each is one write whose conditions restate what it relies on; the caller adds it to a transaction, and
// starts over from the present items if that fails.
#pragma once

#include <optional>
#include <span>

#include "store/conditional/machine.h"

namespace weir::conditional {

/// Claims refill under the old limits and adopts the plan's. Nothing where the bucket has them already, or
/// has expired. `plan` charges nothing.
std::optional<Write> adopt(const BucketPlan& plan, const Record& item, const Settings& settings, Time now);

/// Creates a bucket from a record of another form, unless it exists.
Write convert(std::size_t bucket, Record record, Time now);

/// A limit that was stored in another form beside a bucket.
struct Absorbed {
  bucket::LimitState limit;  ///< at the bucket's refill time; inserted where the bucket lacks it
  std::int64_t lacks = 0;    ///< tokens missing to be full: charged where the bucket has the limit
};
/// Adds such limits to the bucket.
Write absorb(std::size_t bucket, const Record& item, std::span<const Absorbed> limits,
             const Settings& settings);

/// Deletes a bucket in any state, because its entity is deleted.
Write forget(std::size_t bucket);

}  // namespace weir::conditional
