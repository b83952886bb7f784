// Keys of items and names of attributes. The schema is in docs/format/dynamodb.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/level.h"
#include "wire/attribute_value.h"

namespace weir::dynamodb {

using wire::aws::Attribute;
using wire::aws::Item;
using wire::aws::Value;

/// The primary key of an item.
struct Key {
  std::string pk;
  std::string sk;
  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;
  Item item() const { return {{"PK", Value::of(pk)}, {"SK", Value::of(sk)}}; }
};
/// The key that an item has.
Key key_of(const Item& item);

/// The prefix of all keys of a namespace; empty for "default".
std::string prefix_of(std::string_view name_space);

inline constexpr std::string_view bucket_prefix = "#BUCKET#";
inline constexpr std::string_view config_prefix = "#CONFIG#";
inline constexpr std::string_view child_prefix = "#CHILD#";
inline constexpr std::string_view audit_prefix = "#AUDIT#";
inline constexpr std::string_view member_prefix = "#MEMBER#";
inline constexpr std::string_view plan_sort_key = "#PLAN";

std::string entity_pk(std::string_view name_space, std::string_view entity);
/// The namespace and the entity that a partition is of.
struct EntityName {
  std::string name_space;
  std::string entity;
};
/// Nothing where it is not the partition of an entity. The names are not checked.
std::optional<EntityName> entity_of(std::string_view pk);
Key bucket_key(std::string_view name_space, std::string_view entity, std::string_view resource);
Key meta_key(std::string_view name_space, std::string_view entity);
Key level_key(std::string_view name_space, const Level& level);
/// `key` is a table::level_key(): "s", "r RESOURCE", "e ENTITY RESOURCE".
Key level_key(std::string_view name_space, std::string_view key);
Key lease_key(std::string_view name_space, std::string_view entity,
              const std::array<std::uint64_t, 2>& nonce);
/// Ours: the children of an entity, for consistent reads, which an index does not offer.
Key child_key(std::string_view name_space, std::string_view parent, std::string_view child);
Key plan_key(std::string_view name_space, std::string_view plan);
/// Ours: the entities that have a plan.
Key member_key(std::string_view name_space, std::string_view plan, std::string_view entity);
Key audit_key(std::string_view name_space, std::string_view subject, std::string_view id);
/// Ours: ordered listings of a namespace.
Key listed_limits_key(std::string_view name_space, std::string_view key);
Key listed_entity_key(std::string_view name_space, std::string_view id);
Key listed_plan_key(std::string_view name_space, std::string_view name);
Key listed_audit_key(std::string_view name_space, std::string_view id);
/// Ours: counts the changes of a namespace's catalog.
Key head_key(std::string_view name_space);
/// Ours: a change that does not fit into one transaction, part by part.
Key journal_key(std::string_view name_space, std::string_view id, std::size_t part);
std::string journal_pk(std::string_view name_space, std::string_view id);
/// The version record of the whole table.
Key version_key();

/// Whether an item with this key is a bucket; legacy items do not count.
bool is_bucket(const Key& key);

/// The holds of a concurrent limit (bucket/holds.h), as bytes; missing: none.
inline constexpr std::string_view holds_field = "hd";
/// The grants of a rate limit (bucket/grants.h), in the same form.
inline constexpr std::string_view grants_field = "gr";
/// A bucket whose charges do not count as usage has this attribute.
inline constexpr std::string_view no_usage_mark = "nu";
/// The moment at which a migration brought counters of other items into the bucket, or a copy the bucket
/// itself.
inline constexpr std::string_view migration_mark = "mg";
/// "b_rpm_tk".
inline std::string limit_attribute(std::string_view limit, std::string_view field) {
  std::string name;
  name.reserve(limit.size() + field.size() + 3);
  name.append("b_").append(limit).append("_").append(field);
  return name;
}

}  // namespace weir::dynamodb
