#include "service/service.h"

#include "base/maxima.h"
#include "base/text.h"
#include "service/calls.h"
#include "service/openapi.h"
#include "service/worker_executor.h"
#include "wire/http_write.h"

namespace weir::service {
namespace {

// Bounds the memory of the cache; beyond it, cores in use are kept alive by their calls.
constexpr std::size_t most_cores = maxima::cores;

telemetry::StoreOp store_op_of(Call call, wire::http::Method method) {
  using telemetry::StoreOp;
  using wire::http::Method;
  switch (call) {
    case Call::adjust:
      return StoreOp::adjust;
    case Call::settle:
      return StoreOp::settle;
    case Call::rollback:
      return StoreOp::rollback;
    case Call::extend:
      return StoreOp::extend;
    case Call::available:
      return StoreOp::available;
    default:
      return method == Method::put || method == Method::delete_ ? StoreOp::write : StoreOp::read;
  }
}

Reply empty_key() {
  return problem(400, "malformed",
                 "the header Idempotency-Key is empty; send a new key with each call, or leave it out");
}

/// All callers wait in the same queues.
limiter::Foundation with_waiting_room(limiter::Foundation foundation) {
  if (!foundation.waiting) foundation.waiting = std::make_shared<limiter::WaitingRoom>(foundation.clock);
  return foundation;
}

void change_lease(Responder responder, const Route& route, const std::shared_ptr<limiter::Core>& core) {
  using detail::LeaseVerb;
  const std::string_view body = responder.exchange().body();
  Parsed<AdjustBody> adjust;
  Parsed<Amounts> settle;
  if (route.call == Call::adjust) adjust = parse_adjust(body);
  if (route.call == Call::settle) settle = parse_settle(body);
  if (!adjust.ok()) return responder.send(bad_body(adjust));
  if (!settle.ok()) return responder.send(bad_body(settle));
  Parsed<std::chrono::milliseconds> lease_for;
  if (route.call == Call::extend) lease_for = parse_extend(body);
  if (!lease_for.ok()) return responder.send(bad_body(lease_for));
  const auto key = responder.request().fields().find("idempotency-key");
  if (route.call == Call::adjust && (!key || key->empty())) {
    return responder.send(
        problem(400, "idempotency-key-missing",
                "an adjust needs the header Idempotency-Key, so that it can be sent again safely"));
  }
  if (key && key->empty()) return responder.send(empty_key());
  auto* const call = new LeaseCall(std::move(responder), core);
  call->id = route.names[0];
  call->key = route.call == Call::adjust ? std::string(*key) : std::string();
  call->amounts = route.call == Call::adjust ? std::move(adjust.value.consume) : std::move(settle.value);
  call->debt = adjust.value.debt;
  call->lease_for = lease_for.value;
  call->op = store_op_of(route.call, wire::http::Method::post);
  call->start(route.call == Call::adjust   ? LeaseVerb::adjust
              : route.call == Call::settle ? LeaseVerb::settle
              : route.call == Call::extend ? LeaseVerb::extend
                                           : LeaseVerb::rollback);
}

}  // namespace

Service::Service(limiter::Foundation foundation, ServiceOptions options)
    : foundation_(with_waiting_room(std::move(foundation))),
      options_(std::move(options)),
      metrics_(std::make_shared<telemetry::Metrics>(telemetry::MetricsOptions{
          .store = options_.store,
          .calls = {call_names().begin(), call_names().end()},
          // Odd seeds keep every bit in the products of the hash.
          .seed = {foundation_.entropy->next() | 1U, foundation_.entropy->next() | 1U}})),
      outage_({*foundation_.store, *foundation_.clock, *metrics_, options_.log, options_.on_unavailable}) {
  metrics_->add_counters([store = foundation_.store.get()] { return store->counters(); });
  metrics_->add_gauge("weir_waiting_requests", "Acquires that wait for their bucket to refill.",
                      [room = foundation_.waiting] { return static_cast<double>(room->size()); });
  // A remote store may be unavailable from the start.
  (void)outage_.look();
}

Service::~Service() = default;

void Service::set_tokens(std::shared_ptr<const Tokens> tokens) {
  const base::Guard guard(mutex_);
  asks_for_tokens_.store(tokens != nullptr, std::memory_order_release);
  tokens_ = std::move(tokens);
}

std::shared_ptr<const Tokens> Service::current_tokens() {
  const base::Guard guard(mutex_);
  return tokens_;
}

Service::CoreRef Service::core_of(const Identity& identity) {
  WorkerExecutor* const executor = WorkerExecutor::of(*this);
  if (executor == nullptr) return find_core(identity);
  if (executor->last_core == nullptr || executor->last_caller != identity) {
    executor->last_core = find_core(identity);
    executor->last_caller = identity;
  }
  return executor->last_core;
}

Service::CoreRef Service::find_core(const Identity& identity) {
  const base::Guard guard(mutex_);
  if (const auto found = cores_.find(identity); found != cores_.end()) return found->second;
  Options options;
  options.name_space = identity.name_space;
  options.principal = identity.principal;
  if (cores_.size() == most_cores) cores_.clear();
  outage_.learn(identity.name_space);
  return cores_[identity] = std::make_shared<limiter::Core>(foundation_, options);
}

void Service::on_thread(net::Loop& loop) {
  const base::Guard guard(mutex_);
  executors_.emplace_back(std::make_unique<WorkerExecutor>(*this, loop))->enter();
}

void Service::handle(net::Exchange exchange) {
  const wire::http::RequestHead& head = exchange.request();
  Checked& checked = checked_here();
  // A request with a body has been checked since its address was last used by another; one without a body has
  // not been.
  const bool planned = head.body().kind != wire::http::Framing::Kind::none && checked.request == &head;
  if (!planned) check(head, checked);
  checked.request = nullptr;
  Responder responder(*this, std::move(exchange));
  if (checked.match.found) responder.set_call(checked.match.route.call);
  if (checked.refusal) return responder.send(*std::move(checked.refusal));
  if (options_.access_log != nullptr)
    responder.set_caller(checked.identity.principal, checked.identity.name_space);
  dispatch(std::move(responder), checked.match.route, checked.identity);
}

void Service::dispatch(Responder responder, const Route& route, const Identity& identity) {
  const CoreRef core = core_of(identity);
  switch (route.call) {
    case Call::acquire: {
      const auto key = responder.request().fields().find("idempotency-key");
      if (key && key->empty()) return responder.send(empty_key());
      auto parsed = parse_acquire(responder.exchange().body());
      if (!parsed.ok()) return responder.send(bad_body(parsed));
      auto* const call = new AcquireCall(*this, std::move(responder), core);
      call->body = std::move(parsed.value);
      if (key) call->key = *key;
      return call->start();
    }
    case Call::authorize: {
      AcquireBody body;
      int refused = 403;
      if (auto mistake = read_authorize(responder.request(), body, refused))
        return responder.send(*std::move(mistake));
      auto* const call = new AcquireCall(*this, std::move(responder), core);
      call->body = std::move(body);
      call->authorizes = refused;
      return call->start();
    }
    case Call::adjust:
    case Call::settle:
    case Call::rollback:
    case Call::extend:
      return change_lease(std::move(responder), route, core);
    case Call::metrics:
      (void)outage_.look();
      [[fallthrough]];
    case Call::changes:
      return run_task(std::move(responder), route, core);
    case Call::check_store:
      return check_store(std::move(responder), identity);
    case Call::namespaces:
      return list_namespaces(std::move(responder), identity, core);
    case Call::name_space:
    case Call::restore_namespace:
      return change_namespace(std::move(responder), route, core);
    case Call::decision:
      return find_decision(std::move(responder), std::string(route.names[0]), identity);
    case Call::livez:
      return responder.send({.body = "ok\n", .content_type = "text/plain"});
    case Call::readyz:
      return responder.send(readiness());
    case Call::openapi:
      return responder.send({.body = std::string(openapi_json())});
    default:
      if (may_wait(route.call, responder.request().method()))
        return run_task(std::move(responder), route, core);
      return responder.send(at_once(route, responder.request(), responder.exchange().body(), *core));
  }
}

/// Whether an answer may have to wait for a disk or a remote store, or has much to sum up.
bool Service::may_wait(Call call, wire::http::Method method) const {
  return foundation_.store->is_elsewhere() || is_long(call) || role_for(call, method) == Role::admin;
}

Reply Service::at_once(const Route& route, const wire::http::RequestHead& request, std::string_view body,
                       limiter::Core& core) {
  if (route.call == Call::decisions)
    return server::decisions_reply(options_.decisions, request.query(), core.name_space());
  const auto started = std::chrono::steady_clock::now();
  Reply reply = answer_at_once(core, route, request, body, foundation_.clock->now(), *metrics_);
  const auto took = std::chrono::steady_clock::now() - started;
  // An invalid request did not reach the store.
  if (reply.status != 400 && reply.status != 422)
    metrics_->store_took(store_op_of(route.call, request.method()), took);
  if (reply.status == 503) (void)outage_.look();
  if (reply.status < 300) outage_.succeeded();
  const bool system_changed =
      route.call == Call::limits_of_level && route.names.empty() && reply.status < 300;
  if (system_changed) outage_.learn_changed(core.name_space());
  return reply;
}

/// The answer to a load balancer, with the reason if not ready.
Reply Service::readiness() {
  if (!ready_.load(std::memory_order_relaxed))
    return problem(503, "not-ready", "the service is shutting down");
  if (const auto health = outage_.look(); !health) return problem(health.error());
  if (options_.aggregation != nullptr) {
    const store::AggregationState state = options_.aggregation->state();
    if (state.waits)
      return problem(503, "usage-behind", base::join("usage is not counted yet: ", state.trouble));
    if (state.lag > store::most_lag)
      return problem(503, "usage-behind",
                     base::join("usage is counted ", std::to_string(state.lag / 1000), " seconds late"));
  }
  return {.body = "ready\n", .content_type = "text/plain"};
}

void Service::describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) {
  const Reply reply = problem(refusal.status, {}, refusal.reason);
  metrics_->answered(no_call, refusal.status);
  wire::http::write_field(fields, "Content-Type", reply.content_type);
  wire::http::write_field(fields, "X-Request-Id", request_ids_.next());
  body.append(reply.body);
}

}  // namespace weir::service
