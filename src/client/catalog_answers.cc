// Answers about limits, entities, buckets, the audit and the store.
#include <algorithm>
#include <map>

#include "base/maxima.h"
#include "base/text.h"
#include "client/answers.h"
#include "client/reading.h"

namespace weir::client {
namespace {

using base::join;

/// One member of the limits of a level; others are skipped.
void read_setting(Answer& answer, std::string_view key, json::Value& value, StoredLimits& stored) {
  if (key == "limits") stored.limits = answer.limits(value, key);
  if (key == "owner") stored.owner = answer.owner(value, key);
  if (key == "expires_at_ms") stored.expires_at = answer.integer(value, key);
  if (key == "bucket_ttl_refill_multiplier") {
    const std::int64_t multiplier = answer.count(value, key);
    if (multiplier > 1'000'000) answer.malform(join(base::quoted(key), " is too large"));
    stored.bucket_ttl_refill_multiplier = static_cast<int>(std::min<std::int64_t>(multiplier, 1'000'000));
  }
  if (key == "on_unavailable") {
    const std::string policy = answer.text(value, key);
    if (policy != "allow" && policy != "deny") answer.malform(join(base::quoted(policy), " is no policy"));
    stored.on_unavailable = policy == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
  }
  if (key == "usage") {
    const std::string usage = answer.text(value, key);
    stored.usage = base::parse_on_or_off(usage);
    if (!stored.usage) answer.malform(join("usage is ", base::quoted(usage)));
  }
  if (key == "from_file") stored.from_file = answer.flag(value, key);
  if (key == "inherit") stored.inherit = answer.flag(value, key);
  if (key == "taken_from_sync") stored.taken_from_sync = answer.flag(value, key);
}

Level level_of(Answer& answer, Source kind, const std::string& entity, const std::string& resource) {
  switch (kind) {
    case Source::entity:
      return Level::entity(entity, resource);
    case Source::entity_default:
      return Level::entity_default(entity);
    case Source::resource:
      return Level::resource(resource);
    case Source::system:
      return Level::system();
    default:
      answer.malform(join("no limits are stored at level ", base::quoted(name_of(kind))));
      return Level::system();
  }
}

StoredLimits read_item(Answer& answer, json::Value& element) {
  StoredLimits stored{.level = Level::system(), .limits = {}};
  Source kind = Source::system;
  std::string entity, resource;
  answer.members(element, "items", [&](std::string_view key, json::Value& value) {
    if (key == "level") kind = answer.source(value, key);
    if (key == "entity") entity = answer.text(value, key);
    if (key == "resource") resource = answer.text(value, key);
    read_setting(answer, key, value, stored);
  });
  stored.level = level_of(answer, kind, entity, resource);
  return stored;
}

void read_rules(Answer& answer, json::Value& value, std::string_view of, std::vector<AccessRule>& rules) {
  answer.elements(value, of, maxima::access_rules, [&](json::Value& element) {
    AccessRule& rule = rules.emplace_back();
    answer.members(element, of, [&](std::string_view key, json::Value& member) {
      if (key == "access" && answer.text(member, key) == name_of(Access::exempt))
        rule.access = Access::exempt;
      if (key == "resource") rule.resource = answer.text(member, key);
      if (key == "reason") rule.reason = answer.text(member, key);
      if (key == "since_ms") rule.since = answer.integer(member, key);
      if (key == "until_ms") rule.until = answer.integer(member, key);
    });
  });
}

void read_entity_member(Answer& answer, std::string_view key, json::Value& value, Entity& entity) {
  if (key == "access") read_rules(answer, value, key, entity.access);
  if (key == "entity") entity.id = answer.text(value, key);
  if (key == "parent" && !answer.is_null(value)) entity.parent = answer.text(value, key);
  if (key == "plan") entity.plan = answer.text(value, key);
  if (key == "cascade") entity.cascade = answer.flag(value, key);
  if (key == "name") entity.name = answer.text(value, key);
  if (key == "created_at_ms") entity.created_at = answer.integer(value, key);
  if (key == "from_file") entity.from_file = answer.flag(value, key);
  if (key == "metadata") {
    answer.members(value, key, [&](std::string_view name, json::Value& text) {
      entity.metadata.emplace(name, answer.text(text, name));
    });
  }
}

std::vector<HeldAmount> read_held(Answer& answer, json::Value& value, std::string_view of) {
  std::vector<HeldAmount> held;
  answer.elements(value, of, maxima::holds, [&](json::Value& element) {
    HeldAmount& one = held.emplace_back();
    answer.members(element, of, [&](std::string_view key, json::Value& member) {
      if (key == "deadline_ms") one.deadline = answer.count(member, key);
      if (key == "amount") one.amount = answer.amount(member, key);
    });
  });
  return held;
}

std::vector<GrantLeft> read_grants(Answer& answer, json::Value& value, std::string_view of) {
  std::vector<GrantLeft> grants;
  answer.elements(value, of, maxima::grants, [&](json::Value& element) {
    GrantLeft& one = grants.emplace_back();
    answer.members(element, of, [&](std::string_view key, json::Value& member) {
      if (key == "end_ms") one.end = answer.count(member, key);
      if (key == "amount") one.amount = answer.amount(member, key);
    });
  });
  return grants;
}

void read_plan_member(Answer& answer, std::string_view key, json::Value& value, LimitsPlan& plan) {
  if (key == "plan") plan.name = answer.text(value, key);
  if (key == "limits") plan.limits.limits = answer.limits(value, key);
  if (key == "inherit") plan.limits.inherit = answer.flag(value, key);
  if (key == "from_file") plan.from_file = answer.flag(value, key);
  if (key != "resources") return;
  answer.members(value, key, [&](std::string_view resource, json::Value& set) {
    PlanLimits& read = plan.resources[std::string(resource)];
    answer.members(set, resource, [&](std::string_view name, json::Value& member) {
      if (name == "limits") read.limits = answer.limits(member, name);
      if (name == "inherit") read.inherit = answer.flag(member, name);
    });
  });
}

BucketLimit read_bucket_limit(Answer& answer, json::Value& element) {
  static const Limit none = *Limit::parse("0");
  BucketLimit read{.name = {}, .limit = none, .tokens = {}, .consumed = {}};
  LimitSpec spec;
  answer.members(element, "limits", [&](std::string_view key, json::Value& value) {
    if (key == "name") read.name = answer.text(value, key);
    if (key == "tokens") read.tokens = answer.amount(value, key);
    if (key == "consumed") read.consumed = answer.amount(value, key);
    if (key == "capacity") spec.capacity = answer.amount(value, key);
    if (key == "burst") spec.burst = answer.amount(value, key);
    if (key == "refill_amount") spec.refill_amount = answer.amount(value, key);
    if (key == "refill_period_ms") spec.refill_period = std::chrono::milliseconds(answer.integer(value, key));
    if (key == "in_force") read.in_force = answer.flag(value, key);
    if (key == "kind") spec.kind = answer.kind(value, key);
    if (key == "held") read.held = read_held(answer, value, key);
    if (key == "grants") read.grants = read_grants(answer, value, key);
  });
  if (answer.failed()) return read;
  auto limit = Limit::make(spec);
  if (!limit) return answer.malform(limit.error().message), read;
  read.limit = *limit;
  return read;
}

void read_bucket_member(Answer& answer, std::string_view key, json::Value& value, Bucket& bucket) {
  constexpr std::size_t most_limits = 1000;  // current limits and dormant ones
  if (key == "entity") bucket.entity = answer.text(value, key);
  if (key == "resource") bucket.resource = answer.text(value, key);
  if (key == "refilled_at_ms") bucket.refilled_at = answer.count(value, key);
  if (key == "expires_at_ms") bucket.expires_at = answer.integer(value, key);
  if (key == "version") bucket.version = answer.integer(value, key);
  if (key != "limits") return;
  answer.elements(value, key, most_limits,
                  [&](json::Value& one) { bucket.limits.push_back(read_bucket_limit(answer, one)); });
}

Bucket read_bucket(Answer& answer, json::Value& element) {
  Bucket bucket;
  answer.members(element, "buckets", [&](std::string_view key, json::Value& value) {
    read_bucket_member(answer, key, value, bucket);
  });
  return bucket;
}

AuditEvent read_event(Answer& answer, json::Value& element) {
  AuditEvent event;
  answer.members(element, "events", [&](std::string_view key, json::Value& value) {
    if (key == "id") event.id = answer.text(value, key);
    if (key == "at_ms") event.at = answer.integer(value, key);
    if (key == "principal") event.principal = answer.text(value, key);
    if (key == "action") event.action = answer.text(value, key);
    if (key == "subject") event.subject = answer.text(value, key);
    if (key == "resource") event.resource = answer.text(value, key);
    if (key == "before" && !answer.is_null(value)) event.before = answer.raw(value, key);
    if (key == "after" && !answer.is_null(value)) event.after = answer.raw(value, key);
  });
  return event;
}

void read_namespace_member(Answer& answer, std::string_view key, json::Value& value, Namespace& into) {
  if (key == "name") into.name = answer.text(value, key);
  if (key == "created_at_ms") into.created_at = answer.integer(value, key);
  if (key == "purged_at_ms") into.purged_at = answer.integer(value, key);
  if (key == "kept_until_ms") into.kept_until = answer.integer(value, key);
  if (key == "erased") into.erased = answer.flag(value, key);
}

store::Finding read_finding(Answer& answer, json::Value& element) {
  store::Finding finding;
  answer.members(element, "findings", [&](std::string_view key, json::Value& value) {
    if (key == "what") finding.what = answer.text(value, key);
    if (key == "detail") finding.detail = answer.text(value, key);
    if (key != "severity") return;
    const std::string severity = answer.text(value, key);
    for (const auto known : {store::Severity::ok, store::Severity::warning, store::Severity::failure}) {
      if (severity != store::name_of(known)) continue;
      finding.severity = known;
      return;
    }
    answer.malform(join(base::quoted(severity), " is no severity"));
  });
  return finding;
}

}  // namespace

Result<StoredLimits> read_stored(std::string_view json, const Level& level) {
  Answer answer(json);
  StoredLimits stored{.level = level, .limits = {}};
  answer.members([&](std::string_view key, json::Value& value) { read_setting(answer, key, value, stored); });
  return answer.finish(std::move(stored));
}

Result<EffectiveLimits> read_effective(std::string_view json) {
  Answer answer(json);
  EffectiveLimits effective{.limits = {}, .source = Source::system, .owner = Owner::operator_};
  std::map<std::string, Source, std::less<>> sources;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "limits") effective.limits = answer.limits(value, key);
    if (key == "source") effective.source = answer.source(value, key);
    if (key == "owner") effective.owner = answer.owner(value, key);
    if (key == "sources") {
      answer.members(value, key, [&](std::string_view name, json::Value& source) {
        sources.emplace(name, answer.source(source, name));
      });
    }
  });
  for (const NamedLimit& limit : effective.limits) {
    const auto found = sources.find(limit.name);
    effective.sources.push_back(found == sources.end() ? effective.source : found->second);
  }
  return answer.finish(std::move(effective));
}

