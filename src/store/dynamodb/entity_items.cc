// Items of entities, and the announcements in them.
#include <algorithm>

#include "base/text.h"
#include "limits/access.h"
#include "limits/names.h"
#include "store/dynamodb/item_parts.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {

using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;

Item write_entity(std::string_view name_space, const Entity& entity, const std::vector<std::string>& beyond) {
  const Key key = meta_key(name_space, entity.id);
  Item metadata;
  for (const auto& [name, value] : entity.metadata) add(metadata, name, Value::of(value));
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"entity_id", Value::of(entity.id)},
            {"name", Value::of(entity.name)},
            {"cascade", Value::of_flag(entity.cascade)},
            {"metadata", Value::of_map(std::move(metadata))},
            {"created_at", number(entity.created_at)}};
  if (!entity.parent.empty()) {
    add(item, "parent_id", Value::of(entity.parent));
    add(item, "GSI1PK", Value::of(base::join(prefix_of(name_space), "PARENT#", entity.parent)));
    add(item, "GSI1SK", Value::of(base::join("CHILD#", entity.id)));
  }
  if (entity.from_file) add(item, "from_file", Value::of_flag(true));
  if (!beyond.empty()) add(item, "beyond", names_value(beyond));
  if (!entity.plan.empty()) add(item, "plan", Value::of(entity.plan));
  if (entity.plan_stamp != 0) add(item, "plan_stamp", number(entity.plan_stamp));
  if (const std::string access = limits::encode_access(entity); !access.empty())
    add(item, "access", Value::of(access));
  return item;
}

std::vector<std::string> read_beyond(const Item& item) {
  std::vector<std::string> beyond = names_in(find(item, "beyond"));
  // A list with other values than names was not written by weir.
  const bool ours = beyond.size() < limits::max_chain &&
                    std::all_of(
                        beyond.begin(), beyond.end(),
                        [](const std::string& name) { return bool(limits::check_entity(name)); });
  return ours ? beyond : std::vector<std::string>();
}

Result<Entity> read_entity(const Item& item) {
  Entity entity{.id = std::string(text_of(item, "entity_id"))};
  if (!limits::check_entity(entity.id) || !key_of(item).pk.ends_with(base::join("ENTITY#", entity.id)))
    return damaged(item, "no usable entity_id");
  entity.parent = text_of(item, "parent_id");
  if (!entity.parent.empty() && (!limits::check_entity(entity.parent) || entity.parent == entity.id))
    return damaged(item, "no usable parent_id");
  entity.name = text_of(item, "name");
  const Value* const cascade = find(item, "cascade");
  entity.cascade = cascade != nullptr && cascade->flag;
  if (const Value* const metadata = find(item, "metadata")) {
    for (const Attribute& one : metadata->members) entity.metadata[one.name] = one.value.text;
  }
  entity.created_at = integer_of(item, "created_at").value_or(0);
  entity.from_file = find(item, "from_file") != nullptr;
  entity.plan = text_of(item, "plan");
  entity.plan_stamp = integer_of(item, "plan_stamp").value_or(0);
  if (!entity.plan.empty() && !limits::check_plan(entity.plan)) return damaged(item, "no usable plan");
  if (entity.plan_stamp < 0 || entity.plan_stamp > limits::latest_stamp)
    return damaged(item, "no usable plan_stamp");
  if (!limits::decode_access(text_of(item, "access"), entity)) return damaged(item, "no usable access");
  return entity;
}

std::optional<MoveAnnouncement> read_moving(const Item& item) {
  const auto since = integer_of(item, "moving");
  if (!since) return std::nullopt;
  const Value* const mover = find(item, "mover");
  return MoveAnnouncement{*since, mover == nullptr ? 0 : mover->natural().value_or(0), !has_entity(item)};
}

bool has_entity(const Item& item) {
  return find(item, "moving") == nullptr || find(item, "created_at") != nullptr;
}

}  // namespace weir::dynamodb
