#include "store/dynamodb/names.h"

#include "base/hex.h"
#include "base/text.h"

namespace weir::dynamodb {
namespace {

using base::hex;
using base::join;

}  // namespace

Key key_of(const Item& item) {
  return {std::string(wire::aws::text_of(item, "PK")), std::string(wire::aws::text_of(item, "SK"))};
}

std::string prefix_of(std::string_view name_space) {
  return name_space == "default" ? std::string() : join(name_space, "/");
}

std::string entity_pk(std::string_view name_space, std::string_view entity) {
  return join(prefix_of(name_space), "ENTITY#", entity);
}

std::optional<EntityName> entity_of(std::string_view pk) {
  constexpr std::string_view mark = "ENTITY#";
  if (pk.starts_with(mark)) return EntityName{"default", std::string(pk.substr(mark.size()))};
  const std::size_t slash = pk.find("/ENTITY#");
  if (slash == std::string_view::npos) return std::nullopt;
  return EntityName{std::string(pk.substr(0, slash)), std::string(pk.substr(slash + 1 + mark.size()))};
}

Key bucket_key(std::string_view name_space, std::string_view entity, std::string_view resource) {
  return {entity_pk(name_space, entity), join(bucket_prefix, resource)};
}

bool is_bucket(const Key& key) {
  return key.sk.starts_with(bucket_prefix) && key.sk.find('#', bucket_prefix.size()) == std::string::npos;
}

Key meta_key(std::string_view name_space, std::string_view entity) {
  return {entity_pk(name_space, entity), "#META"};
}

Key level_key(std::string_view name_space, const Level& level) {
  switch (level.kind()) {
    case Source::entity:
      return {entity_pk(name_space, level.entity()), join(config_prefix, level.resource())};
    case Source::entity_default:
      return {entity_pk(name_space, level.entity()), join(config_prefix, "_default_")};
    case Source::resource:
      return {join(prefix_of(name_space), "RESOURCE#", level.resource()), "#CONFIG"};
    default:
      return {join(prefix_of(name_space), "SYSTEM#"), "#CONFIG"};
  }
}

Key lease_key(std::string_view name_space, std::string_view entity,
              const std::array<std::uint64_t, 2>& nonce) {
  return {entity_pk(name_space, entity), join("#LEASE#", hex(nonce[0]), hex(nonce[1]))};
}

Key child_key(std::string_view name_space, std::string_view parent, std::string_view child) {
  return {entity_pk(name_space, parent), join(child_prefix, child)};
}

Key plan_key(std::string_view name_space, std::string_view plan) {
  return {join(prefix_of(name_space), "PLAN#", plan), std::string(plan_sort_key)};
}

Key member_key(std::string_view name_space, std::string_view plan, std::string_view entity) {
  return {plan_key(name_space, plan).pk, join(member_prefix, entity)};
}

Key audit_key(std::string_view name_space, std::string_view subject, std::string_view id) {
  return {join(prefix_of(name_space), "AUDIT#", subject), join(audit_prefix, id)};
}

Key listed_limits_key(std::string_view name_space, std::string_view key) {
  return {join(prefix_of(name_space), "LIST#LIMITS"), std::string(key)};
}

Key listed_entity_key(std::string_view name_space, std::string_view id) {
  return {join(prefix_of(name_space), "LIST#ENTITIES"), std::string(id)};
}

Key listed_plan_key(std::string_view name_space, std::string_view name) {
  return {join(prefix_of(name_space), "LIST#PLANS"), std::string(name)};
}

Key listed_audit_key(std::string_view name_space, std::string_view id) {
  return {join(prefix_of(name_space), "LIST#AUDIT"), std::string(id)};
}

Key head_key(std::string_view name_space) { return {join(prefix_of(name_space), "SYSTEM#"), "#CATALOG"}; }

std::string journal_pk(std::string_view name_space, std::string_view id) {
  return join(prefix_of(name_space), "LIST#CHANGE#", id);
}

Key journal_key(std::string_view name_space, std::string_view id, std::size_t part) {
  const std::string number = std::to_string(part);
  return {journal_pk(name_space, id), std::string(8 - std::min<std::size_t>(number.size(), 8), '0') + number};
}

Key version_key() { return {"SYSTEM#", "#VERSION"}; }

}  // namespace weir::dynamodb
