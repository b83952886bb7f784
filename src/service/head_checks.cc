// The checks that need only the head of a request: the path, the caller and the query.
#include "base/text.h"
#include "limits/names.h"
#include "server/foreign_page.h"
#include "service/changes.h"
#include "service/query.h"
#include "service/service.h"
#include "wire/http_text.h"

namespace weir::service {
namespace {

// Of a call that anyone may make, and that needs no body.
constexpr std::uint64_t largest_public_body = 4096;

Reply unauthorized(std::string_view detail) {
  Reply reply = problem(401, "unauthorized", detail);
  reply.fields = "WWW-Authenticate: Bearer\r\n";
  return reply;
}

/// Fields that identify the caller or change the meaning of a call: a duplicate is ambiguous.
std::optional<Reply> check_single(const wire::http::Fields& fields) {
  for (const std::string_view name : {"authorization", "weir-namespace", "idempotency-key"}) {
    if (fields.count(name) > 1)
      return problem(400, "malformed", base::join("the header ", name, " is there twice; send it once"));
  }
  return std::nullopt;
}

/// The answer to a request that is no call; nothing if it is one.
std::optional<Reply> no_call_reply(const wire::http::RequestHead& request, const Match& match) {
  if (match.malformed) return problem(400, "malformed", "the path has a broken % escape");
  if (!match.found)
    return problem(404, "not-found", base::join("there is nothing at ", base::quoted(request.path())));
  if (match.allowed) return std::nullopt;
  Reply reply = problem(405, "method-not-allowed", base::join("use ", match.allow));
  reply.fields = base::join("Allow: ", match.allow, "\r\n");
  return reply;
}

}  // namespace

/// Fills in the caller; returns an answer if the call is not permitted.
std::optional<Reply> Service::check_caller(const wire::http::RequestHead& request, const Route& route,
                                           Identity& identity) {
  if (auto twice = check_single(request.fields())) return twice;
  identity.principal = options_.principal;
  identity.name_space = request.fields().find("weir-namespace").value_or(options_.name_space);
  identity.bound = false;
  const std::shared_ptr<const Tokens> tokens =
      asks_for_tokens_.load(std::memory_order_acquire) ? current_tokens() : nullptr;
  if (!tokens && needs_token(route.call)) {
    const server::Callers callers{.any_host = options_.beyond_loopback || route.call == Call::metrics,
                                  .proxies = route.call == Call::authorize};
    if (auto foreign = server::refuse_foreign_page(request, callers)) return foreign;
  }
  if (tokens && needs_token(route.call)) {
    const std::string_view token =
        wire::http::bearer_token(request.fields().find("authorization").value_or(""));
    if (token.empty()) return unauthorized("send a token: Authorization: Bearer TOKEN");
    const Caller* const caller = tokens->find(token);
    if (caller == nullptr) return unauthorized("the token is not known");
    if (const Role needed = role_for(route.call, request.method()); !caller->may(needed)) {
      return problem(403, "forbidden",
                     base::join("the token's roles do not allow this call: it needs ",
                                names_of_roles(static_cast<unsigned>(needed)), ", and the token has ",
                                names_of_roles(caller->roles)));
    }
    if (route.call == Call::metrics && !caller->name_space.empty())
      return problem(403, "forbidden", "metrics tell of every namespace, and the token is for one");
    if (changes_namespaces(route.call) && !caller->name_space.empty())
      return problem(403, "forbidden",
                     "a token that is for one namespace can neither create, purge nor restore namespaces");
    identity.principal = caller->name;
    const bool named = request.fields().find("weir-namespace").has_value();
    if (!caller->name_space.empty() && named && identity.name_space != caller->name_space)
      return problem(403, "forbidden",
                     "the token is for another namespace; leave out Weir-Namespace to use the token's own");
    identity.bound = !caller->name_space.empty();
    if (identity.bound) identity.name_space = caller->name_space;
  }
  if (auto checked = limits::check_namespace(identity.name_space); !checked) return problem(checked.error());
  return std::nullopt;
}

/// The checks of the thread's last request. A request with a body is checked twice, by plan() and by
/// handle(), and mostly nothing comes in between.
Service::Checked& Service::checked_here() {
  thread_local Checked checked;
  return checked;
}

void Service::check(const wire::http::RequestHead& request, Checked& checked) {
  checked.request = &request;
  checked.match = match(request);
  checked.refusal = no_call_reply(request, checked.match);
  if (checked.refusal) return;
  const Route& route = checked.match.route;
  checked.refusal = check_caller(request, route, checked.identity);
  if (checked.refusal || request.query().empty() || takes_query(route.call)) return;
  if (const Query query(request.query(), {}); !query.error().empty())
    checked.refusal = problem(400, "malformed", query.error());
}

net::BodyPlan Service::plan(const wire::http::RequestHead& request) {
  Checked& checked = checked_here();
  check(request, checked);
  // handle() answers at once, and the connection closes without reading the body.
  if (checked.refusal) return {.kind = net::BodyPlan::Kind::stream};
  const Call call = checked.match.route.call;
  if (call == Call::changes) return {.largest = largest_changes_body};
  if (!needs_token(call)) return {.largest = largest_public_body};
  return {};
}

}  // namespace weir::service
