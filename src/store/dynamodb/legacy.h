// Buckets as they were before the composite item: one item for each limit, with a refill time of its own.
// They are read where there is no composite item, and become one before anything is written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/conditional/upkeep.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/request.h"

namespace weir::dynamodb {

/// Whose limit it is, by the key of an item.
struct LegacyName {
  std::string name_space;
  std::string entity;
  std::string resource;
  std::string limit;
  bool same_bucket(const LegacyName& other) const {
    return entity == other.entity && resource == other.resource && name_space == other.name_space;
  }
};
/// Nothing where the key is not one of these.
std::optional<LegacyName> legacy_name(const Key& key);
/// What the sort keys of a bucket's legacy items begin with.
std::string legacy_prefix(std::string_view resource);

/// One of these items.
struct LegacyLimit {
  Key key;
  bucket::LimitState state;  ///< at `refilled_at`
  Time refilled_at = 0;
  Time expires_at = bucket::never;  ///< in whole seconds
  /// All that it says, by the path of the attribute: a copy that says the same is the same.
  std::vector<std::pair<std::string, Value>> said = {};
};
/// Flat, or with everything in a map `data`. Fails on an item that is not whole.
Result<LegacyLimit> read_legacy(const Item& item);

/// The bucket that these make: every limit is claimed up to the last of their refill times, which loses
/// nothing, since claims add up. `generation` tells it from another bucket of that name.
bucket::State merged(std::span<const LegacyLimit> limits, std::uint64_t generation);

/// One transaction that puts a composite item in their place: it happens only if none of them has changed and
/// there is no composite item yet, or one that has expired by `now`.
std::vector<ItemWrite> conversion(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const bucket::State& state, Time now);

/// The same where a composite item exists: somebody who knows nothing of it has written the others beside it.
/// What they lack to be full is charged to it, their counters are added, limits that it lacks are put in.
std::vector<ItemWrite> absorption(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const conditional::Record& there, const conditional::Settings& settings,
                                  Time now);

}  // namespace weir::dynamodb
