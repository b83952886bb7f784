#include "store/audit.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace weir::store {
namespace {

std::string digits(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

/// Of a record without limits: `{}`.
std::string limits_json(const limits::LimitsRecord& record) {
  auto limits = base::JsonWriter::object();
  if (!record.current.limits) return limits.str();
  for (const NamedLimit& limit : record.current.limits->limits())
    limits.raw(limit.name, limit.limit.to_json());
  return limits.str();
}

std::string set_json(const limits::LimitsRecord& record) {
  auto json = base::JsonWriter::object();
  json.raw("limits", limits_json(record));
  if (record.inherits()) json.flag("inherit", true);
  return json.str();
}

}  // namespace

std::string to_json(const limits::LimitsRecordRef& record) {
  if (!record || !record->current.limits) return {};
  auto json = base::JsonWriter::object();
  json.raw("limits", limits_json(*record)).text("owner", name_of(record->owner));
  if (record->expires_at != limits::never) json.number("expires_at_ms", record->expires_at);
  if (record->bucket_ttl_refill_multiplier) {
    json.number("bucket_ttl_refill_multiplier", *record->bucket_ttl_refill_multiplier);
  }
  if (record->on_unavailable) json.text("on_unavailable", name_of(*record->on_unavailable));
  if (record->usage) json.text("usage", base::on_or_off(*record->usage));
  if (record->inherits()) json.flag("inherit", true);
  return json.str();
}

std::string to_json(const Entity& entity) {
  auto metadata = base::JsonWriter::object();
  for (const auto& [name, value] : entity.metadata) metadata.text(name, value);
  auto json = base::JsonWriter::object();
  json.text("parent", entity.parent).flag("cascade", entity.cascade).text("name", entity.name);
  json.raw("metadata", metadata.str());
  if (!entity.plan.empty()) json.text("plan", entity.plan);
  return json.str();
}

std::string to_json(const AccessRule& rule) {
  auto json = base::JsonWriter::object();
  json.text("reason", rule.reason);
  if (rule.until) json.number("until_ms", *rule.until);
  return json.str();
}

std::string to_json(const limits::PlanRecord& plan) {
  auto resources = base::JsonWriter::object();
  for (const auto& [resource, set] : plan.resources) {
    if (set->current.limits) resources.raw(resource, set_json(*set));
  }
  auto json = base::JsonWriter::object();
  json.raw("limits", plan.limits ? limits_json(*plan.limits) : "{}").raw("resources", resources.str());
  if (plan.limits && plan.limits->inherits()) json.flag("inherit", true);
  return json.str();
}

std::string audit_subject_of_plan(std::string_view plan) { return base::join("$PLAN:", plan); }

std::string audit_subject(const Level& level) {
  switch (level.kind()) {
    case Source::entity:
    case Source::entity_default:
      return level.entity();
    case Source::resource:
      return base::join("$RESOURCE:", level.resource());
    default:
      return "$SYSTEM";
  }
}

AuditEvent limits_event(const Level& level, const limits::LimitsRecordRef& before,
                        const limits::LimitsRecordRef& after) {
  AuditEvent event;
  event.action = after->current.limits ? "limits.set" : "limits.delete";
  event.subject = audit_subject(level);
  if (level.kind() == Source::entity) event.resource = level.resource();
  event.before = to_json(before);
  event.after = to_json(after);
  return event;
}

AuditEvent entity_event(const Entity* before, const Entity* after) {
  AuditEvent event;
  event.action = after != nullptr ? "entity.put" : "entity.delete";
  event.subject = after != nullptr ? after->id : before->id;
  if (before != nullptr) event.before = to_json(*before);
  if (after != nullptr) event.after = to_json(*after);
  return event;
}

AuditEvent access_event(std::string_view entity, const AccessRule* before, const AccessRule* after) {
  const AccessRule& rule = after != nullptr ? *after : *before;
  const std::string kind = rule.access == Access::blocked ? "block" : "exempt";
  AuditEvent event;
  event.action = base::join("entity.", after != nullptr ? kind : "un" + kind);
  event.subject = entity;
  event.resource = rule.resource;
  if (before != nullptr) event.before = to_json(*before);
  if (after != nullptr) event.after = to_json(*after);
  return event;
}

AuditEvent plan_event(std::string_view plan, const limits::PlanRecordRef& before,
                      const limits::PlanRecordRef& after) {
  AuditEvent event;
  event.action = after ? "plan.put" : "plan.delete";
  event.subject = audit_subject_of_plan(plan);
  if (before) event.before = to_json(*before);
  if (after) event.after = to_json(*after);
  return event;
}

std::string to_json(std::string_view name_space, const limits::NamespaceMark& mark) {
  auto json = base::JsonWriter::object();
  if (!name_space.empty()) json.text("namespace", name_space);
  if (mark.created_at != 0) json.number("created_at_ms", mark.created_at);
  if (mark.purged_at != 0)
    json.number("purged_at_ms", mark.purged_at).number("kept_until_ms", mark.kept_until);
  return json.str();
}

AuditEvent namespace_event(std::string action, const limits::NamespaceMark& after) {
  AuditEvent event;
  event.action = std::move(action);
  event.subject = audit_subject(Level::system());
  event.after = to_json({}, after);
  return event;
}

std::string audit_id(Time at, std::uint64_t sequence) {
  return digits(static_cast<std::uint64_t>(std::max<Time>(at, 0)), 14) + "-" + digits(sequence, 10);
}

}  // namespace weir::store
