// Converts between our types and items of the table. Each kind of item has a file: bucket_items.cc,
// marker_items.cc, limits_items.cc (also plans), entity_items.cc and audit_items.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/state.h"
#include "limits/plan.h"
#include "limits/record.h"
#include "store/catalog.h"
#include "store/conditional/write.h"
#include "store/dynamodb/names.h"

namespace weir::dynamodb {

/// DynamoDB counts expiry in whole seconds. Rounded up, so that nothing expires early.
inline std::int64_t to_ttl(Time expires_at) { return expires_at / 1000 + (expires_at % 1000 > 0 ? 1 : 0); }

/// The format of buckets and markers; an item without one has 1. An item with a higher format was written by
/// a newer weir, and is not read.
inline constexpr std::int64_t item_format = 2;

/// A bucket as it was read.
struct BucketItem {
  conditional::Record state;
  /// Limits that were not in force when the item was last written.
  std::vector<std::string> dormant = {};
};
/// Fails on an incomplete item, which weir did not write.
Result<BucketItem> read_bucket(const Item& item);

/// The name of a bucket: its namespace, entity and resource.
struct BucketName {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
  Key key() const { return bucket_key(name_space, entity, resource); }
};
Item write_bucket(const BucketName& name, const conditional::Record& state,
                  const std::vector<std::string>& dormant, Time now);

/// The marker of a lease that was changed, or of an acquire that happens once.
Item write_marker(const Key& key, const conditional::Marker& marker);
Result<conditional::Marker> read_marker(const Item& item);

Item write_limits(std::string_view name_space, std::string_view key, const limits::LimitsRecord& record);
Result<base::Ref<limits::LimitsRecord>> read_limits(const Item& item);
/// A record in place of one that cannot be used: what can be read of its stamp and owner, and no limits.
base::Ref<limits::LimitsRecord> bad_limits(const Item& item, const Error& why);

/// One item, with a map of its sets.
Item write_plan(std::string_view name_space, std::string_view name, const limits::PlanRecord& plan);
Result<base::Ref<limits::PlanRecord>> read_plan(const Item& item);

/// `beyond`: the entities above its parent in the chain, the nearest first. A hint, which readers check.
Item write_entity(std::string_view name_space, const Entity& entity, const std::vector<std::string>& beyond);
std::vector<std::string> read_beyond(const Item& item);
Result<Entity> read_entity(const Item& item);

/// A change of an entity's parent or cascade that is under way: meanwhile no bucket of the entity is created.
struct MoveAnnouncement {
  Time since = 0;
  std::uint64_t mover = 0;  ///< identifies the change
  bool alone = false;       ///< the entity does not exist yet: the item exists only for this
  friend bool operator==(const MoveAnnouncement&, const MoveAnnouncement&) = default;
};
std::optional<MoveAnnouncement> read_moving(const Item& item);
/// Whether the item describes an entity, or only announces one.
bool has_entity(const Item& item);

Item write_event(const Key& key, const store::AuditEvent& event, Time keep_for);
Result<store::AuditEvent> read_event(const Item& item);

}  // namespace weir::dynamodb
