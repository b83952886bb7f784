// A request that is a call to a language model: its body is read first, and what it used is settled last.
#include <algorithm>

#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/model_keys.h"
#include "gateway/proxied_request.h"
#include "gateway/refusal.h"
#include "llm/error_body.h"
#include "wire/http_write.h"

namespace weir::gateway {
namespace {

using net::Sending;
using wire::http::Framing;

/// Methods have a case, but some servers take "post" for POST.
bool has_lower_case(std::string_view method) {
  return std::any_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

/// Whether the call was refused for its method, its keys or the form of the answer that it asks for.
bool ProxiedRequest::refuse_head() {
  if (request().method() == wire::http::Method::trace) {
    // The answer would show the gateway's key.
    rate_fields_ = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";
    return fail(405, "unknown-method", "TRACE is not answered here"), true;
  }
  if (has_lower_case(request().method_text()))
    return fail(400, "unknown-method", "write the method in upper case, such as POST"), true;
  std::size_t keys = keys_in(request().fields());
  // Where the gateway has a key of its own, a key in the query is dropped, and names no client.
  if (route_->settings.llm->upstream_key.empty()) keys += keys_in_query(request().query());
  if (keys > 1) return fail(400, "hidden-client", "the request has more than one API key"), true;
  if (llm_->counts_tokens() && asks_for_unreadable_form(request().query()))
    return fail(400, "unreadable_answer", "write alt=json or alt=sse; others do not show what a call used"),
           true;
  return false;
}

void ProxiedRequest::start_call() {
  if (!llm_) llm_ = std::make_unique<LlmCall>();
  llm_->start(route_->settings, request(), path_, worker_.gateway().call_bodies());
  calls_ = true;
  if (refuse_head()) return;
  if (!llm_->counts_tokens()) return name_entity();
  if (request().body().kind == Framing::Kind::none) return call_is_read(true);
  check_client();
}

/// Refuses clients that no model is for, before they can make the gateway keep a body.
void ProxiedRequest::check_client() {
  Gateway& gateway = worker_.gateway();
  Decider* const decider = gateway.decider();
  if (decider == nullptr || !asks_store()) return begin_reading_call();
  set_entity();
  client_check_.start(decider->foundation.store->catalog(), gateway.options().name_space, entity_, resource_,
                      is_key(),
                      {[](void* self, Result<ClientStanding>&& standing) {
                         auto* const proxied = static_cast<ProxiedRequest*>(self);
                         if (ProxyWorker::here() == &proxied->worker_)
                           return proxied->client_checked(standing);
                         proxied->checked_elsewhere_ = std::move(standing);
                         proxied->worker_.loop().post([proxied] {
                           const Result<ClientStanding> there = *std::move(proxied->checked_elsewhere_);
                           proxied->checked_elsewhere_.reset();
                           proxied->client_checked(there);
                         });
                       },
                       this});
}

void ProxiedRequest::client_checked(const Result<ClientStanding>& standing) {
  if (client_gone_) return answer_gone();
  const RouteSettings& settings = route_->settings;
  // Without an answer of the store the decision follows the policy for outages.
  if (!standing) return begin_reading_call();
  if (!standing->known && settings.unknown_clients == UnknownClients::refuse && !entity_.starts_with("ip:"))
    return fail(403, "unknown-client", "the client is not known here");
  if (!standing->blocked || settings.mode == Mode::off) return begin_reading_call();
  // Decided as a call to no model, so that the refusal is answered, counted and kept as every other.
  is_unread_ = true;
  name_entity();
}

/// Whether a client that was blocked is so no longer: the call, whose body was not read, is to be repeated.
bool ProxiedRequest::was_unblocked() {
  if (!is_unread_ || client_gone_ || pending_->decision().refused()) return false;
  fail_call(503, "try_again", "the client was blocked until now; try again", std::chrono::milliseconds(1000));
  return true;
}

void ProxiedRequest::begin_reading_call() {
  const GatewayOptions& options = worker_.gateway().options();
  body_until_ = options.clock->now() + options.call_body_within.count();
  stage_ = Stage::reading;
  exchange_.read();
}

void ProxiedRequest::read_call(std::string_view data, bool end) {
  const LlmCall::Kept kept = llm_->add_body(data);
  if (kept == LlmCall::Kept::no_room)
    return fail_call(503, "server_busy", "too many bodies of calls are kept at the moment; try again",
                     std::chrono::milliseconds(1000));
  if (end || kept == LlmCall::Kept::enough) return call_is_read(end);
  if (worker_.gateway().options().clock->now() >= body_until_) {
    // The answer does not wait for the rest.
    body_ended_ = true;
    return fail_call(408, "request_timeout", "the body did not arrive in time; send it faster");
  }
  exchange_.read();
}

void ProxiedRequest::call_is_read(bool whole) {
  stage_ = Stage::deciding;
  if (const auto problem = llm_->read_body(whole, request()))
    return fail_call(problem->status, problem->code, problem->text);
  if (!admit_model()) return;
  resource_ = llm_->resource();
  name_entity();
}

/// Bounds the names of models that clients may invent, each of which is a resource where the file names no
/// models. False if the call was refused.
bool ProxiedRequest::admit_model() {
  using Verdict = ModelNames::Verdict;
  const RouteSettings& settings = route_->settings;
  model_is_fresh_ = false;
  if (!settings.llm->models.empty() || llm_->resource() == settings.name) return true;
  // No bucket is made.
  if (settings.mode == Mode::off) return true;
  Gateway& gateway = worker_.gateway();
  std::string network;
  name_network(network, origin_);
  const Verdict verdict =
      gateway.model_names().admit(gateway.hash_of(llm_->model()), gateway.hash_of(network), started_at());
  model_is_fresh_ = verdict == Verdict::fresh;
  if (verdict == Verdict::known || verdict == Verdict::fresh) return true;
  if (verdict == Verdict::first_refused && gateway.options().log != nullptr)
    gateway.options().log->warning(
        "too many new names of models: further ones are refused; list the models of the route",
        {{"route", settings.name}, {"address", network.substr(3)}});
  fail_call(429, "too_many_models", "too many new names of models; use one that has worked, or try later",
            gateway.options().new_models.period);
  return false;
}

/// After the head of the vendor's answer.
void ProxiedRequest::start_model_answer() {
  llm_->start_answer(answer_);
  follow_vendor();
  if (!model_is_fresh_ || answer_.status() >= 300) return;
  Gateway& gateway = worker_.gateway();
  gateway.model_names().answered(gateway.hash_of(llm_->model()));
}

void ProxiedRequest::decide_call(Decider& decider) {
  Gateway& gateway = worker_.gateway();
  const Framing body = request().body();
  const std::uint64_t size = body.kind == Framing::Kind::length ? body.length : 0;
  // Both hashes are spread over all bits, so that their sum is another one.
  const std::uint64_t model = gateway.hash_of(llm_->model());
  llm_->estimate(worker_.estimates(), gateway.hash_of(entity_) + model, model, size);
  costs_ = {.amount = 1, .named = llm_->charges(), .believed = llm_->believed()};
  ask_store(decider);
}

/// Whether the call is decided once more, with a smaller guess of its output.
bool ProxiedRequest::decide_again() {
  const Decision& decision = pending_->decision();
  if (!decision.refused() || !decision.never_fits()) [[likely]]
    return false;
  if (!llm_->lower_guess(decision.limits())) return false;
  costs_.named = llm_->charges();
  costs_.believed = llm_->believed();
  ask_store(*worker_.gateway().decider());
  return true;
}

void ProxiedRequest::hold_call() {
  const Decision& decision = pending_->decision();
  if (decision.refused()) return;
  if (llm_->counts_tokens() || decision.limits().has_concurrent()) {
    llm_->admitted(decision.limits());
    hold_limits();
  }
}

/// The vendor has less left than the bucket of its key. A call that failed gives back what it holds, and the
/// bucket is lowered after that: otherwise as much would pass again.
void ProxiedRequest::follow_vendor() {
  const std::vector<Charge> lower = llm_->vendor_lowers();
  if (lower.empty()) return;
  Gateway& gateway = worker_.gateway();
  auto lowering = make_lowering(gateway, gateway.decider()->core, route_->settings.llm->upstream_entity,
                                llm_->resource(), lower);
  if (call_lease_ && answer_.status() >= 400) {
    call_lease_->after_end(std::move(lowering));
  } else {
    lowering();
  }
}

CallEnd ProxiedRequest::call_end() const {
  if (answer_ended_) return CallEnd::complete;
  if (answer_begun_) return CallEnd::cut;
  const bool sent = sent_ || (upstream_ != nullptr && upstream_->sent() > 0);
  return sent ? CallEnd::unanswered : CallEnd::unsent;
}

void ProxiedRequest::settle_call() {
  llm_->drop_body();
  if (!call_lease_ || !llm_->counts_tokens()) return;
  const Settlement settlement = llm_->settle(call_end(), worker_.estimates());
  if (choices_ != nullptr) choices_->counts->settled(settlement.usage, llm_->estimated_tokens());
  if (settlement.roll_back) return call_lease_->roll_back();
  call_lease_->settle_to(settlement.totals);
}

void ProxiedRequest::refuse_call() {
  llm_->drop_body();
  const Decision& decision = pending_->decision();
  std::string message = base::join("weir: ", refusal_detail(decision));
  if (decision.never_fits() && llm_->counts_tokens()) message += base::join(": ", llm_->describe());
  std::optional<long long> wait;
  if (const auto time = decision.retry_after()) wait = time->count();
  server::Reply reply{
      .status = 429,
      .body = llm::error_body(
          llm_->vendor(),
          {.status = 429, .message = message, .code = {}, .retry_after_ms = wait, .decision = decision_id_}),
      .content_type = "application/json"};
  server::append_decision(reply.fields, decision_id_);
  server::append_refusal(reply.fields, dialect(), decision);
  send(std::move(reply));
}

void ProxiedRequest::fail_call(int status, std::string_view code, std::string_view text,
                               std::optional<std::chrono::milliseconds> wait) {
  llm_->drop_body();
  const std::string message = base::join("weir: ", text);
  server::Reply reply{
      .status = status,
      .body = llm::error_body(llm_->vendor(), {.status = status, .message = message, .code = code}),
      .content_type = "application/json"};
  if (wait) reply.fields = base::join("Retry-After: ", std::to_string((wait->count() + 999) / 1000), "\r\n");
  send(std::move(reply));
}

/// Sends what was read of the body before the decision. False if nothing was.
bool ProxiedRequest::send_read_body() {
  if (!llm_->counts_tokens()) return false;
  wire::Buffer& out = upstream_->output();
  const bool chunked = !llm_->has_whole_body() && request().body().kind == Framing::Kind::chunked;
  if (chunked) {
    wire::http::write_chunk(out, llm_->body());
  } else {
    out.append(llm_->body());
  }
  upstream_->flush();
  drop_sent_body();
  if (!llm_->has_whole_body()) {
    go_on_reading();
    return true;
  }
  upstream_->allow_silence(route_->settings.timeout);
  return true;
}

/// Drops what is kept of the body, which counts against the bodies of all calls, once the upstream has taken
/// it: calls are POST, and a POST of which bytes were sent is never sent again (may_try_again()).
void ProxiedRequest::drop_sent_body() {
  if (upstream_->has_unsent()) return upstream_->tell_when_sent();
  if (upstream_->sent() == 0) return;
  llm_->drop_body();
  upstream_->give_back_output();
}

/// Ends a call if the rest of its body is ambiguous, before the upstream has received all of it. True if the
/// call was ended.
bool ProxiedRequest::refuse_rest(std::string_view data, bool end) {
  if (!llm_->counts_tokens() || llm_->has_whole_body()) return false;
  const auto problem = llm_->check_rest(data, end);
  if (!problem) return false;
  if (stage_ == Stage::asking) {
    let_go(false);
    fail_call(problem->status, problem->code, problem->text);
  } else {
    break_off();
  }
  return true;
}

/// Whether the answer can be read without the client: the whole request is with the upstream.
bool ProxiedRequest::may_drain() const {
  return route_->settings.llm->on_disconnect == OnDisconnect::finish && llm_->counts_tokens() &&
         call_lease_ && upstream_ != nullptr && (stage_ == Stage::asking || stage_ == Stage::answering) &&
         body_ended_;
}

void ProxiedRequest::start_draining() {
  stage_ = Stage::draining;
  exchange_ = {};
  paused_ = false;
  upstream_->want_input(true);
  upstream_->allow_silence(route_->settings.timeout);
  drain();
}

/// False if more input is needed, or the request has ended.
bool ProxiedRequest::drain_head() {
  wire::Buffer& in = upstream_->input();
  while (!in.empty()) {
    const auto progress = parser_.parse(in.view(), wire::http::Method::post, answer_);
    if (progress == wire::http::Progress::need_more) return false;
    if (progress == wire::http::Progress::failed || answer_.status() == 101) {
      finish();
      return false;
    }
    const bool interim = answer_.interim();
    if (!interim) start_model_answer();
    in.consume(parser_.size());
    if (!interim) {
      answer_begun_ = true;
      decoder_.start(answer_.body(), ~std::uint64_t{0} >> 1U);
      return true;
    }
    parser_.clear();
  }
  return false;
}

void ProxiedRequest::drain() {
  if (!answer_begun_ && !drain_head()) return;
  wire::Buffer& in = upstream_->input();
  while (true) {
    const auto step = decoder_.decode(in.view());
    if (!step.data.empty()) llm_->feed(step.data, [](std::string_view) {});
    in.consume(step.consumed);
    answer_ended_ = step.progress == wire::http::Progress::complete;
    if (answer_ended_ || step.progress == wire::http::Progress::failed) return finish();
    if (step.consumed == 0) return;
  }
}

server::Dialect ProxiedRequest::dialect() const {
  if (route_->settings.headers) return *route_->settings.headers;
  if (!calls_) return server::Dialect::ietf;
  switch (llm_->vendor()) {
    case llm::Vendor::openai:
      return server::Dialect::openai;
    case llm::Vendor::anthropic:
      return server::Dialect::anthropic;
    case llm::Vendor::gemini:
      break;
  }
  return server::Dialect::ietf;
}

/// Ends a stream that no more can be charged for.
void ProxiedRequest::end_exhausted() {
  const std::string end = llm_->stream_end();
  exchange_.write(end, Sending::with_next);
  settle_accounts(answer_.status(), decoder_.received());
  let_go(false);
  exchange_.finish({});
  finish();
}

/// False as with write().
bool ProxiedRequest::pass_answer(std::string_view data, Sending sending) {
  bool room = true;
  llm_->feed(data, [&](std::string_view bytes) { room = exchange_.write(bytes, Sending::with_next); });
  if (sending == Sending::now) room = exchange_.write({}, Sending::now);
  if (const auto more = llm_->outgrown(); !more.empty() && call_lease_)
    call_lease_->add(more, llm_->ends_when_exhausted() ? Debt::refused : Debt::allowed);
  return room;
}

}  // namespace weir::gateway
