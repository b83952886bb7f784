#include "api/catalog_json.h"

#include "base/json.h"
#include "base/text.h"
#include "store/bucket_now.h"

namespace weir::api {
namespace {

using base::JsonWriter;

void add_settings(JsonWriter& json, const StoredLimits& stored) {
  json.raw("limits", to_json(std::span(stored.limits))).text("owner", name_of(stored.owner));
  if (stored.expires_at) json.number("expires_at_ms", *stored.expires_at);
  if (stored.bucket_ttl_refill_multiplier)
    json.number("bucket_ttl_refill_multiplier", *stored.bucket_ttl_refill_multiplier);
  if (stored.on_unavailable) json.text("on_unavailable", name_of(*stored.on_unavailable));
  if (stored.usage) json.text("usage", base::on_or_off(*stored.usage));
  if (stored.from_file) json.flag("from_file", true);
  if (stored.inherit) json.flag("inherit", true);
  if (stored.taken_from_sync) json.flag("taken_from_sync", true);
}

std::string limit_json(const Bucket& bucket, const BucketLimit& limit, Time now) {
  auto json = JsonWriter::object();
  json.text("name", limit.name).raw("remaining", store::held_at(bucket, limit, now).to_string());
  json.raw("tokens", limit.tokens.to_string()).raw("consumed", limit.consumed.to_string());
  json.raw("capacity", limit.limit.capacity().to_string()).raw("burst", limit.limit.burst().to_string());
  if (limit.limit.kind() == Kind::concurrent) {
    auto held = JsonWriter::array();
    for (const HeldAmount& one : limit.held) {
      auto entry = JsonWriter::object();
      held.add(entry.number("deadline_ms", one.deadline).raw("amount", one.amount.to_string()).str());
    }
    json.text("kind", "concurrent").raw("held", held.str());
  } else {
    json.raw("refill_amount", limit.limit.refill_amount().to_string());
    json.number("refill_period_ms", limit.limit.refill_period().count());
  }
  if (!limit.grants.empty()) {
    auto grants = JsonWriter::array();
    for (const GrantLeft& one : limit.grants) {
      auto entry = JsonWriter::object();
      if (one.end) entry.number("end_ms", *one.end);
      grants.add(entry.raw("amount", one.amount.to_string()).str());
    }
    json.raw("grants", grants.str());
  }
  json.number("full_at_ms", store::full_at(bucket, limit, now)).flag("in_force", limit.in_force);
  return json.str();
}

}  // namespace

std::string to_json(std::span<const NamedLimit> limits) {
  auto json = JsonWriter::object();
  for (const NamedLimit& limit : limits) json.raw(limit.name, limit.limit.to_json());
  return json.str();
}

std::string to_json(const StoredLimits& stored) {
  auto json = JsonWriter::object();
  add_settings(json, stored);
  return json.str();
}

std::string item_json(const StoredLimits& stored) {
  auto json = JsonWriter::object();
  json.text("level", name_of(stored.level.kind()));
  if (!stored.level.entity().empty()) json.text("entity", stored.level.entity());
  if (!stored.level.resource().empty()) json.text("resource", stored.level.resource());
  add_settings(json, stored);
  return json.str();
}

std::string to_json(const EffectiveLimits& effective) {
  auto json = JsonWriter::object();
  json.raw("limits", to_json(std::span(effective.limits))).text("source", name_of(effective.source));
  json.text("owner", name_of(effective.owner));
  auto sources = JsonWriter::object();
  for (std::size_t i = 0; i < effective.sources.size(); ++i)
    sources.text(effective.limits[i].name, name_of(effective.sources[i]));
  json.raw("sources", sources.str());
  return json.str();
}

namespace {

/// `only`: rules of this kind.
std::string rules_json(const std::vector<AccessRule>& rules, std::optional<Access> only) {
  auto list = JsonWriter::array();
  for (const AccessRule& rule : rules) {
    if (only && rule.access != *only) continue;
    auto json = JsonWriter::object();
    json.text("access", name_of(rule.access));
    if (!rule.resource.empty()) json.text("resource", rule.resource);
    json.text("reason", rule.reason).number("since_ms", rule.since);
    if (rule.until) json.number("until_ms", *rule.until);
    list.add(json.str());
  }
  return list.str();
}

}  // namespace

std::string to_json(const Entity& entity) {
  auto metadata = JsonWriter::object();
  for (const auto& [name, value] : entity.metadata) metadata.text(name, value);
  auto json = JsonWriter::object();
  json.text("entity", entity.id);
  if (!entity.parent.empty()) json.text("parent", entity.parent);
  json.flag("cascade", entity.cascade);
  if (!entity.plan.empty()) json.text("plan", entity.plan);
  if (!entity.name.empty()) json.text("name", entity.name);
  json.raw("metadata", metadata.str()).number("created_at_ms", entity.created_at);
  if (entity.from_file) json.flag("from_file", true);
  if (!entity.access.empty()) json.raw("access", rules_json(entity.access, std::nullopt));
  return json.str();
}

std::string access_json(const Entity& entity, Access access) {
  auto json = JsonWriter::object();
  return json.text("entity", entity.id).raw("rules", rules_json(entity.access, access)).str();
}

std::string to_json(const Namespace& name_space) {
  auto json = JsonWriter::object();
  json.text("name", name_space.name);
  if (name_space.created_at) json.number("created_at_ms", *name_space.created_at);
  if (name_space.purged_at) json.number("purged_at_ms", *name_space.purged_at);
  if (name_space.kept_until) json.number("kept_until_ms", *name_space.kept_until);
  if (name_space.erased) json.flag("erased", true);
  return json.str();
}

std::string to_json(const LimitsPlan& plan) {
  auto resources = JsonWriter::object();
  for (const auto& [resource, set] : plan.resources) {
    auto of_resource = JsonWriter::object();
    of_resource.raw("limits", to_json(std::span(set.limits)));
    if (set.inherit) of_resource.flag("inherit", true);
    resources.raw(resource, of_resource.str());
  }
  auto json = JsonWriter::object();
  json.text("plan", plan.name).raw("limits", to_json(std::span(plan.limits.limits)));
  if (plan.limits.inherit) json.flag("inherit", true);
  json.raw("resources", resources.str());
  if (plan.from_file) json.flag("from_file", true);
  return json.str();
}

std::string to_json(const AuditEvent& event) {
  auto json = JsonWriter::object();
  json.text("id", event.id).number("at_ms", event.at).text("principal", event.principal);
  json.text("action", event.action).text("subject", event.subject);
  if (!event.resource.empty()) json.text("resource", event.resource);
  json.raw("before", event.before.empty() ? "null" : event.before);
  json.raw("after", event.after.empty() ? "null" : event.after);
  return json.str();
}

std::string to_json(const Bucket& bucket, Time now) {
  auto limits = JsonWriter::array();
  for (const BucketLimit& limit : bucket.limits) limits.add(limit_json(bucket, limit, now));
  auto json = JsonWriter::object();
  json.text("entity", bucket.entity).text("resource", bucket.resource);
  json.number("refilled_at_ms", bucket.refilled_at);
  if (bucket.expires_at) json.number("expires_at_ms", *bucket.expires_at);
  json.number("version", bucket.version).raw("limits", limits.str());
  return json.str();
}

}  // namespace weir::api
