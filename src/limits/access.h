// Blocked and exempt entities: the stored form of the rules, and which of them holds for a request.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "limits/record.h"
#include "weir/entity.h"
#include "weir/result.h"

namespace weir::limits {

/// Every check of a rule that needs no store. A reason is required, except where a rule is only named in
/// order to remove it.
Result<void> check_access(const AccessRule& rule);

/// The rule of the same kind for the same resource; null if there is none.
const AccessRule* find_rule(std::span<const AccessRule> rules, Access access, std::string_view resource);

/// One line for each rule, `block SINCE UNTIL RESOURCE REASON` with `-` for none, and a line `only` for
/// Entity::access_only. The same on every store. Empty where the entity has no rules.
std::string encode_access(const Entity& entity);
/// The inverse; false where the text cannot be used.
bool decode_access(std::string_view text, Entity& entity);

/// The rule that holds for a request, and the entity that has it.
struct AccessVerdict : base::RefCounted<AccessVerdict> {
  std::string entity;
  AccessRule rule;
};
using AccessVerdictRef = base::Ref<const AccessVerdict>;

/// The rules of one entity of the chain.
struct AccessLink {
  std::string_view entity;
  std::span<const AccessRule> rules;
};

/// The rule that holds for a request of the first entity. A block of any entity of the chain wins over
/// everything; the nearest one is named. An exemption holds for the entity itself only. Null: none holds.
AccessVerdictRef judge_access(std::span<const AccessLink> chain, std::string_view resource, Time now);

/// The rule that refuses every request in a purged namespace; null while it is in use.
AccessVerdictRef judge_namespace(const NamespaceMark& mark, std::string_view name_space,
                                 std::string_view entity);

}  // namespace weir::limits
