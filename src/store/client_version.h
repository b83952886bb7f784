// What a program must know to read a store. A feature that an earlier weir would misread raises the least
// client version of a store on its first use; from then on an earlier weir refuses to open the store.
#pragma once

#include "store/catalog.h"

namespace weir::store {

/// The version of this program.
inline constexpr int client_version = 5;
/// Rate limits without modes, which do not inherit, need this version.
inline constexpr int plain_client = 2;
/// Plans need this version: an earlier weir would not see their limits.
inline constexpr int plan_client = 3;
/// Access rules and the states of namespaces need this version: an earlier weir would let requests pass that
/// they refuse. So do grants: an earlier weir would not see them on DynamoDB, and cannot read their buckets
/// elsewhere. (4 is a version of the format of Redis.)
inline constexpr int access_client = 5;

/// The version that limits of a level need.
inline int client_of(const limits::LimitSetRef& limits, bool inherits) {
  const bool special = limits && (limits->shadows() | limits->off() | limits->concurrent()) != 0;
  return inherits || special ? 3 : plain_client;
}
inline int client_of(const limits::LimitsRecord& record) {
  if (record.name_space.is_set()) return access_client;
  return client_of(record.current.limits, record.inherits());
}

/// The version that a change of the catalog needs.
inline int client_of(const Change& change) {
  if (const auto* const write = std::get_if<LimitsWrite>(&change))
    return client_of(write->limits, write->inherit);
  if (std::holds_alternative<AccessWrite>(change) || std::holds_alternative<NamespaceWrite>(change))
    return access_client;
  const auto* const note = std::get_if<AuditNote>(&change);
  if (note != nullptr && note->action == granted_action) return access_client;
  return std::holds_alternative<PlanPut>(change) ? plan_client : plain_client;
}

}  // namespace weir::store
