#include "service/calls.h"

#include "api/decision_json.h"
#include "base/text.h"
#include "server/observing.h"
#include "server/rate_limit_fields.h"
#include "service/worker_executor.h"
#include "telemetry/trace.h"

namespace weir::service {
namespace {

Reply degraded() { return {.body = api::degraded_json(), .fields = "Weir-Degraded: true\r\n"}; }

/// Deletes a call and returns its right to answer.
template <class Call>
Responder last_of(Call* call) {
  Responder responder = std::move(call->responder);
  delete call;
  return responder;
}

}  // namespace

Responder::Responder(Service& service, net::Exchange exchange)
    : service_(&service), exchange_(std::move(exchange)) {
  const auto parent = request().fields().find("traceparent");
  const bool logged = service.options_.access_log != nullptr;
  if (parent || logged) extra_ = std::make_unique<Extra>();
  if (logged) extra_->started = std::chrono::steady_clock::now();
  // Several traceparents are ambiguous and ignored.
  if (parent && !telemetry::trace_id_of(*parent).empty() && request().fields().count("traceparent") == 1)
    extra_->traceparent = *parent;
  request_id_ = service.request_ids_.id_for(request().fields().find("x-request-id"));
}

void Responder::send(Reply&& reply) {
  observe(reply);
  std::string& fields = reply.fields;
  const auto add = [&](std::string_view name, std::string_view value) {
    fields += name;
    fields += value;
    fields += "\r\n";
  };
  if (!reply.body.empty()) add("Content-Type: ", reply.content_type);
  add("X-Request-Id: ", request_id_);
  if (extra_ && !extra_->traceparent.empty()) add("traceparent: ", extra_->traceparent);
  exchange_.answer({.status = reply.status, .fields = fields, .body = reply.body});
}

void Responder::observe(const Reply& reply) {
  service_->metrics_->answered(call_, reply.status);
  telemetry::AccessLog* const log = service_->options_.access_log;
  if (log == nullptr) return;
  const std::string remote = exchange_.peer().to_string();
  const std::string path = server::loggable_path(request().path());
  const bool bodiless = request().method() == wire::http::Method::head || reply.status == 204;
  log->add({.at = service_->foundation_.clock->now(),
            .remote = remote,
            .method = request().method_text(),
            .path = path,
            .status = reply.status,
            .bytes = bodiless ? 0 : reply.body.size(),
            .took = std::chrono::steady_clock::now() - extra_->started,
            .request_id = request_id_,
            .principal = extra_->principal,
            .name_space = extra_->name_space,
            .trace_id = telemetry::trace_id_of(extra_->traceparent)});
}

void AcquireCall::start() {
  started = std::chrono::steady_clock::now();
  asked_at = responder.asked_at();
  charges = body.consume.charges();
  AcquireOptions options;
  if (!body.limits.empty()) {
    auto made = RequestLimits::make(std::span<const NamedLimit>(body.limits));
    if (!made) return done(made.error());
    limits = *std::move(made);
    options.limits = &*limits;
  }
  options.idempotency_key = key;
  options.lease_for = body.lease_for;
  if (body.max_wait.count() != 0) {
    options.max_wait = body.max_wait;
    WorkerExecutor* const executor = WorkerExecutor::of(service);
    waiting = std::make_unique<QueuedAcquire>(*this, executor == nullptr ? nullptr : &executor->loop());
    return waiting->acquire.start(body.entity, body.resource, charges, options,
                                  {[](void* self, Result<void>&& result) {
                                     static_cast<QueuedAcquire*>(self)->done(std::move(result));
                                   },
                                   waiting.get()});
  }
  pending.start(
      body.entity, body.resource, charges, options,
      {[](void* self, Result<void>&& result) { static_cast<AcquireCall*>(self)->done(std::move(result)); },
       this});
}

AcquireCall::QueuedAcquire::QueuedAcquire(AcquireCall& call_in, net::Loop* loop_in)
    : call(call_in),
      loop(loop_in),
      acquire(
          *call_in.core, loop_in == nullptr
                             ? limiter::WaitingAcquire::Run()
                             : [loop_in](std::function<void()> step) { loop_in->post(std::move(step)); }) {
  if (loop != nullptr) call.responder.exchange().observe(this);
}

void AcquireCall::QueuedAcquire::done(Result<void>&& result) {
  if (loop == nullptr) return call.done(std::move(result));
  if (!loop->is_here()) return loop->post([this, result] { done(Result<void>(result)); });
  call.responder.exchange().observe(nullptr);
  call.done(std::move(result));
}

void AcquireCall::done(Result<void>&& result) {
  // Used by nearly every answer, so its memory is kept.
  thread_local Reply decided;
  const bool allowed_anyway = observe(result);
  if (result) {
    reply_with(decided);
    return last_of(this).send(std::move(decided));
  }
  Reply reply = allowed_anyway ? degraded() : problem(result.error());
  if (allowed_anyway && authorizes) reply.body.clear();
  last_of(this).send(std::move(reply));
}

bool AcquireCall::observe(const Result<void>& result) {
  using telemetry::Outcome;
  auto took = std::chrono::steady_clock::now() - started;
  // The time in a queue is not the store's.
  if (waiting && result) took = std::max(took - decision().waited(), decltype(took)::zero());
  const auto count = [&](Outcome outcome, bool known_only = false) {
    service.metrics_->decided(core->name_space(), body.resource, outcome, took, known_only);
  };
  if (result) {
    service.outage_.succeeded();
    const Decision& decided = decision();
    count(server::outcome_of(decided));
    if (decided.admitted() && decided.limits().would_refuse())
      service.metrics_->would_refuse(core->name_space(), body.resource);
    return false;
  }
  const Error& error = result.error();
  // An invalid request is not counted: nothing was decided, and its names may be malformed.
  if (error.code == ErrorCode::invalid_argument) return false;
  const bool outage = Outage::is_outage(error);
  if (outage) service.outage_.failed(error);
  const server::Undecided ends = server::undecided(error, service.outage_.policy(core->name_space()));
  count(ends.outcome, ends.outcome == Outcome::error && !outage);
  return ends.admit;
}

void AcquireCall::reply_with(Reply& reply) {
  Decision& decided = decision();
  const std::optional waited = waiting ? std::optional(decided.waited()) : std::nullopt;
  reply.fields.clear();
  reply.body.clear();
  server::append_rate_limit_fields(reply.fields, decided.limits());
  server::append_would_refuse(reply.fields, decided.limits());
  if (authorizes) {
    reply.status = decided.admitted() ? 200 : *authorizes;
    if (decided.refused()) server::append_retry_after(reply.fields, decided);
    server::append_decision(reply.fields, keep({}));
  } else if (decided.admitted()) {
    reply.status = 200;
    reply.content_type = Reply().content_type;
    thread_local std::string lease;
    lease.clear();
    core->append_id(lease, decided);
    const bool shows_deadline = body.lease_for.count() != 0 || decided.limits().has_concurrent();
    api::append_admitted(reply.body, decided.limits(), lease, shows_deadline ? decided.lease().deadline() : 0,
                         waited);
    keep(lease);
  } else {
    reply.status = 429;
    reply.content_type = "application/problem+json";
    server::append_retry_after(reply.fields, decided);
    const std::string id = keep({});
    server::append_decision(reply.fields, id);
    reply.body = api::refused_json(decided, id, waited);
  }
}

void LeaseCall::start(detail::LeaseVerb verb_in) {
  started = std::chrono::steady_clock::now();
  asked_at = responder.asked_at();
  charges = amounts.charges();
  verb = verb_in;
  pending.start(
      id, {.verb = verb, .key = key, .charges = charges, .lease_for = lease_for.count(), .debt = debt},
      {[](void* self, Result<void>&& result) { static_cast<LeaseCall*>(self)->done(std::move(result)); },
       this});
}

void LeaseCall::done(Result<void>&& result) {
  Service& service = responder.service();
  service.metrics_->store_took(op, std::chrono::steady_clock::now() - started);
  if (result) service.outage_.succeeded();
  if (!result && Outage::is_outage(result.error())) service.outage_.failed(result.error());
  if (result) keep();
  const bool refused = !result && result.error().code == ErrorCode::exhausted;
  const std::string decision = refused ? keep_refused(result.error()) : std::string();
  Reply reply = !result                             ? problem(result.error(), decision)
                : verb == detail::LeaseVerb::extend ? Reply{.body = api::extended_json(pending.deadline())}
                                                    : Reply{.body = api::to_json(pending.report())};
  server::append_decision(reply.fields, decision);
  last_of(this).send(std::move(reply));
}

}  // namespace weir::service
