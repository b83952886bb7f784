#include "service/service.h"

#include "base/text.h"
#include "limits/names.h"
#include "service/calls.h"
#include "wire/http_write.h"

namespace weir::service {
namespace {

// Each costs a little memory; past this many the ones in use stay alive by their calls.
constexpr std::size_t most_cores = 4096;

std::string_view bearer_of(const wire::http::RequestHead& request) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view value = request.fields().find("authorization").value_or("");
  if (value.size() <= scheme.size()) return {};
  for (std::size_t i = 0; i < scheme.size(); ++i) {
    // The scheme's letters in either case.
    if ((value[i] | 0x20) != (scheme[i] | 0x20)) return {};
  }
  return value.substr(scheme.size());
}

Reply unauthorized(std::string_view detail) {
  Reply reply = problem(401, "unauthorized", detail);
  reply.fields = "WWW-Authenticate: Bearer\r\n";
  return reply;
}

void change_lease(Answering answering, const Route& route, const std::shared_ptr<limiter::Core>& core) {
  using detail::LeaseVerb;
  const std::string_view body = answering.exchange().body();
  Parsed<Amounts> parsed;
  if (route.call == Call::adjust) parsed = parse_adjust(body);
  if (route.call == Call::settle) parsed = parse_settle(body);
  if (!parsed.ok()) return answering.send(bad_body(parsed));
  const auto key = answering.request().fields().find("idempotency-key");
  if (route.call == Call::adjust && (!key || key->empty())) {
    return answering.send(
        problem(400, "idempotency-key-missing",
                "an adjust needs the header Idempotency-Key, so that it can be sent again safely"));
  }
  auto* const call = new LeaseCall(std::move(answering), core);
  call->id = route.names[0];
  call->key = route.call == Call::adjust ? std::string(*key) : std::string();
  call->amounts = std::move(parsed.value);
  call->start(route.call == Call::adjust   ? LeaseVerb::adjust
              : route.call == Call::settle ? LeaseVerb::settle
                                           : LeaseVerb::rollback);
}

}  // namespace

Service::Service(limiter::Foundation foundation, ServiceOptions options)
    : foundation_(std::move(foundation)), options_(std::move(options)) {}

Service::~Service() = default;

void Service::set_tokens(std::shared_ptr<const Tokens> tokens) {
  const store::Guard guard(mutex_);
  tokens_ = std::move(tokens);
}

/// Fills in who calls; an answer if they may not.
std::optional<Reply> Service::check_caller(const wire::http::RequestHead& request, const Route& route,
                                           Who& who) {
  who.principal = options_.principal;
  who.name_space = request.fields().find("weir-namespace").value_or("default");
  std::shared_ptr<const Tokens> tokens;
  {
    const store::Guard guard(mutex_);
    tokens = tokens_;
  }
  if (tokens && needs_token(route.call)) {
    const std::string_view token = bearer_of(request);
    if (token.empty()) return unauthorized("send a token: Authorization: Bearer TOKEN");
    const Caller* const caller = tokens->find(token);
    if (caller == nullptr) return unauthorized("the token is not known");
    if (!caller->may(role_for(route.call, request.method())))
      return problem(403, "forbidden", "the token's roles do not allow this call");
    who.principal = caller->name;
    const bool named = request.fields().find("weir-namespace").has_value();
    if (!caller->name_space.empty() && named && who.name_space != caller->name_space)
      return problem(403, "forbidden", "the token is for another namespace");
    if (!caller->name_space.empty()) who.name_space = caller->name_space;
  }
  if (auto checked = limits::check_namespace(who.name_space); !checked) return problem(checked.error());
  return std::nullopt;
}

Result<Service::CoreRef> Service::core_of(const Who& who) {
  const store::Guard guard(mutex_);
  auto& core = cores_[{who.name_space, who.principal}];
  if (core) return core;
  Options options;
  options.name_space = who.name_space;
  options.principal = who.principal;
  core = std::make_shared<limiter::Core>(foundation_, options);
  const CoreRef made = core;
  if (cores_.size() > most_cores) cores_.clear();
  return made;
}

/// While the store is away its limits cannot be read; stores that are in this process still can.
OnUnavailable Service::policy(limiter::Core& core) {
  if (options_.on_unavailable) return *options_.on_unavailable;
  const auto system = core.limits(Level::system());
  return system && system->on_unavailable ? *system->on_unavailable : OnUnavailable::deny;
}

void Service::handle(net::Exchange exchange) {
  const Match found = match(exchange.request());
  Answering answering(*this, std::move(exchange));
  const wire::http::RequestHead& request = answering.request();
  if (found.malformed) return answering.send(problem(400, "malformed", "the path has a broken % escape"));
  if (!found.found) {
    return answering.send(
        problem(404, "not-found", base::join("there is nothing at ", base::quoted(request.path()))));
  }
  if (!found.allowed) {
    Reply reply = problem(405, "method-not-allowed", base::join("use ", found.allow));
    reply.fields = base::join("Allow: ", found.allow, "\r\n");
    return answering.send(reply);
  }
  Who who;
  if (auto refused = check_caller(request, found.route, who)) return answering.send(*refused);
  auto core = core_of(who);
  if (!core) return answering.send(problem(core.error()));
  dispatch(std::move(answering), found.route, *core);
}

void Service::dispatch(Answering answering, const Route& route, const CoreRef& core) {
  const std::string_view body = answering.exchange().body();
  switch (route.call) {
    case Call::acquire: {
      auto parsed = parse_acquire(body);
      if (!parsed.ok()) return answering.send(bad_body(parsed));
      auto* const call = new AcquireCall(*this, std::move(answering), core);
      call->body = std::move(parsed.value);
      return call->start();
    }
    case Call::adjust:
    case Call::settle:
    case Call::rollback:
      return change_lease(std::move(answering), route, core);
    case Call::changes:
    case Call::check_store:
      return run_errand(std::move(answering), route, core);
    case Call::livez:
      return answering.send({.body = "ok\n", .content_type = "text/plain"});
    case Call::readyz:
      if (ready_.load(std::memory_order_relaxed))
        return answering.send({.body = "ready\n", .content_type = "text/plain"});
      return answering.send(problem(503, "not-ready", "the service is shutting down"));
    default:
      return answering.send(
          answer_at_once(*core, route, answering.request(), body, foundation_.clock->now()));
  }
}

void Service::describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) {
  const Reply reply = problem(refusal.status, {}, refusal.reason);
  wire::http::write_field(fields, "Content-Type", reply.content_type);
  wire::http::write_field(fields, "X-Request-Id", next_request_id());
  body.append(reply.body);
}

}  // namespace weir::service
