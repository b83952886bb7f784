#include "store/bucket_now.h"

#include <algorithm>

#include "base/wide.h"
#include "bucket/refill.h"
#include "decision/repair.h"
#include "limits/limit_set.h"

namespace weir::store {

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
  std::int64_t held =
      bucket::claim(parameters.rate, parameters.burst, from, now).held(limit.tokens.millitokens());
  for (const GrantLeft& grant : limit.grants) {
    if (!grant.end || *grant.end > now) held = base::saturating_add(held, grant.amount.millitokens());
  }
  return Amount::milli(held);
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

std::int64_t share_of(Amount part, Amount whole) {
  constexpr std::int64_t billion = 1'000'000'000;
  if (whole <= Amount()) return 0;
  return base::saturate(static_cast<base::Int128>(part.millitokens()) * billion / whole.millitokens());
}

bool is_compared(const BucketLimit& limit, std::string_view name) {
  if (!limit.in_force || limit.limit.mode() == Mode::off) return false;
  return name.empty() || limit.name == name;
}

const BucketLimit* tightest(const Bucket& bucket, std::string_view name, Time now) {
  const BucketLimit* found = nullptr;
  std::int64_t least = 0;
  for (const BucketLimit& limit : bucket.limits) {
    if (!is_compared(limit, name)) continue;
    const std::int64_t share = share_of(held_at(bucket, limit, now), limit.limit.capacity());
    if (found != nullptr && share >= least) continue;
    found = &limit;
    least = share;
  }
  return found;
}

}  // namespace weir::store
