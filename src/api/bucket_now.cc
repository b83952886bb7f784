#include "api/bucket_now.h"

#include <algorithm>

#include "bucket/refill.h"
#include "decision/repair.h"
#include "limits/limit_set.h"

namespace weir::api {

Amount held_at(const Bucket& bucket, const BucketLimit& limit, Time now) {
  if (limit.limit.kind() == Kind::concurrent) {
    std::int64_t free = limit.limit.capacity().millitokens();
    for (const HeldAmount& held : limit.held) {
      if (held.deadline > now) free -= held.amount.millitokens();
    }
    return Amount::milli(free);
  }
  const bucket::Parameters parameters = limits::parameters_of(limit.limit);
  const Time from = std::max<Time>(bucket.refilled_at, 0);
  return Amount::milli(
      bucket::claim(parameters.rate, parameters.burst, from, now).held(limit.tokens.millitokens()));
}

Time full_at(const Bucket& bucket, const BucketLimit& limit, Time now) {
  if (limit.limit.kind() == Kind::concurrent)
    return limit.held.empty() ? now : std::max(now, limit.held.back().deadline);
  const bucket::Parameters parameters = limits::parameters_of(limit.limit);
  // The next decision repairs a refill time that lies too far ahead.
  const bool ahead = decision::is_ahead(bucket.refilled_at, now);
  const Time from = ahead ? now : std::max<Time>(bucket.refilled_at, 0);
  const std::int64_t missing = parameters.burst - limit.tokens.millitokens();
  return std::max(now, bucket::moment_granted(parameters.rate, from, missing));
}

}  // namespace weir::api
