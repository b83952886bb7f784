// One request through the gateway: its entity, the decision, the upstream, and the answer.
//
//   start -> [read] -> decide -> forward -> [connect, send, maybe again elsewhere] -> respond -> done
//                        \-> refuse            \-> fail (502, 503, 504)
//
// The body of a call to a language model is read before the decision, which needs its model and its size.
// Both bodies are streamed with back pressure: no more is read from one side than the other takes. Everything
// happens on the thread of the client's connection.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call_lease.h"
#include "gateway/client.h"
#include "gateway/client_check.h"
#include "gateway/heads.h"
#include "gateway/llm_call.h"
#include "gateway/proxy_worker.h"
#include "gateway/upstream.h"
#include "limiter/pending.h"
#include "net/handler.h"
#include "server/problem.h"
#include "store/catalog.h"
#include "telemetry/metrics.h"
#include "wire/http_body.h"
#include "wire/http_response.h"

namespace weir::gateway {

struct Decider;

/// Reused for request after request; keeps its allocations.
class ProxiedRequest final : private net::ExchangeObserver, private net::OutboundUser {
 public:
  explicit ProxiedRequest(ProxyWorker& worker);

  void start(net::Exchange exchange);

 private:
  using Steady = std::chrono::steady_clock;
  /// A status for the log only, as other proxies use it: the client closed the connection.
  static constexpr int client_left = 499;
  enum class Stage : std::uint8_t {
    reading,     ///< the body of a call to a model
    deciding,    ///< waits for the store
    discarding,  ///< refused; the rest of a small body is read, so that the connection can be kept
    asking,      ///< until the head of the upstream's answer has arrived
    answering,   ///< in the body of the answer
    tunnel,      ///< after 101
    draining,    ///< the client has left; the answer of the model is read for its usage
  };
  /// Why a connection cannot be used.
  enum class Broken : std::uint8_t {
    refused,  ///< no connection could be made
    slow,     ///< the timeout has passed
    ended,    ///< the upstream sends no more
    lost,     ///< reset, or broken otherwise
  };
  /// The event awaited while the request is sent, which determines the meaning of a timeout.
  enum class Awaits : std::uint8_t {
    answer,      ///< the upstream is too slow
    connection,  ///< the client's body waits for it, so that the request can still go to another upstream
    first_part,  ///< of the client's body; the head waits for it, so that both leave together
    go_ahead,    ///< a 100; after a while the body is sent without it
  };

  // The decision (proxied_request.cc).
  bool find_route();
  // A call to a language model (llm_proxying.cc).
  bool refuse_head();
  void start_call();
  void check_client();
  void client_checked(const Result<ClientStanding>& standing);
  bool was_unblocked();
  void begin_reading_call();
  void read_call(std::string_view data, bool end);
  void call_is_read(bool whole);
  bool admit_model();
  void start_model_answer();
  void decide_call(Decider& decider);
  void refuse_call();
  bool decide_again();
  void follow_vendor();
  void hold_call();
  void settle_call();
  void fail_call(int status, std::string_view code, std::string_view text,
                 std::optional<std::chrono::milliseconds> wait = {});
  bool send_read_body();
  void drop_sent_body();
  bool refuse_rest(std::string_view data, bool end);
  bool may_drain() const;
  void start_draining();
  void drain();
  bool drain_head();
  server::Dialect dialect() const;
  bool pass_answer(std::string_view data, net::Sending sending);
  CallEnd call_end() const;
  void end_exhausted();

  void set_entity();
  bool asks_store() const;
  void name_entity();
  /// Whether the client is named by a bearer's key, which may have an alias.
  bool is_key() const;
  bool admitted_before();
  void look_up_client();
  void looked_up(Result<store::Found>&& found);
  bool take_alias(const store::Found& found);
  void limit_client(bool known);
  void decide();
  void ask_store(Decider& decider);
  void decided_elsewhere(Result<void>&& result);
  void decided(const Result<void>& result);
  void hold_limits();
  void answer_gone();
  bool observe(const Result<void>& result);
  // The decision log (kept_decisions.cc).
  void keep();
  const std::string& request_id();
  void refuse();
  void answer_without_store(const Error& error);
  void fail(int status, std::string_view type, std::string_view detail);
  void send(server::Reply reply);
  void send_now();
  void settle_accounts(int status, std::uint64_t bytes);
  void finish();

