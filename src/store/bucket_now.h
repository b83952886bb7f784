// The present balances of a stored bucket.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/catalog.h"
#include "weir/clock.h"

namespace weir::store {

/// The balance of the limit at `now` and its grants, of a concurrent limit what is free, under the parameters
/// that the bucket was last written with.
Amount held_at(const Bucket& bucket, const BucketLimit& limit, Time now);

/// When the limit reaches its burst if nothing more is charged, and no lease with a concurrent limit ends
/// before its deadline; at least `now`.
Time full_at(const Bucket& bucket, const BucketLimit& limit, Time now);

/// How much `part` is of `whole`, in billionths; 0 where the whole is 0.
std::int64_t share_of(Amount part, Amount whole);
/// The limit of which the smallest share of the capacity is left at `now`, of those that can refuse: in force
/// and not off. `name`: only this one; empty: any. Null: there is none.
const BucketLimit* tightest(const Bucket& bucket, std::string_view name, Time now);
/// Whether a listing that names a limit, or none, compares this one.
bool is_compared(const BucketLimit& limit, std::string_view name);

}  // namespace weir::store
