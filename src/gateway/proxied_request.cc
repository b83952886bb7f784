// A request up to the decision, and the answers of the gateway itself.
#include "gateway/proxied_request.h"

#include <span>

#include "base/maxima.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/refusal.h"
#include "limits/access.h"
#include "server/header_dialect.h"
#include "server/observing.h"
#include "server/rate_limit_fields.h"

namespace weir::gateway {
namespace {

using telemetry::Outcome;
using wire::http::Framing;

constexpr std::string_view degraded = "Weir-Degraded: true\r\n";

/// The largest body of a refused request that is read and discarded, so that the connection can be kept.
constexpr std::uint64_t largest_discarded = maxima::discarded_body;

}  // namespace

ProxiedRequest::ProxiedRequest(ProxyWorker& worker)
    : worker_(worker), parser_(wire::http::Limits{}), decoder_(wire::http::Limits{}) {}

void ProxiedRequest::start(net::Exchange exchange) {
  exchange_ = std::move(exchange);
  exchange_.observe(this);
  started_ = Steady::now();
  stage_ = Stage::deciding;
  calls_ = is_unread_ = model_is_fresh_ = false;
  routing_ = worker_.routing();
  if (request().path() == "*") {
    // OPTIONS * asks about the server itself (RFC 9110, 9.3.7), which is the gateway.
    return send({.status = 200, .body = {}, .content_type = "text/plain; charset=utf-8"});
  }
  if (!find_route()) return;
  origin_ = origin_of(exchange_.peer(), request().fields(), routing_->routing->trusted());
  if (const std::string_view why = hidden_client(route_->settings.limit_by, request()); !why.empty())
    return fail(400, "hidden-client", why);
  if (request().upgrade()) upgrade_ = allowed_upgrade(request(), route_->settings.upgrade);
  resource_ = route_->settings.name;
  if (route_->settings.llm) return start_call();
  name_entity();
}

/// False if the request was answered.
bool ProxiedRequest::find_route() {
  path_.set(request().path());
  const Routing& routing = *routing_->routing;
  const RouteTable::Match match = routing.find(request().host(), path_);
  if (match.route == RouteTable::none) {
    fail(404, "no-route", base::join("there is no route to ", base::quoted(request().path())));
    return false;
  }
  route_ = routing.routes()[match.route].get();
  choices_ = &routing_->choices[match.route];
  if (!match.refused.empty()) {
    fail(400, "ambiguous-path", match.refused);
    return false;
  }
  forwarded_path_ = match.rewrite ? path_.canonical() : path_.raw();
  return true;
}

void ProxiedRequest::set_entity() {
  const RouteSettings& settings = route_->settings;
  if (settings.limit_by.kind == LimitBy::Kind::client_ip && !origin_.trusted) {
    entity_ = worker_.entity_of(exchange_.peer());
  } else {
    name_client(entity_, settings, origin_, request(), path_);
  }
}

/// Whether the store is needed at all: a route that is off charges nothing, but it may refuse unknown
/// clients.
bool ProxiedRequest::asks_store() const {
  const RouteSettings& settings = route_->settings;
  return settings.mode != Mode::off || settings.unknown_clients == UnknownClients::refuse;
}

void ProxiedRequest::name_entity() {
  if (!asks_store()) return decide();
  const RouteSettings& settings = route_->settings;
  const net::Address& client = origin_.client;
  set_entity();
  // A client has few IPv4 addresses and few networks, but it may invent keys, and IPv6 addresses in its
  // network.
  const bool address = entity_.starts_with("ip:");
  if (address && (!client.v6 || entity_.ends_with("/64"))) return decide();
  entity_hash_ = worker_.gateway().hash_of(entity_);
  // A key is looked up each time: its alias may have changed since.
  if (!is_key() && settings.unknown_clients == UnknownClients::limit && admitted_before()) return decide();
  look_up_client();
}

bool ProxiedRequest::is_key() const {
  return route_->settings.limit_by.kind == LimitBy::Kind::bearer && !entity_.starts_with("ip:");
}

bool ProxiedRequest::admitted_before() { return worker_.admitted().have(entity_hash_, started_at()); }

/// Whether the store knows the client, and by which alias.
void ProxiedRequest::look_up_client() {
  Decider* const decider = worker_.gateway().decider();
  if (decider == nullptr) return decide();
  decider->foundation.store->catalog().find(worker_.gateway().options().name_space, entity_, resource_,
                                            {[](void* self, Result<store::Found>&& found) {
                                               auto* const proxied = static_cast<ProxiedRequest*>(self);
                                               if (ProxyWorker::here() == &proxied->worker_)
                                                 return proxied->looked_up(std::move(found));
                                               proxied->found_elsewhere_ = std::move(found);
                                               proxied->worker_.loop().post([proxied] {
                                                 Result<store::Found> there =
                                                     *std::move(proxied->found_elsewhere_);
                                                 proxied->found_elsewhere_.reset();
                                                 proxied->looked_up(std::move(there));
                                               });
                                             },
                                             this});
}

void ProxiedRequest::looked_up(Result<store::Found>&& found) {
  if (client_gone_) return answer_gone();
  if (!found) {
    // Without its alias a key would be charged in another bucket: the policy for outages applies. The
    // decision of another client fails for the same reason.
    const bool charges = route_->settings.mode != Mode::off;
    return is_key() && charges ? decided(found.error()) : decide();
  }
  if (is_key() && take_alias(*found)) return decide();
  // A block or an exemption is about the client's own entity, known or not.
  if (!found->access.empty()) return decide();
  limit_client(found->known());
}

/// Charges the entity that the record of the client's own one names instead, unless that has an access rule
/// that holds now. Whether the alias has an alias is not asked.
bool ProxiedRequest::take_alias(const store::Found& found) {
  if (found.alias.empty()) return false;
  const limits::AccessLink own{entity_, found.access};
  if (limits::judge_access(std::span(&own, 1), resource_, found.now)) return false;
  entity_ = found.alias;
  return true;
}

void ProxiedRequest::limit_client(bool known) {
  const RouteSettings& settings = route_->settings;
  if (!known && settings.unknown_clients == UnknownClients::refuse && !entity_.starts_with("ip:"))
    return fail(403, "unknown-client", "the client is not known here");
  if (!known && settings.unknown_clients == UnknownClients::share) {
    name_network(entity_, origin_);
    return decide();
  }
  if (!known && !admitted_before()) {
    std::string network;
    name_network(network, origin_);
    Gateway& gateway = worker_.gateway();
    const auto verdict = gateway.new_clients().admit(entity_hash_, gateway.hash_of(network), started_at());
    if (verdict != NewClients::Verdict::own) {
      choices_->counts->shared.add(1, false);
      if (verdict == NewClients::Verdict::first_shared && gateway.options().log != nullptr)
        gateway.options().log->warning("too many new clients: further ones share the bucket of their address",
                                       {{"route", settings.name}, {"address", network.substr(3)}});
      entity_ = network;
      return decide();
    }
  }
  worker_.admitted().add(entity_hash_);
  decide();
}

void ProxiedRequest::decide() {
  if (route_->settings.mode == Mode::off) [[unlikely]] {
    rate_fields_.clear();
    return forward();
  }
  Decider* const decider = worker_.gateway().decider();
  if (decider == nullptr)
    return decided(base::error(ErrorCode::unavailable, "the store could not be opened yet"));
  if (calls_) return decide_call(*decider);
  costs_ = {.amount = route_->settings.cost, .believed = route_->charges};
  if (!route_->settings.cost_header.empty() && origin_.trusted) {
    // Only trusted proxies may set the cost.
    const auto said = request().fields().find(route_->settings.cost_header);
    const auto amount = said ? Amount::parse(*said) : Result<Amount>(costs_.amount);
    if (amount && *amount >= Amount() && amount->in_range()) costs_.amount = *amount;
    charges_.assign(costs_.believed.begin(), costs_.believed.end());
    for (Charge& charge : charges_) charge.amount = costs_.amount;
    costs_.believed = charges_;
  }
  ask_store(*decider);
}

void ProxiedRequest::ask_store(Decider& decider) {
  const GatewayOptions& options = worker_.gateway().options();
  if (options.decisions != nullptr && options.decisions->keeps_all()) asked_at_ = options.clock->now();
  pending_.emplace(decider.core);
  pending_->start_every(entity_, resource_, costs_,
                        {.limits = route_->limits ? &*route_->limits : nullptr,
                         .shadow = route_->settings.mode == Mode::shadow,
                         .usage = route_->settings.usage},
                        {[](void* self, Result<void>&& result) {
                           auto* const proxied = static_cast<ProxiedRequest*>(self);
                           if (ProxyWorker::here() == &proxied->worker_) return proxied->decided(result);
                           proxied->decided_elsewhere(std::move(result));
                         },
                         this});
}

/// Called on a thread of the store; continues on the thread of the request.
void ProxiedRequest::decided_elsewhere(Result<void>&& result) {
  elsewhere_ = std::move(result);
  worker_.loop().post([this] {
    const Result<void> decided_there = *std::move(elsewhere_);
    elsewhere_.reset();
    decided(decided_there);
  });
}

void ProxiedRequest::decided(const Result<void>& result) {
  rate_fields_.clear();
  if (calls_ && result && !client_gone_ && decide_again()) return;
  const bool pass = observe(result);
  if (result && worker_.gateway().options().decisions != nullptr) keep();
  if (calls_ && result) {
    hold_call();
    if (was_unblocked()) return;
  } else if (result && pending_->decision().limits().has_concurrent()) [[unlikely]] {
    hold_limits();
  }
  if (client_gone_) return answer_gone();
  if (!result) {
    if (!pass || is_unread_) return answer_without_store(result.error());
    if (result.error().code != ErrorCode::no_limits) rate_fields_ = degraded;
    return forward();
  }
  const Decision& decision = pending_->decision();
  if (const server::Dialect form = dialect(); form == server::Dialect::ietf) [[likely]] {
    server::append_rate_limit_fields(rate_fields_, decision.limits());
  } else {
    server::append_dialect(rate_fields_, form, decision.limits(), worker_.gateway().options().clock->now());
  }
  server::append_would_refuse(rate_fields_, decision.limits());
  if (decision.refused()) return refuse();
  forward();
}

void ProxiedRequest::hold_limits() {
  Decision& decision = pending_->decision();
  if (decision.refused()) return;
  Gateway& gateway = worker_.gateway();
  const RequestLimits* const limits = route_->limits ? &*route_->limits : nullptr;
  call_lease_.reset(
      new CallLease(gateway, gateway.decider()->core, decision, limits, worker_.loop(), kept_as_));
}

/// The client left, or sent a body that cannot be read, while the store decided.
void ProxiedRequest::answer_gone() {
  rate_fields_.clear();
  if (client_refused_.status != 0) {
    body_ended_ = true;
    return fail(client_refused_.status, {}, client_refused_.reason);
  }
  settle_accounts(client_left, 0);
  finish();
}

/// Counts the decision. True if the request is forwarded without one.
bool ProxiedRequest::observe(const Result<void>& result) {
  Gateway& gateway = worker_.gateway();
  const std::string& name_space = gateway.options().name_space;
  forwarded_ = Steady::now();
  const auto count = [&](Outcome outcome) {
    // A call is charged to the resource of its model.
    const std::size_t pair =
        calls_ ? gateway.metrics().pair_of(name_space, resource_) : choices_->metrics_pair;
    gateway.metrics().decided(pair, outcome, forwarded_ - started_);
  };
  Decider* const decider = gateway.decider();
  if (result) {
    decider->outage.succeeded();
    const Decision& decision = pending_->decision();
    count(server::outcome_of(decision));
    if (decision.admitted() && decision.limits().would_refuse())
      gateway.metrics().would_refuse(name_space, resource_);
    return true;
  }
  const Error& error = result.error();
  // No level has limits for this entity on this route: the request is not limited.
  if (error.code == ErrorCode::no_limits) return true;
  if (decider != nullptr && server::Outage::is_outage(error)) decider->outage.failed(error);
  // A route in shadow mode lets pass what cannot be decided. A block, which is a decision, refuses there,
  // too: it is an operator's explicit act, and no limit that is being watched.
  const bool watched = route_->settings.mode == Mode::shadow;
  const auto policy = watched ? OnUnavailable::allow : gateway.policy(*routing_->routing, *route_);
  const server::Undecided ends = server::undecided(error, policy);
  count(ends.outcome);
  return ends.admit || watched;
}

void ProxiedRequest::refuse() {
  if (calls_) return refuse_call();
  reply_.fields.swap(rate_fields_);
  server::append_decision(reply_.fields, decision_id_);
  write_refusal(reply_, pending_->decision(), accept(), decision_id_);
  send_now();
}

void ProxiedRequest::answer_without_store(const Error& error) {
  // A retry after an unknown outcome may be charged twice.
  const bool again = error.code != ErrorCode::outcome_unknown;
  if (calls_) {
    return fail_call(503, name_of(error.code), "limits cannot be checked now; try again",
                     again ? std::optional(std::chrono::milliseconds(1000)) : std::nullopt);
  }
  server::Reply reply = own_answer(503, name_of(error.code),
                                   again ? "limits cannot be checked now; try again"
                                         : "the request was not passed on; it may have been charged",
                                   accept());
  if (again) reply.fields = "Retry-After: 1\r\n";
  send(std::move(reply));
}

void ProxiedRequest::fail(int status, std::string_view type, std::string_view detail) {
  if (calls_) return fail_call(status, type, detail);
  send(own_answer(status, type, detail, accept()));
}

void ProxiedRequest::send(server::Reply reply) {
  reply_ = std::move(reply);
  if (!rate_fields_.empty()) reply_.fields += rate_fields_;
  send_now();
}

/// Answers with reply_, after the rest of a small body is read: otherwise the start of the next request is
/// unknown.
void ProxiedRequest::send_now() {
  const Framing body = request().body();
  const bool unread = body.kind != Framing::Kind::none && !body_ended_;
  const bool small = body.kind == Framing::Kind::length && body.length <= largest_discarded;
  if (unread && small && !request().expects_continue() && stage_ != Stage::discarding) {
    stage_ = Stage::discarding;
    return exchange_.read();
  }
  std::string& fields = reply_.fields;
  fields += "Content-Type: ";
  fields += reply_.content_type;
  fields += "\r\n";
  settle_accounts(reply_.status, request().method() == wire::http::Method::head ? 0 : reply_.body.size());
  exchange_.answer({.status = reply_.status, .fields = fields, .body = reply_.body});
  finish();
}

/// Records metrics and the access log entry, once the status is known.
void ProxiedRequest::settle_accounts(int status, std::uint64_t bytes) {
  (choices_ != nullptr ? *choices_->counts : worker_.without_route()).answered(status);
  Gateway& gateway = worker_.gateway();
  telemetry::AccessLog* const log = gateway.options().access_log;
  if (log == nullptr) return;
  const std::string remote = exchange_.peer().to_string();
  const std::string client = origin_.trusted ? origin_.client.host() : std::string();
  const std::string path = server::loggable_path(request().path());
  const std::string upstream = upstream_ != nullptr ? upstream_->pool().server().url().text() : std::string();
  log->add({.at = gateway.options().clock->now(),
            .remote = remote,
            .method = request().method_text(),
            .path = path,
            .status = status,
            .bytes = bytes,
            .took = Steady::now() - started_,
            .request_id = request_id(),
            .client = client,
            .route = route_ != nullptr ? std::string_view(route_->settings.name) : std::string_view(),
            .upstream = upstream});
}

/// Resets for the next request. Must be the last step of this one.
void ProxiedRequest::finish() {
  if (calls_) settle_call();
  if (upstream_ != nullptr) let_go(false);
  exchange_ = {};
  call_lease_.reset();
  pending_.reset();
  routing_ = {};
  route_ = nullptr;
  choices_ = nullptr;
  rate_fields_.clear();
  reply_.fields.clear();
  origin_ = {};
  attempts_ = 0;
  last_trouble_ = Broken::refused;
  awaits_ = Awaits::answer;
  upgrade_.clear();
  client_refused_ = {};
  client_gone_ = body_begun_ = body_ended_ = held_back_ = paused_ = false;
  sent_ = answer_begun_ = answer_ended_ = calls_ = model_is_fresh_ = false;
  resource_ = {};
  kept_as_ = 0;
  decision_id_.clear();
  request_id_.clear();
  worker_.give_back(*this);
}

}  // namespace weir::gateway