Result<Page<StoredLimits>> read_limits_page(std::string_view json) {
  return read_page<StoredLimits>(json, "items", read_item);
}

Result<Entity> read_entity(std::string_view json) {
  Answer answer(json);
  Entity entity;
  answer.members(
      [&](std::string_view key, json::Value& value) { read_entity_member(answer, key, value, entity); });
  return answer.finish(std::move(entity));
}

Result<Page<Entity>> read_entities_page(std::string_view json) {
  return read_page<Entity>(json, "items", [](Answer& answer, json::Value& element) {
    Entity entity;
    answer.members(element, "items", [&](std::string_view key, json::Value& value) {
      read_entity_member(answer, key, value, entity);
    });
    return entity;
  });
}

Result<Entity> read_access(std::string_view json) {
  Answer answer(json);
  Entity entity;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == "entity") entity.id = answer.text(value, key);
    if (key == "rules") read_rules(answer, value, key, entity.access);
  });
  return answer.finish(std::move(entity));
}

Result<LimitsPlan> read_plan(std::string_view json) {
  Answer answer(json);
  LimitsPlan plan;
  answer.members(
      [&](std::string_view key, json::Value& value) { read_plan_member(answer, key, value, plan); });
  return answer.finish(std::move(plan));
}

Result<Page<LimitsPlan>> read_plans_page(std::string_view json) {
  return read_page<LimitsPlan>(json, "items", [](Answer& answer, json::Value& element) {
    LimitsPlan plan;
    answer.members(element, "items", [&](std::string_view key, json::Value& value) {
      read_plan_member(answer, key, value, plan);
    });
    return plan;
  });
}

