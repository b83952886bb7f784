#include "service/changes.h"

#include <optional>

#include "base/text.h"
#include "json/document.h"
#include "service/plan_body.h"

namespace weir::service {
namespace {

using base::join;

using json::Document;

/// All members that a change may have. Which of them are allowed is known once the whole change is read.
struct Members {
  std::string change;
  std::optional<std::string> level, entity, resource, plan;
  std::optional<std::vector<NamedLimit>> limits;
  SetLimitsOptions options;
  Entity record;
  LimitsPlan plan_record;  ///< its resources
  bool from_file = false;
  bool about_limits = false;  ///< has a member that only limits.set may have
  bool inherits = false;      ///< has a member that limits.set and plan.put may have
  bool about_plan = false;    ///< has a member that only plan.put may have
  bool about_entity = false;  ///< has a member that only entity.put may have
  AccessRule rule;            ///< its end and its reason
  bool about_rule = false;    ///< has one of them, which only entity.block and entity.exempt may have
};

void read_option(Document& document, std::string_view key, json::Value& value, SetLimitsOptions& options) {
  if (key == "owner") {
    const std::string owner = document.text(value, key);
    if (owner != "operator" && owner != "sync") document.invalidate("owner must be operator or sync");
    options.owner = owner == "sync" ? Owner::sync : Owner::operator_;
  } else if (key == "ttl_ms") {
    options.expires_in = std::chrono::milliseconds(document.integer(value, key));
  } else if (key == "on_unavailable") {
    const std::string policy = document.text(value, key);
    if (policy != "allow" && policy != "deny") document.invalidate("on_unavailable must be allow or deny");
    options.on_unavailable = policy == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
  } else if (key == "usage") {
    options.usage = read_usage(document, value, key);
  } else {
    const std::int64_t number = document.integer(value, key);
    if (number < 1 || number > 1'000'000)
      return document.invalidate("bucket_ttl_refill_multiplier must be 1 to 1000000");
    options.bucket_ttl_refill_multiplier = static_cast<int>(number);
  }
}

void read_fact(Document& document, std::string_view key, json::Value& value, Entity& entity) {
  if (key == "parent") {
    entity.parent = document.text(value, key);
  } else if (key == "cascade") {
    entity.cascade = document.flag(value, key);
  } else if (key == "name") {
    entity.name = document.text(value, key);
  } else {
    document.members(value, key, [&](std::string_view name, json::Value& text) {
      entity.metadata.emplace(name, document.text(text, name));
    });
  }
}

void read_member(Document& document, std::string_view key, json::Value& value, Members& members) {
  static constexpr std::string_view known[] = {"change",    "level",
                                               "entity",    "resource",
                                               "limits",    "owner",
                                               "ttl_ms",    "parent",
                                               "cascade",   "on_unavailable",
                                               "name",      "metadata",
                                               "from_file", "bucket_ttl_refill_multiplier",
                                               "inherit",   "plan",
                                               "resources", "usage",
                                               "until_ms",  "reason"};
  if (key == "change") {
    members.change = document.text(value, key);
  } else if (key == "level") {
    members.level = document.text(value, key);
  } else if (key == "entity") {
    members.entity = document.text(value, key);
  } else if (key == "resource") {
    members.resource = document.text(value, key);
  } else if (key == "plan") {
    members.plan = document.text(value, key);
  } else if (read_plan_resources(document, key, value, members.plan_record)) {
    members.about_plan = true;
  } else if (key == "inherit") {
    members.inherits = true;
    members.options.inherit = document.flag(value, key);
  } else if (key == "from_file") {
    members.from_file = document.flag(value, key);
  } else if (key == "limits") {
    members.limits = document.limits(value, key);
  } else if (key == "owner" || key == "ttl_ms" || key == "on_unavailable" ||
             key == "bucket_ttl_refill_multiplier" || key == "usage") {
    members.about_limits = true;
    read_option(document, key, value, members.options);
  } else if (key == "parent" || key == "cascade" || key == "name" || key == "metadata") {
    members.about_entity = true;
    read_fact(document, key, value, members.record);
  } else if (key == "until_ms" || key == "reason") {
    members.about_rule = true;
    if (key == "reason") members.rule.reason = document.text(value, key);
    if (key == "until_ms") members.rule.until = document.integer(value, key);
  } else {
    document.unknown(key, known);
  }
}

Level level_of(Document& document, const Members& members) {
  const std::string kind = members.level.value_or("");
  const bool has_entity = kind == "entity" || kind == "entity_default";
  const bool has_resource = kind == "entity" || kind == "resource";
  if (!has_entity && !has_resource && kind != "system")
    document.invalidate("level must be entity, entity_default, resource or system");
  if (has_entity != members.entity.has_value() || has_resource != members.resource.has_value()) {
    document.invalidate(join("level ", kind, " is named by ", has_entity ? "its entity" : "",
                             has_entity && has_resource ? " and " : "", has_resource ? "its resource" : "",
                             kind == "system" ? "nothing" : "", ", no less and no more"));
  }
  const std::string entity = members.entity.value_or(""), resource = members.resource.value_or("");
  if (kind == "entity") return Level::entity(entity, resource);
  if (kind == "entity_default") return Level::entity_default(entity);
  return kind == "resource" ? Level::resource(resource) : Level::system();
}

/// The members that only some changes may have.
void check_members(Document& document, const Members& members) {
  const std::string& change = members.change;
  const bool set = change == "limits.set", put = change == "entity.put", put_plan = change == "plan.put";
  const bool limits = set || change == "limits.delete", plan = put_plan || change == "plan.delete";
  const bool entity = put || change == "entity.delete";
  const bool sets_rule = change == "entity.block" || change == "entity.exempt";
  const bool rule = sets_rule || change == "entity.unblock" || change == "entity.unexempt";
  if (!limits && !entity && !plan && !rule)
    document.invalidate(
        "change must be limits.set, limits.delete, entity.put, entity.delete, entity.block, entity.unblock, "
        "entity.exempt, entity.unexempt, plan.put or plan.delete");
  if ((!set && members.about_limits) || (!set && !put_plan && (members.limits || members.inherits)) ||
      (!put && members.about_entity) || (!put_plan && members.about_plan) ||
      (!set && !put && !put_plan && members.from_file) || (!limits && members.level) ||
      (!limits && !rule && members.resource) || (!sets_rule && members.about_rule) ||
      (!put && !plan && members.plan) || (plan && members.entity))
    document.invalidate(join(change, " has a field that belongs to another change"));
}

CatalogChange plan_change_of(Document& document, Members& members) {
  if (!members.plan) document.invalidate(join(members.change, " needs a plan"));
  std::string name = members.plan.value_or("");
  if (members.change == "plan.delete") return DeletePlan{std::move(name)};
  LimitsPlan& plan = members.plan_record;
  plan.name = std::move(name);
  plan.limits = {std::move(members.limits).value_or(std::vector<NamedLimit>()), members.options.inherit};
  plan.from_file = members.from_file;
  return PutPlan{std::move(plan)};
}

CatalogChange rule_change_of(Members& members) {
  const std::string entity = members.entity.value_or("");
  AccessRule& rule = members.rule;
  rule.access = members.change.ends_with("block") ? Access::blocked : Access::exempt;
  rule.resource = members.resource.value_or("");
  if (members.change.starts_with("entity.un")) return RemoveAccess{entity, rule.access, rule.resource};
  return SetAccess{entity, std::move(rule)};
}

CatalogChange change_of(Document& document, Members& members) {
  check_members(document, members);
  if (members.change.starts_with("plan.")) return plan_change_of(document, members);
  const bool set = members.change == "limits.set", put = members.change == "entity.put";
  if (set || members.change == "limits.delete") {
    const Level level = level_of(document, members);
    if (!set) return DeleteLimits{level};
    if (!members.limits) document.invalidate("limits.set needs limits");
    members.options.from_file = members.from_file;
    return SetLimits{level, std::move(members.limits).value_or(std::vector<NamedLimit>()), members.options};
  }
  if (!members.entity) document.invalidate(join(members.change, " needs an entity"));
  if (members.change.ends_with("block") || members.change.ends_with("exempt")) return rule_change_of(members);
  if (!put) return DeleteEntity{members.entity.value_or("")};
  members.record.id = members.entity.value_or("");
  members.record.plan = members.plan.value_or("");
  members.record.from_file = members.from_file;
  return PutEntity{std::move(members.record)};
}

}  // namespace

json::Parsed<std::vector<CatalogChange>> parse_changes(std::string_view json) {
  Document document(json);
  std::vector<CatalogChange> changes;
  std::size_t at = 0;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"changes"};
    if (key != "changes") return document.unknown(key, known);
    document.elements(value, key, most_changes, [&](json::Value& element) {
      ++at;
      Members members;
      document.members(
          element, join("change ", std::to_string(at)),
          [&](std::string_view name, json::Value& member) { read_member(document, name, member, members); });
      if (!document.failed()) changes.push_back(change_of(document, members));
    });
  });
  auto parsed = document.result(std::move(changes));
  const std::string where = at == 0 ? "" : join("change ", std::to_string(at), ": ");
  if (!parsed.malformed.empty()) parsed.malformed = where + parsed.malformed;
  if (!parsed.invalid.empty()) parsed.invalid = where + parsed.invalid;
  return parsed;
}

}  // namespace weir::service
