// What a stored bucket holds now.
#pragma once

#include "weir/catalog.h"
#include "weir/clock.h"

namespace weir::api {

/// What the limit holds at `now`, under the parameters that the bucket was last written with.
Amount held_at(const Bucket& bucket, const BucketLimit& limit, Time now);

/// When the limit holds its burst if nothing more is charged: now or later.
Time full_at(const Bucket& bucket, const BucketLimit& limit, Time now);

}  // namespace weir::api