Result<Page<std::string>> read_ids_page(std::string_view json, const char* name) {
  return read_page<std::string>(
      json, name, [&](Answer& answer, json::Value& element) { return answer.text(element, name); });
}

Result<Namespace> read_namespace(std::string_view json) {
  Answer answer(json);
  Namespace read;
  answer.members(
      [&](std::string_view key, json::Value& value) { read_namespace_member(answer, key, value, read); });
  return answer.finish(std::move(read));
}

Result<std::vector<Namespace>> read_namespaces(std::string_view json) {
  auto page = read_page<Namespace>(json, "namespaces", [](Answer& answer, json::Value& element) {
    Namespace read;
    answer.members(element, "namespaces", [&](std::string_view key, json::Value& value) {
      read_namespace_member(answer, key, value, read);
    });
    return read;
  });
  if (!page) return page.error();
  return std::move(page->items);
}

Result<Bucket> read_one_bucket(std::string_view json) {
  Answer answer(json);
  Bucket bucket;
  answer.members(
      [&](std::string_view key, json::Value& value) { read_bucket_member(answer, key, value, bucket); });
  return answer.finish(std::move(bucket));
}

Result<Page<Bucket>> read_buckets_page(std::string_view json) {
  return read_page<Bucket>(json, "buckets", read_bucket);
}

Result<Page<AuditEvent>> read_audit_page(std::string_view json) {
  return read_page<AuditEvent>(json, "events", read_event);
}

Result<std::vector<store::Finding>> read_findings(std::string_view json) {
  auto page = read_page<store::Finding>(json, "findings", read_finding);
  if (!page) return page.error();
  return std::move(page->items);
}

}  // namespace weir::client
