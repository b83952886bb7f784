// The HTTP API: requests in, decisions out.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lock.h"
#include "limiter/core.h"
#include "net/handler.h"
#include "server/decisions.h"
#include "server/outage.h"
#include "server/problem.h"
#include "server/request_id.h"
#include "service/routes.h"
#include "service/thread_pool.h"
#include "service/tokens.h"
#include "store/aggregation.h"
#include "store/finding.h"
#include "telemetry/access_log.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace weir::service {

using server::Outage;
using server::problem;
using server::Reply;

struct ServiceOptions {
  std::optional<OnUnavailable> on_unavailable = {};  ///< of a flag; nothing: that of the system limits
  std::string principal = "anonymous";               ///< of changes, if no tokens are required
  std::string store = "memory";                      ///< the kind of store, for metrics
  telemetry::Log* log = nullptr;                     ///< for outages of the store; outlives the service
  telemetry::AccessLog* access_log = nullptr;        ///< for each request; outlives the service
  server::DecisionLog* decisions = nullptr;          ///< null: none are kept; outlives the service
  std::string name_space = "default";                ///< of requests that name none
  /// Checks the stored data, from any thread: of a namespace alone, or of the whole store if the name is
  /// empty. An empty function: not supported.
  std::function<Result<std::vector<store::Finding>>(const std::string& name_space)> check_store = {};
  const store::Aggregation* aggregation = nullptr;  ///< runs beside it; outlives the service
  bool beyond_loopback = false;                     ///< other machines reach it, by names of their own
};

/// The caller and the namespace.
struct Identity {
  std::string principal;
  std::string name_space;
  bool bound = false;  ///< the token is for this namespace alone
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

class Responder;
class WorkerExecutor;

/// Safe to call from any thread. Must outlive every exchange that it was given.
class Service final : public net::Handler {
 public:
  Service(limiter::Foundation foundation, ServiceOptions options);
  ~Service() override;

  /// Null: every caller may make every call.
  void set_tokens(std::shared_ptr<const Tokens> tokens);
  /// The answer of readyz: a service that is shutting down is alive but not ready.
  void set_ready(bool ready) { ready_.store(ready, std::memory_order_relaxed); }
  /// Refuses the requests that wait, and lets no further ones wait: the service is shutting down.
  void stop_waiting() { foundation_.waiting->close(); }
  /// How many acquires wait in the queues of their buckets, those that are being decided left out.
  std::size_t waiting() const { return foundation_.waiting->resting(); }
  /// Its metrics; more may be added.
  const std::shared_ptr<telemetry::Metrics>& metrics() { return metrics_; }

  net::BodyPlan plan(const wire::http::RequestHead& request) override;
  void handle(net::Exchange exchange) override;
  void on_thread(net::Loop& loop) override;
  void on_busy() override { foundation_.store->buckets().begin_round(); }
  void on_idle() override { foundation_.store->buckets().end_round(); }
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override;

 private:
  friend class Responder;
  friend struct AcquireCall;
  friend struct LeaseCall;

  using CoreRef = std::shared_ptr<limiter::Core>;
  /// The result of the checks that need only the head of a request.
  struct Checked {
    const wire::http::RequestHead* request = nullptr;  ///< whose it is, until handle() uses it
    Match match;
    Identity identity;
    std::optional<Reply> refusal;
  };
  static Checked& checked_here();
  void check(const wire::http::RequestHead& request, Checked& checked);
  std::shared_ptr<const Tokens> current_tokens();
  std::optional<Reply> check_caller(const wire::http::RequestHead& request, const Route& route,
                                    Identity& identity);
  CoreRef core_of(const Identity& identity);
  CoreRef find_core(const Identity& identity);
  void check_store(Responder responder, const Identity& identity);
  void list_namespaces(Responder responder, const Identity& identity, const CoreRef& core);
  void change_namespace(Responder responder, const Route& route, const CoreRef& core);
  void find_decision(Responder responder, const std::string& id, const Identity& identity);
  void run_task(Responder responder, const Route& route, const CoreRef& core);
  void dispatch(Responder responder, const Route& route, const Identity& identity);
  bool may_wait(Call call, wire::http::Method method) const;
  Reply at_once(const Route& route, const wire::http::RequestHead& request, std::string_view body,
                limiter::Core& core);
  Reply readiness();

  const limiter::Foundation foundation_;
  const ServiceOptions options_;
  const std::shared_ptr<telemetry::Metrics> metrics_;
  Outage outage_;
  std::atomic<bool> ready_{true};
  std::atomic<bool> asks_for_tokens_{false};
  server::RequestIds request_ids_;
  base::Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ WEIR_GUARDED_BY(mutex_);
  std::map<Identity, CoreRef> cores_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<WorkerExecutor>> executors_ WEIR_GUARDED_BY(mutex_);
  // Last members, so that they end before the rest. A task may hold a large body, so few may wait; a check
  // reads the whole store, so changes do not wait for it; no deployment has more scrapes than this; usage
  // may have much to sum up, so lookups do not wait for it; and lookups in a remote store run in parallel,
  // since each waits for it.
  ThreadPool tasks_{1, 8};
  ThreadPool checks_{1, 8};
  ThreadPool scrapes_{1, 64};
  ThreadPool sums_{2, 64};
  ThreadPool lookups_{4, 256};
};

}  // namespace weir::service
