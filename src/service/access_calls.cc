// Calls that block entities, exempt them from limits or fill their buckets, and their bodies.
#include "api/catalog_json.h"
#include "base/json.h"
#include "base/text.h"
#include "json/document.h"
#include "service/calls.h"
#include "service/query.h"

namespace weir::service {
namespace {

using wire::http::Method;

json::Parsed<AccessRule> parse_rule(std::string_view body, Access access) {
  json::Document document(body);
  AccessRule rule{.access = access};
  bool has_reason = false;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"resource", "until_ms", "reason"};
    if (key == "resource") {
      rule.resource = document.text(value, key);
    } else if (key == "until_ms") {
      rule.until = document.integer(value, key);
    } else if (key == "reason") {
      has_reason = true;
      rule.reason = document.text(value, key);
    } else {
      document.unknown(key, known);
    }
  });
  if (!has_reason) document.malform("\"reason\" is missing");
  return document.result(std::move(rule));
}

Reply shown(const Result<Entity>& entity, Access access) {
  return entity ? Reply{.body = api::access_json(*entity, access)} : problem(entity.error());
}

}  // namespace

Reply access(limiter::Core& core, const Route& route, const wire::http::RequestHead& request,
             std::string_view body) {
  const Access access = route.call == Call::block ? Access::blocked : Access::exempt;
  const std::string& entity = route.names[0];
  if (request.method() == Method::put) {
    if (!request.query().empty()) return malformed("this call has no query; the resource is in the body");
    const auto rule = parse_rule(body, access);
    return rule.ok() ? shown(core.set_access(entity, rule.value), access) : bad_body(rule);
  }
  const Query query(request.query(), {"resource"});
  if (!query.error().empty()) return malformed(query.error());
  if (query.has("resource") && query.get("resource").empty())
    return malformed("resource is empty; leave it out for the rule of every resource");
  if (request.method() == Method::delete_) {
    const auto removed = core.remove_access(entity, access, query.get("resource"));
    return removed ? Reply{.status = 204} : problem(removed.error());
  }
  if (query.has("resource"))
    return malformed("resource is for DELETE; GET shows the rules of every resource");
  const auto stored = core.entity(entity);
  return shown(stored, access);
}

Reply reset(limiter::Core& core, const std::string& entity, std::string_view body, Time now) {
  json::Document document(body.empty() ? std::string_view("{}") : body);
  std::string resource;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"resource"};
    if (key == "resource") {
      resource = document.text(value, key);
      if (resource.empty()) document.invalidate("resource is empty; leave it out to reset every one");
    } else {
      document.unknown(key, known);
    }
  });
  const auto parsed = document.result(std::move(resource));
  if (!parsed.ok()) return bad_body(parsed);
  const auto buckets = core.reset(entity, parsed.value);
  if (!buckets) return problem(buckets.error());
  auto list = base::JsonWriter::array();
  for (const Bucket& bucket : *buckets) list.add(api::to_json(bucket, now));
  return {.body = base::JsonWriter::object().raw("buckets", list.str()).str()};
}

Reply grant(limiter::Core& core, const std::string& entity, const wire::http::RequestHead& request,
            std::string_view body, Time now) {
  const auto parsed = parse_grant(body);
  if (!parsed.ok()) return bad_body(parsed);
  const auto key = request.fields().find("idempotency-key");
  if (!key || key->empty()) {
    return problem(400, "idempotency-key-missing",
                   "a grant needs the header Idempotency-Key, so that it can be sent again safely");
  }
  const auto bucket = core.grant(entity, parsed.value.resource, parsed.value.amounts.charges(),
                                 {.expires_in = parsed.value.expires_in, .key = std::string(*key)});
  if (!bucket) return problem(bucket.error());
  return {.body = api::to_json(*bucket, now)};
}

}  // namespace weir::service
