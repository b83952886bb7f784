// One call of the API in progress: the exchange, and the data for its answer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/recycled.h"
#include "limiter/pending.h"
#include "limiter/waiting_acquire.h"
#include "net/handler.h"
#include "service/bodies.h"
#include "service/service.h"

namespace weir::service {

/// The right to answer, with the data that every answer carries. Movable.
class Responder {
 public:
  Responder(Service& service, net::Exchange exchange);
  Responder(Responder&&) noexcept = default;

  net::Exchange& exchange() { return exchange_; }
  const net::Exchange& exchange() const { return exchange_; }
  Service& service() { return *service_; }
  void set_call(Call call) { call_ = static_cast<std::size_t>(call); }
  /// For the access log.
  void set_caller(std::string_view principal, std::string_view name_space) {
    if (extra_) extra_->principal = principal;
    if (extra_) extra_->name_space = name_space;
  }
  const wire::http::RequestHead& request() const { return exchange_.request(); }
  const std::string& request_id() const { return request_id_; }
  /// The present, if the decision log keeps all; otherwise 0.
  Time asked_at() const;
  /// The caller may reuse the memory of the reply.
  void send(Reply&& reply);

 private:
  void observe(const Reply& reply);

  Service* service_;
  net::Exchange exchange_;
  std::string request_id_;
  std::size_t call_ = no_call;
  /// Data that most requests do not need.
  struct Extra {
    std::string traceparent = {};  ///< empty: none, or malformed
    // For the access log.
    std::chrono::steady_clock::time_point started = {};
    std::string principal = {};
    std::string name_space = {};
  };
  std::unique_ptr<Extra> extra_;  ///< null without a traceparent and an access log
};

// Calls that may be answered later, perhaps on a thread of the store. Each deletes itself before it answers:
// after the last answer the service may be destroyed, and a call must not hold the last reference to the
// store.

/// An acquire.
struct AcquireCall final : base::Recycled<AcquireCall, 256> {
  AcquireCall(Service& service_in, Responder responder_in, std::shared_ptr<limiter::Core> core_in)
      : service(service_in), responder(std::move(responder_in)), core(std::move(core_in)), pending(*core) {}

  void start();
  void done(Result<void>&& result);
  void reply_with(Reply& reply);
  Decision& decision() { return waiting ? waiting->acquire.decision() : pending.decision(); }
  /// Counts the outcome. True if the request is admitted although the store could not decide.
  bool observe(const Result<void>& result);
  /// Adds the decision to the decision log, if it is kept there; `lease` is its id. Returns the id of the
  /// decision; empty: it is not kept.
  std::string keep(std::string_view lease);

  Service& service;
  Responder responder;
  std::shared_ptr<limiter::Core> core;
  AcquireBody body;
  std::string key;  ///< the idempotency key; empty: none
  /// Of an authorize, the status of a refusal: its answers are a status and fields, without a body.
  std::optional<int> authorizes;
  std::vector<Charge> charges;
  std::optional<RequestLimits> limits;
  limiter::PendingAcquire pending;
  /// With max_wait_ms, in place of `pending`. Steps and answers happen on the thread of the connection, where
  /// the client may go away.
  struct QueuedAcquire final : net::ExchangeObserver {
    QueuedAcquire(AcquireCall& call_in, net::Loop* loop_in);
    void done(Result<void>&& result);
    void on_body(std::string_view, bool) override {}
    void on_writable() override {}
    void on_gone(const wire::http::Refusal&) override { acquire.hurry(); }
    void on_ended() override { acquire.hurry(); }

    AcquireCall& call;
    net::Loop* const loop;  ///< null outside of a server
    limiter::WaitingAcquire acquire;
  };
  std::unique_ptr<QueuedAcquire> waiting;
  std::chrono::steady_clock::time_point started;
  Time asked_at = 0;  ///< only where the decision log keeps all
};

/// A change to a lease.
struct LeaseCall {
  LeaseCall(Responder responder_in, std::shared_ptr<limiter::Core> core_in)
      : responder(std::move(responder_in)), core(std::move(core_in)), pending(*core) {}

  void start(detail::LeaseVerb verb);
  void done(Result<void>&& result);
  /// Adds the change to the decision log, if it keeps all.
  void keep();
  /// Adds an adjust that was refused, since it would have left a debt. Returns the id of the decision; empty:
  /// it is not kept.
  std::string keep_refused(const Error& error);
  decision_log::Record record() const;

  Responder responder;
  std::shared_ptr<limiter::Core> core;
  std::string id;
  std::string key;
  Amounts amounts;
  std::chrono::milliseconds lease_for{0};  ///< of an extend
  Debt debt = Debt::allowed;               ///< of an adjust
  detail::LeaseVerb verb = detail::LeaseVerb::adjust;
  std::vector<Charge> charges;
  limiter::PendingChange pending;
  telemetry::StoreOp op = telemetry::StoreOp::adjust;
  std::chrono::steady_clock::time_point started;
  Time asked_at = 0;  ///< only where the decision log keeps all
};

/// Calls that are answered synchronously: availability, limits, entities, audit.
Reply answer_at_once(limiter::Core& core, const Route& route, const wire::http::RequestHead& request,
                     std::string_view body, Time now, telemetry::Metrics& metrics);

/// Fills buckets to capacity.
Reply reset(limiter::Core& core, const std::string& entity, std::string_view body, Time now);
/// Grants more beside the balances of a bucket.
Reply grant(limiter::Core& core, const std::string& entity, const wire::http::RequestHead& request,
            std::string_view body, Time now);
/// Blocks and exemptions: get, put or delete.
Reply access(limiter::Core& core, const Route& route, const wire::http::RequestHead& request,
             std::string_view body);
/// GET /v1/usage.
Reply usage(limiter::Core& core, std::string_view query);

/// Reads the request of a proxy: from the query, else from the fields Weir-Entity, Weir-Resource and
/// Weir-Consume. `refused`: the status of a refusal. Returns an answer if the request is invalid.
std::optional<Reply> read_authorize(const wire::http::RequestHead& request, AcquireBody& body, int& refused);

/// A mistake in a body: 400 or 422.
template <class T>
Reply bad_body(const Parsed<T>& parsed) {
  if (!parsed.malformed.empty()) return problem(400, "malformed", parsed.malformed);
  return problem(422, "invalid-argument", parsed.invalid);
}

}  // namespace weir::service
