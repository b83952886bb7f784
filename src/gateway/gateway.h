// The gateway: limits requests and forwards them to upstreams.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/lock.h"
#include "base/maxima.h"
#include "gateway/call_bodies.h"
#include "gateway/counts.h"
#include "gateway/model_names.h"
#include "gateway/new_clients.h"
#include "gateway/routing.h"
#include "limiter/core.h"
#include "net/handler.h"
#include "server/decisions.h"
#include "server/outage.h"
#include "server/request_id.h"
#include "telemetry/access_log.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace weir::gateway {

class ProxyWorker;

struct GatewayOptions {
  std::string name_space = "default";
  std::string store = "memory";  ///< the kind of store, for metrics
  int bucket_ttl_refill_multiplier = 2;
  NewClientBounds new_clients = {};
  NewClientBounds new_models = {.per_network = maxima::new_models_of_address, .total = maxima::new_models};
  /// Bytes of the bodies of calls to models that are kept at a time.
  std::size_t call_bodies = maxima::llm_bodies;
  /// For the part of such a body that is kept.
  std::chrono::milliseconds call_body_within{30'000};
  /// How long a request holds concurrent limits without a sign of life of the gateway. A gateway that is
  /// killed gives them back after at most an eighth more.
  std::chrono::milliseconds call_lease{60'000};
  std::shared_ptr<const Clock> clock = {};
  std::shared_ptr<base::Entropy> entropy = {};
  telemetry::Log* log = nullptr;               ///< outlives the gateway, as the next two
  telemetry::AccessLog* access_log = nullptr;  ///< for each request
  server::DecisionLog* decisions = nullptr;    ///< null: none are kept
};

/// The limiter, once there is a store.
struct Decider {
  Decider(const GatewayOptions& options, std::shared_ptr<store::Store> store, telemetry::Metrics& metrics);

  limiter::Foundation foundation;
  limiter::Core core;
  server::Outage outage;
};

/// Counts leases that the store has not ended yet. Safe to use from any thread.
class OpenCallLeases {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  void remove() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) count_.notify_all();
  }
  /// Until there are none.
  void wait() const {
    for (std::size_t count = 0; (count = count_.load(std::memory_order_acquire)) != 0;) count_.wait(count);
  }

 private:
  std::atomic<std::size_t> count_{0};
};

/// Safe to call from any thread. Must outlive the server that it is given to.
class Gateway final : public net::Handler {
 public:
  explicit Gateway(GatewayOptions options);
  ~Gateway() override;

  /// From the next request on.
  void set_routing(std::shared_ptr<const Routing> routing);
  std::shared_ptr<const Routing> routing();
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// To be called once. Until then the store counts as unavailable.
  void set_store(std::shared_ptr<store::Store> store);
  /// Null until there is a store.
  Decider* decider() { return decider_.load(std::memory_order_acquire); }

  /// The policy without a decision: of the route, else of the file, else of the system limits as last known,
  /// else allow.
  OnUnavailable policy(const Routing& routing, const Route& route);

  const GatewayOptions& options() const { return options_; }
  telemetry::Metrics& metrics() { return *metrics_; }
  Counts& counts() { return *counts_; }
  OpenCallLeases& call_leases() { return call_leases_; }
  server::RequestIds& request_ids() { return request_ids_; }
  NewClients& new_clients() { return new_clients_; }
  ModelNames& model_names() { return model_names_; }
  CallBodies& call_bodies() { return call_bodies_; }
  /// Of a name from outside, for tables in memory.
  std::uint64_t hash_of(std::string_view name) const { return base::hash(name, hash_seed_); }
  /// The same, for scrapes.
  const std::shared_ptr<telemetry::Metrics>& shared_metrics() { return metrics_; }

  net::BodyPlan plan(const wire::http::RequestHead& request) override;
  void handle(net::Exchange exchange) override;
  void on_thread(net::Loop& loop) override;
  void on_thread_end() override;
  void on_busy() override;
  void on_idle() override;
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override;

 private:
  const GatewayOptions options_;
  const std::shared_ptr<telemetry::Metrics> metrics_;
  const std::unique_ptr<Counts> counts_;
  const base::HashSeed hash_seed_;
  NewClients new_clients_;
  ModelNames model_names_;
  CallBodies call_bodies_;
  OpenCallLeases call_leases_;
  server::RequestIds request_ids_;
  std::unique_ptr<Decider> owned_;
  std::atomic<Decider*> decider_{nullptr};
  store::Buckets* rounds_ = nullptr;  ///< null if the store was set after threads had started
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::size_t> workers_{0};
  base::Mutex mutex_;
  std::shared_ptr<const Routing> routing_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::gateway
