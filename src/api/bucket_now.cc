#include "api/bucket_now.h"

#include <algorithm>

#include "bucket/refill.h"
#include "decision/repair.h"
#include "limits/limit_set.h"

namespace weir::api {

Amount held_at(const Bucket& bucket, const BucketLimit& limit, Time now) {
  const bucket::Parameters parameters = limits::parameters_of(limit.limit);
  const Time from = std::max<Time>(bucket.refilled_at, 0);
  return Amount::milli(
      bucket::claim(parameters.rate, parameters.burst, from, now).held(limit.tokens.millitokens()));
}

Time full_at(const Bucket& bucket, const BucketLimit& limit, Time now) {
  const bucket::Parameters parameters = limits::parameters_of(limit.limit);
  // The next decision repairs a refill time that lies too far ahead.
  const bool ahead = decision::is_ahead(bucket.refilled_at, now);
  const Time from = ahead ? now : std::max<Time>(bucket.refilled_at, 0);
  const std::int64_t missing = parameters.burst - limit.tokens.millitokens();
  return std::max(now, bucket::moment_granted(parameters.rate, from, missing));
}

}  // namespace weir::api
