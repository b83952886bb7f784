#include "service/routes.h"

#include <array>
#include <span>

#include "wire/http_text.h"

namespace weir::service {
namespace {

using wire::http::Method;

constexpr std::string_view only_get = "GET, HEAD";
constexpr std::string_view only_post = "POST";
constexpr std::string_view put_delete = "PUT, DELETE";
constexpr std::string_view get_put_delete = "GET, HEAD, PUT, DELETE";

// Fixed segments before variable ones, where both would fit.
constexpr Pattern patterns[] = {
    {Call::acquire, "/v1/acquire", only_post},
    {Call::authorize, "/v1/authorize", only_get},
    {Call::adjust, "/v1/leases/*/adjust", only_post},
    {Call::settle, "/v1/leases/*/settle", only_post},
    {Call::rollback, "/v1/leases/*/rollback", only_post},
    {Call::extend, "/v1/leases/*/extend", only_post},
    {Call::available, "/v1/available", only_get},
    {Call::list_limits, "/v1/limits", only_get},
    {Call::effective, "/v1/limits/effective", only_get},
    {Call::limits_of_level, "/v1/limits/system", get_put_delete},
    {Call::limits_of_level, "/v1/limits/resource/*", get_put_delete},
    {Call::limits_of_level, "/v1/limits/entity/*/*", get_put_delete},
    {Call::list_entities, "/v1/entities", only_get},
    {Call::entity, "/v1/entities/*", get_put_delete},
    {Call::block, "/v1/entities/*/block", get_put_delete},
    {Call::exempt, "/v1/entities/*/exempt", get_put_delete},
    {Call::reset, "/v1/entities/*/reset", only_post},
    {Call::grant, "/v1/entities/*/grants", only_post},
    {Call::children, "/v1/entities/*/children", only_get},
    {Call::buckets, "/v1/entities/*/buckets", only_get},
    {Call::buckets_on, "/v1/buckets", only_get},
    {Call::list_plans, "/v1/plans", only_get},
    {Call::plan, "/v1/plans/*", get_put_delete},
    {Call::members, "/v1/plans/*/members", only_get},
    {Call::usage, "/v1/usage", only_get},
    {Call::audit, "/v1/audit", only_get},
    {Call::decisions, "/v1/decisions", only_get},
    {Call::decision, "/v1/decisions/*", only_get},
    {Call::changes, changes_path, only_post},
    {Call::check_store, "/v1/store/check", only_get},
    {Call::namespaces, "/v1/namespaces", only_get},
    {Call::name_space, "/v1/namespaces/*", put_delete},
    {Call::restore_namespace, "/v1/namespaces/*/restore", only_post},
    {Call::livez, "/livez", only_get},
    {Call::readyz, "/readyz", only_get},
    {Call::openapi, "/openapi.json", only_get},
    {Call::metrics, "/metrics", only_get},
};

bool fits(const Pattern& pattern, std::span<const std::string_view> segments) {
  wire::http::PathSegments expected(pattern.path);
  std::string_view segment;
  std::size_t at = 0;
  for (; expected.next(segment); ++at) {
    if (at == segments.size() || (segment != "*" && segment != segments[at])) return false;
  }
  return at == segments.size();
}

/// The segments that match a `*` of the pattern. False if an escape is broken.
bool take_names(const Pattern& pattern, std::span<const std::string_view> segments, Route& route) {
  wire::http::PathSegments expected(pattern.path);
  std::string_view segment;
  for (std::size_t at = 0; expected.next(segment); ++at) {
    if (segment != "*") continue;
    std::string name;
    if (!wire::http::percent_decode(segments[at], name)) return false;
    route.names.push_back(std::move(name));
  }
  return true;
}

}  // namespace

std::span<const Pattern> all_patterns() { return patterns; }

std::span<const std::string_view> call_names() {
  static constexpr std::string_view names[] = {"acquire",
                                               "authorize",
                                               "adjust",
                                               "settle",
                                               "rollback",
                                               "extend",
                                               "available",
                                               "limits",
                                               "list_limits",
                                               "effective_limits",
                                               "entity",
                                               "list_entities",
                                               "block",
                                               "exempt",
                                               "reset",
                                               "grant",
                                               "plan",
                                               "list_plans",
                                               "members",
                                               "children",
                                               "buckets",
                                               "buckets_on",
                                               "usage",
                                               "audit",
                                               "decision",
                                               "decisions",
                                               "changes",
                                               "check_store",
                                               "namespaces",
                                               "namespace",
                                               "restore_namespace",
                                               "livez",
                                               "readyz",
                                               "openapi",
                                               "metrics",
                                               "none"};
  static_assert(std::size(names) == no_call + 1);
  return names;
}

Match match(const wire::http::RequestHead& request) {
  // The shortcut for nearly every request.
  if (request.method() == Method::post && request.path() == patterns[0].path)
    return {.found = true, .allowed = true, .allow = patterns[0].allow, .route = {.call = patterns[0].call}};
  std::array<std::string_view, 8> room;
  std::size_t count = 0;
  wire::http::PathSegments path(request.path());
  for (std::string_view segment; path.next(segment);) {
    if (count == room.size()) return {};
    room[count++] = segment;
  }
  const std::span<const std::string_view> segments(room.data(), count);
  Match match;
  for (const Pattern& pattern : patterns) {
    if (!fits(pattern, segments)) continue;
    match.found = true;
    match.allow = pattern.allow;
    match.route.call = pattern.call;
    match.malformed = !take_names(pattern, segments, match.route);
    wire::http::ListElements methods(pattern.allow);
    for (std::string_view method; methods.next(method);)
      match.allowed = match.allowed || method == request.method_text();
    return match;
  }
  return match;
}

Role role_for(Call call, Method method) {
  switch (call) {
    case Call::acquire:
    case Call::authorize:
    case Call::adjust:
    case Call::settle:
    case Call::rollback:
    case Call::extend:
    case Call::available:
      return Role::acquire;
    default:
      return method == Method::get || method == Method::head ? Role::read : Role::admin;
  }
}

bool needs_token(Call call) {
  // Probes of a load balancer have no token, and readers of the description may not have one yet; none of
  // these reveals anything about a tenant.
  return call != Call::livez && call != Call::readyz && call != Call::openapi;
}

bool is_long(Call call) {
  return call == Call::usage || call == Call::buckets_on || call == Call::audit || is_of_decisions(call);
}

bool takes_query(Call call) {
  switch (call) {
    case Call::authorize:
    case Call::available:
    case Call::list_limits:
    case Call::effective:
    case Call::list_entities:
    case Call::block:
    case Call::exempt:
    case Call::list_plans:
    case Call::members:
    case Call::children:
    case Call::buckets:
    case Call::buckets_on:
    case Call::usage:
    case Call::audit:
    case Call::decisions:
    case Call::name_space:
      return true;
    default:
      return false;
  }
}

}  // namespace weir::service
