// Calls that are answered synchronously: availability, limits, plans, entities, buckets, the audit.
#include "api/catalog_json.h"
#include "api/decision_json.h"
#include "base/json.h"
#include "base/text.h"
#include "server/rate_limit_fields.h"
#include "service/calls.h"
#include "service/plan_body.h"
#include "service/query.h"

namespace weir::service {
namespace {

using base::JsonWriter;
using wire::http::Method;

Reply available(limiter::Core& core, std::string_view query_text) {
  const Query query(query_text, {"entity", "resource", "consume", "limits"});
  if (!query.error().empty()) return malformed(query.error());
  const auto consume = parse_consume_list(query.get("consume"));
  if (!consume.ok()) return bad_body(consume);
  const std::string entity = query.get("entity");
  const std::string resource = query.get("resource");
  AcquireOptions options;
  std::optional<RequestLimits> limits;
  if (query.has("limits")) {
    const auto parsed = parse_request_limits(query.get("limits"));
    if (!parsed.ok()) return bad_body(parsed);
    auto made = RequestLimits::make(std::span(parsed.value));
    if (!made) return problem(made.error());
    limits = *std::move(made);
    options.limits = &*limits;
  }
  const auto decision = core.available(entity, resource, consume.value.charges(), options);
  if (!decision) return problem(decision.error());
  Reply reply{.body = api::available_json(*decision)};
  server::append_rate_limit_fields(reply.fields, decision->limits());
  server::append_would_refuse(reply.fields, decision->limits());
  return reply;
}

Level level_of(const Route& route) {
  if (route.names.empty()) return Level::system();
  if (route.names.size() == 1) return Level::resource(route.names[0]);
  return route.names[1] == "_default_" ? Level::entity_default(route.names[0])
                                       : Level::entity(route.names[0], route.names[1]);
}

/// Counts writes by sync, and limits that an operator took over from sync.
void count_write(telemetry::Metrics& metrics, Owner owner, const Result<StoredLimits>& stored) {
  if (owner == Owner::sync && stored) metrics.sync_write(telemetry::SyncWrite::written);
  if (owner == Owner::sync && !stored && stored.error().code == ErrorCode::operator_owned)
    metrics.sync_write(telemetry::SyncWrite::operator_owned);
  if (stored && stored->taken_from_sync) metrics.taken_from_sync();
}

Reply limits_of_level(limiter::Core& core, const Route& route, Method method, std::string_view body,
                      telemetry::Metrics& metrics) {
  const Level level = level_of(route);
  if (method == Method::delete_) {
    const auto deleted = core.delete_limits(level);
    return deleted ? Reply{.status = 204} : problem(deleted.error());
  }
  if (method != Method::put) {
    const auto stored = core.limits(level);
    return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
  }
  const auto parsed = parse_limits_body(body);
  if (!parsed.ok()) return bad_body(parsed);
  const auto stored = core.set_limits(level, parsed.value.limits, parsed.value.options);
  count_write(metrics, parsed.value.options.owner, stored);
  return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
}

Reply list_limits(limiter::Core& core, std::string_view query_text) {
  const Query query(query_text, {"level", "owner", "cursor", "limit"});
  if (!query.error().empty()) return malformed(query.error());
  LimitsFilter filter;
  for (const Source level : {Source::entity, Source::entity_default, Source::resource, Source::system}) {
    if (query.get("level") == name_of(level)) filter.level = level;
  }
  for (const Owner owner : {Owner::operator_, Owner::sync}) {
    if (query.get("owner") == name_of(owner)) filter.owner = owner;
  }
  if (query.has("level") && !filter.level)
    return malformed("level must be entity, entity_default, resource or system");
  if (query.has("owner") && !filter.owner) return malformed("owner must be operator or sync");
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  return page_reply(core.list_limits(filter, *paging), "items",
                    [](const StoredLimits& item) { return api::item_json(item); });
}

Reply effective(limiter::Core& core, std::string_view query_text) {
  const Query query(query_text, {"entity", "resource"});
  if (!query.error().empty()) return malformed(query.error());
  const auto limits = core.effective_limits(query.get("entity"), query.get("resource"));
  return limits ? Reply{.body = api::to_json(*limits)} : problem(limits.error());
}

Reply entity(limiter::Core& core, const std::string& id, Method method, std::string_view body) {
  if (method == Method::delete_) {
    const auto deleted = core.delete_entity(id);
    return deleted ? Reply{.status = 204} : problem(deleted.error());
  }
  if (method != Method::put) {
    const auto stored = core.entity(id);
    return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
  }
  const auto parsed = parse_entity(body, id);
  if (!parsed.ok()) return bad_body(parsed);
  const auto stored = core.put_entity(parsed.value);
  return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
}

Reply plan(limiter::Core& core, const std::string& name, Method method, std::string_view body) {
  if (method == Method::delete_) {
    const auto deleted = core.delete_plan(name);
    return deleted ? Reply{.status = 204} : problem(deleted.error());
  }
  if (method != Method::put) {
    const auto stored = core.plan(name);
    return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
  }
  const auto parsed = parse_plan(body, name);
  if (!parsed.ok()) return bad_body(parsed);
  const auto stored = core.put_plan(parsed.value);
  return stored ? Reply{.body = api::to_json(*stored)} : problem(stored.error());
}

Reply listing(limiter::Core& core, const Route& route, std::string_view query_text, Time now) {
  const Query query(query_text, {"cursor", "limit"});
  if (!query.error().empty()) return malformed(query.error());
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  if (route.call == Call::list_entities) {
    return page_reply(core.entities(*paging), "items", [](const Entity& item) { return api::to_json(item); });
  }
  if (route.call == Call::list_plans) {
    return page_reply(core.plans(*paging), "items",
                      [](const LimitsPlan& item) { return api::to_json(item); });
  }
  if (route.call == Call::members) {
    return page_reply(core.members(route.names[0], *paging), "members",
                      [](const std::string& member) { return base::json_string(member); });
  }
  if (route.call == Call::children) {
    return page_reply(core.children(route.names[0], *paging), "children",
                      [](const std::string& child) { return base::json_string(child); });
  }
  return page_reply(core.buckets(route.names[0], *paging), "buckets",
                    [now](const Bucket& bucket) { return api::to_json(bucket, now); });
}

Reply buckets_on(limiter::Core& core, std::string_view query_text, Time now) {
  const Query query(query_text, {"resource", "sort", "below", "by", "limit", "cursor"});
  if (!query.error().empty()) return malformed(query.error());
  if (query.has("by") && query.get("by").empty()) return malformed("by is empty; leave it out for any limit");
  if (query.has("resource") && query.get("resource").empty())
    return malformed("resource is empty; leave it out for every resource, or name one");
  BucketsFilter filter{.limit = query.get("by")};
  const std::string sort = query.get("sort");
  if (sort == "remaining") filter.order = BucketOrder::remaining;
  if (sort == "consumed") filter.order = BucketOrder::consumed;
  if (query.has("sort") && filter.order == BucketOrder::entity)
    return malformed("sort must be remaining or consumed; without it buckets come by entity");
  if (query.has("below")) {
    const auto below = Amount::parse(query.get("below"));
    if (!below || *below <= Amount()) return malformed("below must be a percentage above 0, such as 10");
    filter.below_percent = *below;
  }
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  return page_reply(core.buckets_on(query.get("resource"), filter, *paging), "buckets",
                    [now](const Bucket& bucket) { return api::to_json(bucket, now); });
}

Reply audit(limiter::Core& core, std::string_view query_text) {
  const Query query(query_text, {"entity", "from", "to", "principal", "kind", "limit", "cursor"});
  if (!query.error().empty()) return malformed(query.error());
  if (query.has("kind") && query.get("kind").empty()) return malformed("kind is empty; leave it out for all");
  AuditFilter filter{
      .subject = query.get("entity"), .principal = query.get("principal"), .kind = query.get("kind")};
  if (auto read = read_moment(query, "from", filter.from); !read) return malformed(read.error().message);
  if (auto read = read_moment(query, "to", filter.to); !read) return malformed(read.error().message);
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  return page_reply(core.audit_events(filter, *paging), "events",
                    [](const AuditEvent& event) { return api::to_json(event); });
}

}  // namespace

Reply answer_at_once(limiter::Core& core, const Route& route, const wire::http::RequestHead& request,
                     std::string_view body, Time now, telemetry::Metrics& metrics) {
  switch (route.call) {
    case Call::available:
      return available(core, request.query());
    case Call::limits_of_level:
      return limits_of_level(core, route, request.method(), body, metrics);
    case Call::list_limits:
      return list_limits(core, request.query());
    case Call::effective:
      return effective(core, request.query());
    case Call::entity:
      return entity(core, route.names[0], request.method(), body);
    case Call::plan:
      return plan(core, route.names[0], request.method(), body);
    case Call::block:
    case Call::exempt:
      return access(core, route, request, body);
    case Call::reset:
      return reset(core, route.names[0], body, now);
    case Call::grant:
      return grant(core, route.names[0], request, body, now);
    case Call::usage:
      return usage(core, request.query());
    case Call::buckets_on:
      return buckets_on(core, request.query(), now);
    case Call::audit:
      return audit(core, request.query());
    default:
      return listing(core, route, request.query(), now);
  }
}

}  // namespace weir::service
