// Passes a request to an upstream.
#include <algorithm>

#include "gateway/gateway.h"
#include "gateway/proxied_request.h"
#include "wire/http_write.h"

namespace weir::gateway {
namespace {

using std::chrono::milliseconds;
using wire::http::Framing;
using wire::http::Method;

constexpr milliseconds longest_connect{5'000};
/// How long the head waits for the first part of the body, so that both leave together.
constexpr milliseconds waits_for_body{50};
/// How long a body waits for a 100 from the upstream, which may never send one.
constexpr milliseconds waits_for_go_ahead{1'000};

/// Whether the method is idempotent (RFC 9110, 9.2.2).
bool is_idempotent(Method method) {
  return method != Method::post && method != Method::patch && method != Method::other &&
         method != Method::connect;
}

}  // namespace

void ProxiedRequest::forward() {
  stage_ = Stage::asking;
  attempts_ = 0;
  body_ended_ = body_ended_ || request().body().kind == Framing::Kind::none;
  try_upstreams();
}

/// The most attempts: each upstream once with each of its addresses, and once more for a stale connection.
std::size_t ProxiedRequest::most_attempts() const {
  constexpr std::size_t most = 16;
  std::size_t worth = 1;
  for (const auto& pool : choices_->pools) worth += std::max<std::size_t>(pool->address_count(), 1);
  return std::min(worth, most);
}

/// Tries one upstream after the other until one is connected or connecting.
void ProxiedRequest::try_upstreams() {
  while (attempts_ == 0 || attempts_ < most_attempts()) {
    if (attempts_++ > 0) choices_->counts->retries.add(1, false);
    if (reach(choices_->choose())) {
      parser_.clear();
      return send_head();
    }
    choices_->counts->troubles[static_cast<std::size_t>(Trouble::unreachable)].add(1, false);
  }
  if (last_trouble_ == Broken::slow)
    return fail(504, "upstream-timeout", "the server behind the gateway does not answer");
  const bool known = std::any_of(choices_->pools.begin(), choices_->pools.end(),
                                 [](const auto& pool) { return pool->address_count() > 0; });
  if (!known) return fail(503, "no-upstream", "no server behind the gateway is known for this route");
  fail(502, "upstream-unreachable", "the server behind the gateway cannot be reached");
}

bool ProxiedRequest::reach(Pool& pool) {
  upstream_ = pool.take(*this);
  // A request that is not idempotent cannot be retried, so a stale connection is worth a check.
  while (upstream_ != nullptr && !is_idempotent(request().method()) && !upstream_->looks_alive()) {
    pool.drop(*upstream_);
    upstream_ = pool.take(*this);
  }
  if (upstream_ == nullptr)
    upstream_ = pool.connect(*this, std::min(longest_connect, route_->settings.timeout));
  return upstream_ != nullptr;
}

/// The host that the client asked for. A route for one host has its spelling: an upstream might take another
/// one ("Example.com.") for another host, whose paths have other limits.
std::string_view ProxiedRequest::host_asked() {
  const std::string_view sent = request().host();
  const std::string& name = route_->settings.host;
  if (name.empty()) [[likely]]
    return sent;
  const std::size_t bracket = sent.rfind(']');
  const std::size_t port = sent.find(':', bracket == std::string_view::npos ? 0 : bracket);
  host_ = name;
  if (port != std::string_view::npos && port + 1 < sent.size()) host_ += sent.substr(port);
  return host_;
}

std::string_view ProxiedRequest::host_told(std::string_view asked) const {
  const HostField& field = route_->settings.upstream_host;
  if (field.kind == HostField::Kind::client) return asked;
  return field.kind == HostField::Kind::name ? field.name : upstream_->pool().server().authority();
}

void ProxiedRequest::send_head() {
  const net::Address& peer = exchange_.peer();
  const Sender sender{worker_.text_of(peer), plain(peer).v6, origin_.trusted, exchange_.tls(), host_asked()};
  write_upstream_head(upstream_->output(), request(), sender,
                      {.path = forwarded_path_,
                       .host = host_told(sender.host),
                       .upgrade = upgrade_,
                       .limit_by = route_->settings.limit_by.header,
                       .model_call = calls_ ? llm_->upstream_head() : ModelCallHead()});
  awaits_ = Awaits::answer;
  if (calls_ && send_read_body()) return;
  if (body_ended_) {
    upstream_->allow_silence(route_->settings.timeout);
    return upstream_->flush();
  }
  if (request().expects_continue()) {
    awaits_ = Awaits::go_ahead;
    upstream_->allow_silence(waits_for_go_ahead);
    return upstream_->flush();
  }
  if (upstream_->is_open()) return ask_for_body();
  awaits_ = Awaits::connection;
}

void ProxiedRequest::on_open() {
  if (awaits_ == Awaits::connection) ask_for_body();
}

void ProxiedRequest::ask_for_body() {
  awaits_ = Awaits::first_part;
  upstream_->allow_silence(waits_for_body);
  exchange_.read();
}

/// Reads more of the client's body, unless the upstream is congested.
void ProxiedRequest::go_on_reading() {
  if (upstream_->congested()) {
    held_back_ = true;
    return upstream_->allow_silence(route_->settings.timeout);
  }
  // The client is awaited; the server's body timeout applies.
  if (stage_ == Stage::asking) upstream_->allow_silence(std::nullopt);
  exchange_.read();
}

void ProxiedRequest::on_body(std::string_view data, bool end) {
  body_ended_ = body_ended_ || end;
  if (stage_ == Stage::reading) return read_call(data, end);
  if (stage_ == Stage::discarding) return end ? send_now() : exchange_.read();
  body_begun_ = true;
  // The answer is complete, or the upstream is gone: the rest of the body is not needed.
  if (upstream_ == nullptr) return;
  if (calls_ && refuse_rest(data, end)) return;
  const bool first = awaits_ != Awaits::answer;
  awaits_ = Awaits::answer;
  if (request().body().kind == Framing::Kind::chunked && stage_ != Stage::tunnel) {
    wire::Buffer& out = upstream_->output();
    wire::http::write_chunk(out, data);
    if (end) {
      wire::Buffer& trailers = worker_.scratch();
      write_trailers(trailers, exchange_.trailers(), route_->settings.limit_by.header);
      wire::http::write_last_chunk(out, trailers.view());
    }
    upstream_->flush();
  } else if (first) {
    upstream_->output().append(data);
    upstream_->flush();
  } else {
    upstream_->send(data);
  }
  if (calls_) drop_sent_body();
  if (!end) return go_on_reading();
  if (stage_ == Stage::tunnel) return upstream_->end_output();
  if (stage_ == Stage::asking) upstream_->allow_silence(route_->settings.timeout);
}

void ProxiedRequest::on_drained() {
  if (calls_) drop_sent_body();
  if (!held_back_) return;
  held_back_ = false;
  go_on_reading();
}

/// The client is gone, or its body is malformed.
void ProxiedRequest::on_gone(const wire::http::Refusal& why) {
  if (stage_ == Stage::deciding) {
    // The store will still call this request back. Until then the exchange keeps the thread alive.
    client_gone_ = true;
    client_refused_ = why;
    return;
  }
  if (why.status != 0 &&
      (stage_ == Stage::reading || stage_ == Stage::asking || stage_ == Stage::discarding)) {
    if (upstream_ != nullptr) let_go(false);
    body_ended_ = true;
    return fail(why.status, {}, why.reason);
  }
  settle_accounts(client_left, 0);
  if (calls_ && may_drain()) return start_draining();
  finish();
}

bool ProxiedRequest::may_try_again(Broken why) const {
  if (body_begun_) return false;
  if (upstream_->sent() == 0) return true;
  return why != Broken::slow && upstream_->received() == 0 && is_idempotent(request().method());
}

void ProxiedRequest::on_failed(net::Outbound& /*connection*/, const net::Failure& why) {
  using Kind = net::Failure::Kind;
  // The connection is closed, so nothing else is awaited on it.
  awaits_ = Awaits::answer;
  broken(why.kind == Kind::slow ? Broken::slow : why.kind == Kind::lost ? Broken::lost : Broken::refused);
}

void ProxiedRequest::broken(Broken why) {
  if (why == Broken::slow && (awaits_ == Awaits::first_part || awaits_ == Awaits::go_ahead)) {
    // Only the short wait is over, not the timeout.
    const bool go_ahead = std::exchange(awaits_, Awaits::answer) == Awaits::go_ahead;
    if (!go_ahead) upstream_->flush();
    upstream_->allow_silence(std::nullopt);
    return go_ahead ? exchange_.read() : void();
  }
  if (stage_ == Stage::tunnel) {
    if (why != Broken::ended) return break_off();
    return finish_answer();
  }
  if (stage_ == Stage::draining) {
    if (why == Broken::ended && answer_begun_) answer_ended_ = decoder_.end_of_input();
    return finish();
  }
  if (stage_ == Stage::answering) {
    if (why == Broken::ended && decoder_.end_of_input()) return finish_answer();
    choices_->counts
        ->troubles[static_cast<std::size_t>(why == Broken::slow ? Trouble::timeout : Trouble::lost)]
        .add(1, false);
    return break_off();
  }
  give_up_on(why);
}

/// This connection gave no answer; retries on another if possible.
void ProxiedRequest::give_up_on(Broken why) {
  const bool again = may_try_again(why);
  // A kept connection may have been closed by the upstream meanwhile, which is no failure of the upstream.
  const bool stale = upstream_->reused() && upstream_->received() == 0 && why != Broken::slow;
  if (!stale) upstream_->pool().failed();
  last_trouble_ = why;
  const Trouble trouble = why == Broken::slow      ? Trouble::timeout
                          : why == Broken::refused ? Trouble::unreachable
                                                   : Trouble::lost;
  choices_->counts->troubles[static_cast<std::size_t>(trouble)].add(1, false);
  let_go(false);
  if (again) return try_upstreams();
  if (why == Broken::slow)
    return fail(504, "upstream-timeout", "the server behind the gateway does not answer");
  fail(502, "upstream-lost", "the server behind the gateway ended the connection without an answer");
}

void ProxiedRequest::let_go(bool reusable) {
  Pool& pool = upstream_->pool();
  UpstreamConnection& connection = *std::exchange(upstream_, nullptr);
  sent_ = sent_ || connection.sent() > 0;
  if (reusable) return pool.keep(connection);
  pool.drop(connection);
}

}  // namespace weir::gateway
