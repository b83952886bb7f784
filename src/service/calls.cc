#include "service/calls.h"

#include <algorithm>

#include "api/decision_json.h"
#include "base/maxima.h"
#include "base/text.h"
#include "server/observing.h"
#include "server/rate_limit_fields.h"
#include "telemetry/trace.h"

namespace weir::service {
namespace {

constexpr std::size_t longest_request_id = maxima::request_id;

/// An id from a proxy in front is kept if it is safe in a header and in a log line.
bool usable_id(std::string_view id) {
  return !id.empty() && id.size() <= longest_request_id && std::all_of(id.begin(), id.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
}

Reply degraded() { return {.body = api::degraded_json(), .fields = "Weir-Degraded: true\r\n"}; }

/// Deletes a call and returns its right to answer.
template <class Call>
Answering last_of(Call* call) {
  Answering answering = std::move(call->answering);
  delete call;
  return answering;
}

}  // namespace

Answering::Answering(Service& service, net::Exchange exchange)
    : service_(&service), exchange_(std::move(exchange)) {
  const auto parent = request().fields().find("traceparent");
  const bool logged = service.options_.access_log != nullptr;
  if (parent || logged) extra_ = std::make_unique<Extra>();
  if (logged) extra_->started = std::chrono::steady_clock::now();
  // Several traceparents are ambiguous and ignored.
  if (parent && !telemetry::trace_id_of(*parent).empty() && request().fields().count("traceparent") == 1)
    extra_->traceparent = *parent;
  const auto given = request().fields().find("x-request-id");
  if (given && usable_id(*given)) {
    request_id_ = *given;
  } else {
    request_id_ = service.next_request_id();
  }
}

void Answering::send(Reply&& reply) {
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

void Answering::observe(const Reply& reply) {
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
  pending.start(
      body.entity, body.resource, charges, options,
      {[](void* self, Result<void>&& result) { static_cast<AcquireCall*>(self)->done(std::move(result)); },
       this});
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
  const auto took = std::chrono::steady_clock::now() - started;
  const auto count = [&](Outcome outcome, bool known_only = false) {
    service.metrics_->decided(core->name_space(), body.resource, outcome, took, known_only);
  };
  if (result) {
    service.outage_.succeeded();
    const Decision& decision = pending.decision();
    count(server::outcome_of(decision));
    if (decision.admitted() && decision.limits().would_refuse())
      service.metrics_->would_refuse(core->name_space(), body.resource);
    return false;
  }
  const Error& error = result.error();
  // An invalid request is not counted: nothing was decided, and its names may be malformed.
  if (error.code == ErrorCode::invalid_argument) return false;
  const bool away = Outage::is_outage(error);
  if (away) service.outage_.failed(error);
  const server::Undecided ends = server::undecided(error, service.outage_.policy(core->name_space()));
  count(ends.outcome, ends.outcome == Outcome::error && !away);
  return ends.admit;
}

void AcquireCall::reply_with(Reply& reply) {
  Decision& decision = pending.decision();
  reply.fields.clear();
  reply.body.clear();
  server::append_rate_limit_fields(reply.fields, decision.limits());
  server::append_would_refuse(reply.fields, decision.limits());
  if (authorizes) {
    reply.status = decision.admitted() ? 200 : *authorizes;
    if (decision.refused()) server::append_retry_after(reply.fields, decision);
  } else if (decision.admitted()) {
    reply.status = 200;
    reply.content_type = Reply().content_type;
    thread_local std::string lease;
    lease.clear();
    core->append_id(lease, decision);
    const bool shows_deadline = body.lease_for.count() != 0 || decision.limits().has_concurrent();
    api::append_admitted(reply.body, decision.limits(), lease,
                         shows_deadline ? decision.lease().deadline() : 0);
  } else {
    reply.status = 429;
    reply.content_type = "application/problem+json";
    server::append_retry_after(reply.fields, decision);
    reply.body = api::refused_json(decision);
  }
}

void LeaseCall::start(detail::LeaseVerb verb) {
  started = std::chrono::steady_clock::now();
  charges = amounts.charges();
  extends = verb == detail::LeaseVerb::extend;
  pending.start(
      id, {.verb = verb, .key = key, .charges = charges, .lease_for = lease_for.count(), .debt = debt},
      {[](void* self, Result<void>&& result) { static_cast<LeaseCall*>(self)->done(std::move(result)); },
       this});
}

void LeaseCall::done(Result<void>&& result) {
  Service& service = answering.service();
  service.metrics_->store_took(op, std::chrono::steady_clock::now() - started);
  if (result) service.outage_.succeeded();
  if (!result && Outage::is_outage(result.error())) service.outage_.failed(result.error());
  Reply reply = !result   ? problem(result.error())
                : extends ? Reply{.body = api::extended_json(pending.deadline())}
                          : Reply{.body = api::to_json(pending.report())};
  last_of(this).send(std::move(reply));
}

}  // namespace weir::service
