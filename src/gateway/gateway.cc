#include "gateway/gateway.h"

#include "gateway/call_lease.h"
#include "gateway/proxied_request.h"
#include "gateway/proxy_worker.h"
#include "server/problem.h"
#include "wire/http_write.h"

namespace weir::gateway {
namespace {

limiter::Foundation foundation_of(const GatewayOptions& options, std::shared_ptr<store::Store> store) {
  return {options.clock, options.entropy, std::move(store)};
}

Options core_options(const GatewayOptions& options) {
  Options core;
  core.name_space = options.name_space;
  core.principal = "gateway";
  core.bucket_ttl_refill_multiplier = options.bucket_ttl_refill_multiplier;
  core.lease_deadline = options.call_lease;
  return core;
}

}  // namespace

Decider::Decider(const GatewayOptions& options, std::shared_ptr<store::Store> store,
                 telemetry::Metrics& metrics)
    : foundation(foundation_of(options, std::move(store))),
      core(foundation, core_options(options)),
      outage({*foundation.store, *foundation.clock, metrics, options.log, {}, OnUnavailable::allow}) {}

Gateway::Gateway(GatewayOptions options)
    : options_(std::move(options)),
      metrics_(std::make_shared<telemetry::Metrics>(
          telemetry::MetricsOptions{.store = options_.store,
                                    .calls = {},
                                    // Odd seeds keep every bit in the products of the hash.
                                    .seed = {options_.entropy->next() | 1U, options_.entropy->next() | 1U}})),
      counts_(std::make_unique<Counts>()),
      hash_seed_{options_.entropy->next() | 1U, options_.entropy->next() | 1U},
      new_clients_(options_.new_clients),
      model_names_(options_.new_models),
      call_bodies_(options_.call_bodies) {
  metrics_->set_store_up(false);
}

// Operations of the store use the decider.
Gateway::~Gateway() { call_leases_.wait(); }

void Gateway::set_routing(std::shared_ptr<const Routing> routing) {
  const base::Guard guard(mutex_);
  routing_ = std::move(routing);
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const Routing> Gateway::routing() {
  const base::Guard guard(mutex_);
  return routing_;
}

void Gateway::set_store(std::shared_ptr<store::Store> store) {
  owned_ = std::make_unique<Decider>(options_, std::move(store), *metrics_);
  metrics_->add_counters([store = owned_->foundation.store.get()] { return store->counters(); });
  metrics_->set_store_up(true);
  owned_->outage.learn(options_.name_space);
  // Threads that already run get no rounds: one in the middle of a turn would end a round that it did not
  // begin.
  if (workers_.load() == 0) rounds_ = &owned_->foundation.store->buckets();
  decider_.store(owned_.get(), std::memory_order_release);
}

OnUnavailable Gateway::policy(const Routing& routing, const Route& route) {
  if (route.settings.on_unavailable) return *route.settings.on_unavailable;
  if (routing.on_unavailable()) return *routing.on_unavailable();
  Decider* const decides = decider();
  return decides == nullptr ? OnUnavailable::allow : decides->outage.policy(options_.name_space);
}

net::BodyPlan Gateway::plan(const wire::http::RequestHead& /*request*/) {
  // Bodies are streamed, not buffered, so they need no bound.
  return {.kind = net::BodyPlan::Kind::stream, .largest = ~std::uint64_t{0} >> 1U};
}

void Gateway::handle(net::Exchange exchange) {
  ProxyWorker::here()->take_request().start(std::move(exchange));
}

void Gateway::on_thread(net::Loop& loop) {
  // Deleted by on_thread_end(), on the same thread.
  ProxyWorker::here() = new ProxyWorker(*this, loop, workers_.fetch_add(1, std::memory_order_relaxed));
  store::Executor::here() = ProxyWorker::here();
}

void Gateway::on_thread_end() {
  store::Executor::here() = nullptr;
  delete std::exchange(ProxyWorker::here(), nullptr);
}

void Gateway::on_busy() {
  if (rounds_ != nullptr) rounds_->begin_round();
}

void Gateway::on_idle() {
  if (rounds_ != nullptr) rounds_->end_round();
}

void Gateway::describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) {
  const server::Reply reply = server::problem(refusal.status, {}, refusal.reason);
  if (ProxyWorker* const worker = ProxyWorker::here()) worker->without_route().answered(refusal.status);
  wire::http::write_field(fields, "Content-Type", reply.content_type);
  body.append(reply.body);
}

ProxyWorker::ProxyWorker(Gateway& gateway, net::Loop& loop, std::size_t number)
    : ThreadExecutor(loop),
      gateway_(gateway),
      number_(number),
      // No route has the empty name.
      without_route_(gateway.counts().of(number, "")),
      admitted_(gateway.options().new_clients.period) {}

ProxyWorker::~ProxyWorker() {
  routing_ = {};
  requests_.clear();
  pools_.clear();
}

const LocalRoutingRef& ProxyWorker::routing() {
  const std::uint64_t now = gateway_.generation();
  if (generation_ == now) [[likely]]
    return routing_;
  auto fresh = base::make_ref<LocalRouting>();
  fresh->routing = gateway_.routing();
  std::erase_if(pools_, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& route : fresh->routing->routes()) {
    Choices& choices = fresh->choices.emplace_back();
    const std::string& name = route->settings.name;
    choices.counts = &gateway_.counts().of(number_, name);
    choices.metrics_pair = gateway_.metrics().pair_of(gateway_.options().name_space, name);
    // Each thread starts with another upstream; else the first would get all requests when traffic is low.
    choices.next = number_;
    for (const auto& server : route->servers) {
      std::weak_ptr<Pool>& known = pools_[server];
      std::shared_ptr<Pool> pool = known.lock();
      if (!pool) known = pool = std::make_shared<Pool>(server, loop());
      choices.pools.push_back(std::move(pool));
    }
  }
  routing_ = std::move(fresh);
  generation_ = now;
  return routing_;
}

ProxiedRequest& ProxyWorker::take_request() {
  if (spare_.empty()) {
    requests_.push_back(std::make_unique<ProxiedRequest>(*this));
    return *requests_.back();
  }
  ProxiedRequest& proxied = *spare_.back();
  spare_.pop_back();
  return proxied;
}

void ProxyWorker::give_back(ProxiedRequest& proxied) { spare_.push_back(&proxied); }

std::string_view ProxyWorker::entity_of(const net::Address& address) {
  if (last_text_.empty() || address.bytes != last_address_.bytes || address.v6 != last_address_.v6) {
    last_address_ = address;
    last_text_ = "ip:" + plain(address).host();
  }
  return last_text_;
}

}  // namespace weir::gateway
