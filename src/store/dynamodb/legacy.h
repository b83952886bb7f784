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

/// The bucket and limit that the key of a legacy item names.
struct LegacyName {
  std::string name_space;
  std::string entity;
  std::string resource;
  std::string limit;
  bool same_bucket(const LegacyName& other) const {
    return entity == other.entity && resource == other.resource && name_space == other.name_space;
  }
};
/// Nothing where it is not the key of a legacy item.
std::optional<LegacyName> legacy_name(const Key& key);
/// The prefix of the sort keys of a bucket's legacy items.
std::string legacy_prefix(std::string_view resource);

/// A legacy item.
struct LegacyLimit {
  Key key;
  bucket::LimitState state;  ///< at `refilled_at`
  Time refilled_at = 0;
  Time expires_at = bucket::never;  ///< in whole seconds
  /// All values by the path of the attribute: an item with the same values has not changed.
  std::vector<std::pair<std::string, Value>> said = {};
};
/// Reads an item whose attributes are at the top, in a map `data`, or some here and some there, as
/// zae-limiter 0.5 writes them. Fails on an incomplete item.
Result<LegacyLimit> read_legacy(const Item& item);

/// Merges legacy limits into a bucket: every limit is claimed up to the last of their refill times, which
/// loses nothing, since claims add up. `generation` distinguishes it from another bucket of that name.
bucket::State merged(std::span<const LegacyLimit> limits, std::uint64_t generation);

/// A transaction that replaces them by a composite item, under the condition that none of them has changed
/// and that there is no composite item yet, or one that has expired by `now`.
std::vector<ItemWrite> conversion(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const bucket::State& state, Time now);

/// The same where a composite item exists: an older program has written legacy items beside it. The tokens
/// that these lack to be full are charged to the composite item, their counters are added, and limits that it
/// lacks are inserted.
std::vector<ItemWrite> absorption(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const conditional::Record& there, const conditional::Settings& settings,
                                  Time now);

/// Whether an item has a key of zae-limiter 0.9 and later, up to 0.17 at least: buckets under
/// `{namespace id}/BUCKET#{entity}#{resource}#{shard}` and `#STATE`, namespaces under `_/`. weir uses no such
/// key.
bool is_of_sharded_layout(const Key& key);
/// The keys of the first items of a table.
Request first_keys(const std::string& table);
/// The error for a table with such items; nothing: there are none among these.
std::optional<Error> sharded_layout(const std::string& table, const std::vector<Item>& items);

}  // namespace weir::dynamodb