  // The request, to the upstream (forwarding.cc).
  void forward();
  void try_upstreams();
  std::size_t most_attempts() const;
  bool reach(Pool& pool);
  void send_head();
  /// The Host field for the upstream.
  std::string_view host_asked();
  std::string_view host_told(std::string_view asked) const;
  void ask_for_body();
  void go_on_reading();
  bool may_try_again(Broken why) const;
  void give_up_on(Broken why);
  void let_go(bool reusable);
  void on_body(std::string_view data, bool end) override;
  void on_gone(const wire::http::Refusal& why) override;
  void on_open() override;
  void on_drained() override;
  void on_end() override { broken(Broken::ended); }
  void on_late() override { broken(Broken::slow); }
  void on_failed(net::Outbound& connection, const net::Failure& why) override;
  void broken(Broken why);

  // The answer, to the client (answering.cc).
  void on_input() override;
  void on_writable() override;
  bool read_head();
  bool pass_interim();
  void start_answer();
  void start_tunnel();
  void pump();
  void pump_tunnel();
  void pause_answer();
  void finish_answer();
  void break_off();
  void malformed(std::string_view why);

  std::chrono::milliseconds started_at() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(started_.time_since_epoch());
  }
  const wire::http::RequestHead& request() const { return exchange_.request(); }
  std::string_view accept() const { return request().fields().find("accept").value_or(""); }

  ProxyWorker& worker_;
  net::Exchange exchange_;
  LocalRoutingRef routing_;
  PathForms path_;
  std::string_view forwarded_path_;
  std::string host_;     ///< the host that the client asked for, where a route is for one host
  std::string upgrade_;  ///< the protocols that the client may change to; empty: none
  const Route* route_ = nullptr;
  Choices* choices_ = nullptr;
  Origin origin_;
  Stage stage_ = Stage::deciding;

  // The decision.
  std::string entity_;
  std::uint64_t entity_hash_ = 0;
  std::optional<Result<store::Found>> found_elsewhere_;  ///< what another thread has read about the entity
  std::vector<Charge> charges_;                          ///< if the cost is not that of the route
  limiter::CostOfEvery costs_;
  std::string_view resource_;     ///< that is charged
  std::unique_ptr<LlmCall> llm_;  ///< kept for the next call
  bool calls_ = false;            ///< this request is a call to a model
  ClientCheck client_check_;
  std::optional<Result<ClientStanding>> checked_elsewhere_;  ///< by another thread
  bool is_unread_ = false;       ///< the call is decided without its body, since the client is blocked
  bool model_is_fresh_ = false;  ///< no vendor has answered for its model yet
  std::optional<limiter::PendingAcquire> pending_;
  std::optional<Result<void>> elsewhere_;  ///< the decision of another thread
  Time body_until_ = 0;                    ///< when the kept part of a call's body must be here
  Time asked_at_ = 0;                      ///< only where the decision log keeps all
  std::uint64_t kept_as_ = 0;              ///< the number of the decision in the decision log; 0: not kept
  std::string decision_id_;                ///< of a refusal that is kept
  std::string request_id_;                 ///< empty until it is needed
  CallLeasePtr call_lease_;                ///< of a request that holds concurrent limits
  std::string rate_fields_;                ///< the RateLimit fields of the answer
  server::Reply reply_;
  Steady::time_point started_;
  Steady::time_point forwarded_;

  // The upstream.
  UpstreamConnection* upstream_ = nullptr;
  unsigned attempts_ = 0;
  Broken last_trouble_ = Broken::refused;
  Awaits awaits_ = Awaits::answer;
  bool client_gone_ = false;            ///< while the store decided
  wire::http::Refusal client_refused_;  ///< then, if an answer can still reach the client
  bool body_begun_ = false;  ///< a part of the body was read from the client, so a retry is impossible
  bool body_ended_ = false;
  bool held_back_ = false;  ///< the client's body waits for the upstream
  bool sent_ = false;       ///< an upstream may have got the request
  bool answer_begun_ = false;
  bool answer_ended_ = false;
  bool paused_ = false;  ///< the answer waits for the client
  wire::http::ResponseParser parser_;
  wire::http::ResponseHead answer_;
  wire::http::BodyDecoder decoder_;
};

}  // namespace weir::gateway
