// The HTTP API: requests in, decisions out.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limiter/core.h"
#include "net/handler.h"
#include "service/errands.h"
#include "service/problem.h"
#include "service/routes.h"
#include "service/tokens.h"
#include "store/finding.h"
#include "store/lock.h"

namespace weir::service {

struct ServiceOptions {
  std::optional<OnUnavailable> on_unavailable = {};  ///< of a flag; nothing: what the system's limits say
  std::string principal = "anonymous";               ///< of changes, where no tokens are asked for
  /// Looks the store over, from any thread; nothing: it cannot be.
  std::function<Result<std::vector<store::Finding>>()> check_store = {};
};

class Answering;

/// Safe to call from any thread. Must outlive every exchange that it was given.
class Service final : public net::Handler {
 public:
  Service(limiter::Foundation foundation, ServiceOptions options);
  ~Service() override;

  /// Null: everybody may do everything.
  void set_tokens(std::shared_ptr<const Tokens> tokens);
  /// Whether readyz says so: a service that is shutting down is alive but not ready.
  void set_ready(bool ready) { ready_.store(ready, std::memory_order_relaxed); }

  net::BodyPlan plan(const wire::http::RequestHead& request) override;
  void handle(net::Exchange exchange) override;
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override;

 private:
  friend class Answering;
  friend struct AcquireCall;

  using CoreRef = std::shared_ptr<limiter::Core>;
  /// Who calls, and in which namespace.
  struct Who {
    std::string principal;
    std::string name_space;
  };
  std::optional<Reply> check_caller(const wire::http::RequestHead& request, const Route& route, Who& who);
  Result<CoreRef> core_of(const Who& who);
  std::string next_request_id() {
    return "weir-" + std::to_string(next_request_.fetch_add(1, std::memory_order_relaxed) + 1);
  }
  OnUnavailable policy(limiter::Core& core);
  void run_errand(Answering answering, const Route& route, const CoreRef& core);
  void dispatch(Answering answering, const Route& route, const CoreRef& core);

  const limiter::Foundation foundation_;
  const ServiceOptions options_;
  std::atomic<bool> ready_{true};
  std::atomic<std::uint64_t> next_request_{0};
  store::Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ WEIR_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, CoreRef> cores_ WEIR_GUARDED_BY(mutex_);
  Errands errands_;  // last, so that it ends while all the rest is there
};

}  // namespace weir::service
