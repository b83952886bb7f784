// The audit event of a change of limits, of a plan or of an entity. Pure functions; every store uses them.
#pragma once

#include <string>

#include "limits/record.h"
#include "store/catalog.h"
#include "weir/entity.h"

namespace weir::store {

/// `{"limits":{"rpm":{...}},"owner":"operator"}`; empty for an empty record or one without limits.
std::string to_json(const limits::LimitsRecordRef& record);
/// `{"limits":{...},"resources":{"gpt-4":{"limits":{...}}}}`, with `"inherit":true` where a set inherits.
std::string to_json(const limits::PlanRecord& plan);
/// `{"parent":"project","cascade":true,"name":"","metadata":{}}`, and `"plan"` where it has one.
std::string to_json(const Entity& entity);
/// `{"reason":"abuse","until_ms":1760000000000}`.
std::string to_json(const AccessRule& rule);

/// The audit's name of a plan: "$PLAN:{plan}".
std::string audit_subject_of_plan(std::string_view plan);
/// The audit's name of a level: the entity, "$RESOURCE:{resource}" or "$SYSTEM".
std::string audit_subject(const Level& level);

AuditEvent limits_event(const Level& level, const limits::LimitsRecordRef& before,
                        const limits::LimitsRecordRef& after);
/// Either may be null, not both.
AuditEvent entity_event(const Entity* before, const Entity* after);

/// Either rule may be null, not both.
AuditEvent access_event(std::string_view entity, const AccessRule* before, const AccessRule* after);

/// `action`: "namespace.create", "namespace.purge" or "namespace.restore".
AuditEvent namespace_event(std::string action, const limits::NamespaceMark& after);
/// `{"namespace":"staging","kept_until_ms":1760000000000}`: the state of a namespace; moments that are 0 are
/// left out, as is an empty name.
std::string to_json(std::string_view name_space, const limits::NamespaceMark& mark);

/// Either record may be empty, not both.
AuditEvent plan_event(std::string_view plan, const limits::PlanRecordRef& before,
                      const limits::PlanRecordRef& after);

inline constexpr Time keep_audit_for_by_default = Time{365} * 24 * 60 * 60 * 1000;

/// An id that sorts by time; `sequence` distinguishes events of the same millisecond.
std::string audit_id(Time at, std::uint64_t sequence);

}  // namespace weir::store
