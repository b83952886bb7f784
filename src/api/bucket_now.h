// The present balances of a stored bucket.
#pragma once

#include "weir/catalog.h"
#include "weir/clock.h"

namespace weir::api {

/// The balance of the limit at `now`, of a concurrent limit what is free, under the parameters that the
/// bucket was last written with.
Amount held_at(const Bucket& bucket, const BucketLimit& limit, Time now);

/// When the limit reaches its burst if nothing more is charged, and no lease with a concurrent limit ends
/// before its deadline; at least `now`.
Time full_at(const Bucket& bucket, const BucketLimit& limit, Time now);

}  // namespace weir::api
