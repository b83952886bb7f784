#include "client/bodies.h"

#include <algorithm>

#include "base/json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "limits/short_form.h"
#include "wire/http_text.h"

namespace weir::client {
namespace {

using base::join;
using base::JsonWriter;

void add_settings(JsonWriter& json, std::span<const NamedLimit> limits, const SetLimitsOptions& options) {
  json.raw("limits", limits_json(limits));
  if (options.owner != Owner::operator_) json.text("owner", name_of(options.owner));
  if (options.expires_in) json.number("ttl_ms", options.expires_in->count());
  if (options.bucket_ttl_refill_multiplier)
    json.number("bucket_ttl_refill_multiplier", *options.bucket_ttl_refill_multiplier);
  if (options.on_unavailable) json.text("on_unavailable", name_of(*options.on_unavailable));
  if (options.usage) json.text("usage", base::on_or_off(*options.usage));
  if (options.inherit) json.flag("inherit", true);
}

void add_level(JsonWriter& json, const Level& level) {
  json.text("level", name_of(level.kind()));
  if (!level.entity().empty()) json.text("entity", level.entity());
  if (!level.resource().empty()) json.text("resource", level.resource());
}

void add_facts(JsonWriter& json, const Entity& entity) {
  if (!entity.parent.empty()) json.text("parent", entity.parent);
  if (entity.cascade) json.flag("cascade", true);
  if (!entity.plan.empty()) json.text("plan", entity.plan);
  if (!entity.name.empty()) json.text("name", entity.name);
  if (entity.metadata.empty()) return;
  auto metadata = JsonWriter::object();
  for (const auto& [name, value] : entity.metadata) metadata.text(name, value);
  json.raw("metadata", metadata.str());
}

std::string change_json(const SetLimits& set) {
  auto json = JsonWriter::object();
  json.text("change", "limits.set");
  add_level(json, set.level);
  add_settings(json, set.limits, set.options);
  if (set.options.from_file) json.flag("from_file", true);
  return json.str();
}

std::string change_json(const DeleteLimits& erase) {
  auto json = JsonWriter::object();
  json.text("change", "limits.delete");
  add_level(json, erase.level);
  return json.str();
}

std::string change_json(const PutEntity& put) {
  auto json = JsonWriter::object();
  json.text("change", "entity.put").text("entity", put.entity.id);
  add_facts(json, put.entity);
  if (put.entity.from_file) json.flag("from_file", true);
  return json.str();
}

std::string change_json(const DeleteEntity& erase) {
  return JsonWriter::object().text("change", "entity.delete").text("entity", erase.id).str();
}

void add_sets(JsonWriter& json, const LimitsPlan& plan) {
  json.raw("limits", limits_json(plan.limits.limits));
  if (plan.limits.inherit) json.flag("inherit", true);
  if (plan.resources.empty()) return;
  auto resources = JsonWriter::object();
  for (const auto& [resource, set] : plan.resources) {
    auto of_resource = JsonWriter::object();
    of_resource.raw("limits", limits_json(set.limits));
    if (set.inherit) of_resource.flag("inherit", true);
    resources.raw(resource, of_resource.str());
  }
  json.raw("resources", resources.str());
}

std::string change_json(const PutPlan& put) {
  auto json = JsonWriter::object();
  json.text("change", "plan.put").text("plan", put.plan.name);
  add_sets(json, put.plan);
  if (put.plan.from_file) json.flag("from_file", true);
  return json.str();
}

std::string change_json(const DeletePlan& erase) {
  return JsonWriter::object().text("change", "plan.delete").text("plan", erase.name).str();
}

const char* verb_of(Access access) { return access == Access::blocked ? "block" : "exempt"; }

void add_rule(JsonWriter& json, const AccessRule& rule) {
  if (!rule.resource.empty()) json.text("resource", rule.resource);
  if (rule.until) json.number("until_ms", *rule.until);
  json.text("reason", rule.reason);
}

std::string change_json(const SetAccess& set) {
  auto json = JsonWriter::object();
  json.text("change", join("entity.", verb_of(set.rule.access))).text("entity", set.entity);
  add_rule(json, set.rule);
  return json.str();
}

std::string change_json(const RemoveAccess& remove) {
  auto json = JsonWriter::object();
  json.text("change", join("entity.un", verb_of(remove.access))).text("entity", remove.entity);
  if (!remove.resource.empty()) json.text("resource", remove.resource);
  return json.str();
}

std::string charges_json(std::span<const Charge> charges) {
  auto json = JsonWriter::object();
  for (const Charge& charge : charges) json.raw(charge.limit, charge.amount.to_string());
  return json.str();
}

}  // namespace

std::string escaped(std::string_view text) {
  // As segments of a path these two would be resolved.
  if (text == ".") return "%2E";
  if (text == "..") return "%2E%2E";
  return wire::http::percent_encode(text);
}

std::string limits_json(std::span<const NamedLimit> limits) {
  auto json = JsonWriter::object();
  for (const NamedLimit& named : limits) {
    const std::string text = limits::to_text(named.limit);
    // A limit without a short form is JSON already.
    json.raw(named.name, text.starts_with('{') ? text : base::json_string(text));
  }
  return json.str();
}

std::string acquire_body(const Request& request) {
  auto json = JsonWriter::object();
  json.text("entity", request.entity).text("resource", request.resource);
  json.raw("consume", charges_json(request.consume));
  if (!request.limits.empty()) json.raw("limits", limits_json(request.limits));
  if (request.lease_for.count() != 0) json.number("lease_ms", request.lease_for.count());
  if (request.max_wait.count() != 0) json.number("max_wait_ms", request.max_wait.count());
  return json.str();
}

std::string charges_body(std::string_view field, std::span<const Charge> charges) {
  auto json = JsonWriter::object();
  if (!charges.empty()) json.raw(field, charges_json(charges));
  return json.str();
}

std::string adjust_body(std::span<const Charge> differences, Debt debt) {
  auto json = JsonWriter::object();
  if (!differences.empty()) json.raw("consume", charges_json(differences));
  if (debt == Debt::refused) json.flag("enforce", true);
  return json.str();
}

std::string limits_body(std::span<const NamedLimit> limits, const SetLimitsOptions& options) {
  auto json = JsonWriter::object();
  add_settings(json, limits, options);
  return json.str();
}

std::string entity_body(const Entity& entity) {
  auto json = JsonWriter::object();
  add_facts(json, entity);
  return json.str();
}

std::string plan_body(const LimitsPlan& plan) {
  auto json = JsonWriter::object();
  add_sets(json, plan);
  return json.str();
}

std::string changes_body(std::span<const CatalogChange> changes) {
  std::string json = "{\"changes\":[";
  for (const CatalogChange& change : changes) {
    if (!json.ends_with('[')) json += ',';
    json += std::visit([](const auto& step) { return change_json(step); }, change);
  }
  return json + "]}";
}

std::string path_of(const Level& level) {
  switch (level.kind()) {
    case Source::entity:
      return join("/v1/limits/entity/", escaped(level.entity()), "/", escaped(level.resource()));
    case Source::entity_default:
      return join("/v1/limits/entity/", escaped(level.entity()), "/_default_");
    case Source::resource:
      return join("/v1/limits/resource/", escaped(level.resource()));
    default:
      return "/v1/limits/system";
  }
}

std::string access_body(const AccessRule& rule) {
  auto json = JsonWriter::object();
  add_rule(json, rule);
  return json.str();
}

std::string path_of_access(std::string_view entity, Access access) {
  return join("/v1/entities/", escaped(entity), "/", verb_of(access));
}

std::string path_of_plan(std::string_view name) { return join("/v1/plans/", escaped(name)); }

namespace {

/// Appends a parameter to a target that has one already; an empty value is left out.
void add_parameter(std::string& target, std::string_view name, std::string_view value) {
  if (!value.empty()) target += join("&", name, "=", escaped(value));
}

void add_range(std::string& target, Time from, Time to) {
  // Moments that have no such text are beyond everything that is stored.
  constexpr Time end_of_9999 = 253'402'300'800'000;
  if (from > 0 && from < end_of_9999) add_parameter(target, "from", base::rfc3339_text(from));
  if (to < end_of_9999) add_parameter(target, "to", base::rfc3339_text(std::max<Time>(to, 0)));
}

}  // namespace

std::string usage_target(const UsageFilter& filter) {
  std::string target = join("/v1/usage?window=", name_of(filter.window));
  add_parameter(target, "entity", filter.entity);
  add_parameter(target, "parent", filter.parent);
  add_parameter(target, "resource", filter.resource);
  add_range(target, filter.from, filter.to);
  return target;
}

std::string audit_target(const AuditFilter& filter, std::string target) {
  add_parameter(target, "entity", filter.subject);
  add_parameter(target, "principal", filter.principal);
  add_parameter(target, "kind", filter.kind);
  add_range(target, filter.from, filter.to);
  return target;
}

std::string buckets_target(std::string_view resource, const BucketsFilter& filter, std::string target) {
  add_parameter(target, "resource", resource);
  if (filter.order == BucketOrder::remaining) add_parameter(target, "sort", "remaining");
  if (filter.order == BucketOrder::consumed) add_parameter(target, "sort", "consumed");
  if (filter.below_percent) add_parameter(target, "below", filter.below_percent->to_string());
  add_parameter(target, "by", filter.limit);
  return target;
}

std::string consume_list(std::span<const Charge> charges) {
  std::string list;
  for (const Charge& charge : charges)
    list += join(list.empty() ? "" : ",", charge.limit, ":", charge.amount.to_string());
  return list;
}

}  // namespace weir::client
