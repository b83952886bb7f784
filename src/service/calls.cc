#include "service/calls.h"

#include <algorithm>

#include "api/decision_json.h"
#include "base/text.h"
#include "service/rate_limit_fields.h"

namespace weir::service {
namespace {

constexpr std::size_t longest_request_id = 128;

/// An id that a proxy in front gave is kept, if it can stand in a header and in a log line.
bool usable_id(std::string_view id) {
  return !id.empty() && id.size() <= longest_request_id && std::all_of(id.begin(), id.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
}

bool store_is_away(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::outcome_unknown;
}

Reply degraded() {
  return {.body = R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})",
          .fields = "Weir-Degraded: true\r\n"};
}

}  // namespace

Answering::Answering(Service& service, net::Exchange exchange) : exchange_(std::move(exchange)) {
  const auto given = request().fields().find("x-request-id");
  if (given && usable_id(*given)) {
    request_id_ = *given;
  } else {
    request_id_ = service.next_request_id();
  }
}

void Answering::send(Reply reply) {
  std::string& fields = reply.fields;
  if (!reply.body.empty()) {
    fields += "Content-Type: ";
    fields += reply.content_type;
    fields += "\r\n";
  }
  fields += "X-Request-Id: ";
  fields += request_id_;
  fields += "\r\n";
  exchange_.answer({.status = reply.status, .fields = fields, .body = reply.body});
}

void AcquireCall::start() {
  charges = body.consume.charges();
  AcquireOptions options;
  if (!body.limits.empty()) {
    auto made = RequestLimits::make(std::span<const NamedLimit>(body.limits));
    if (!made) return done(made.error());
    limits = *std::move(made);
    options.limits = &*limits;
  }
  options.idempotency_key = key;
  pending.start(
      body.entity, body.resource, charges, options,
      {[](void* self, Result<void>&& result) { static_cast<AcquireCall*>(self)->done(std::move(result)); },
       this});
}

void AcquireCall::done(Result<void>&& result) {
  Reply reply = result ? decided() : failed(result.error());
  Answering last = std::move(answering);
  delete this;
  last.send(std::move(reply));
}

Reply AcquireCall::failed(const Error& error) {
  if (store_is_away(error) && service.policy(*core) == OnUnavailable::allow) return degraded();
  return problem(error);
}

Reply AcquireCall::decided() {
  Decision& decision = pending.decision();
  Reply reply;
  // Enough for all fields of two limits, in one piece.
  constexpr std::size_t usual_fields = 320;
  reply.fields.reserve(usual_fields);
  append_rate_limit_fields(reply.fields, decision.limits());
  if (decision.admitted()) {
    api::append_admitted(reply.body, decision.limits(), core->make_id(decision));
  } else {
    reply.status = 429;
    reply.content_type = "application/problem+json";
    append_retry_after(reply.fields, decision);
    reply.body = api::refused_json(decision);
  }
  return reply;
}

void LeaseCall::start(detail::LeaseVerb verb) {
  charges = amounts.charges();
  pending.start(
      id, {verb, key, charges},
      {[](void* self, Result<void>&& result) { static_cast<LeaseCall*>(self)->done(std::move(result)); },
       this});
}

void LeaseCall::done(Result<void>&& result) {
  Reply reply = result ? Reply{.body = api::to_json(pending.report())} : problem(result.error());
  Answering last = std::move(answering);
  delete this;
  last.send(std::move(reply));
}

}  // namespace weir::service
