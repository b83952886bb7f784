#include "net/http_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "net/http_pool.h"

namespace weir::net {
namespace {

using Kind = Failure::Kind;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Answered = std::variant<HttpAnswer, HttpFailure>;

/// "Application/JSON; charset=utf-8" as "application/json".
std::string media_type(std::string_view value) {
  std::string type(value.substr(0, value.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

/// One request in flight.
class Asked final : public HttpCall {
 public:
  Asked(const HttpRequest& request, milliseconds timeout, Steady::time_point ends)
      : request_(request), timeout_(timeout), ends_(ends) {
    method = request.method;
    target = request.target;
    fields = request.fields;
    large_body = request.body;
    within = at_most(timeout);
  }
  void on_reply(const HttpReply& reply) override {
    const auto field = [&](std::string_view name) { return reply.fields.find(name).value_or(""); };
    answered = HttpAnswer{.status = reply.status,
                          .reason = std::string(reply.reason),
                          .content_type = media_type(field("content-type")),
                          .location = std::string(field("location")),
                          .server = std::string(field("server")),
                          .wanted_field = std::string(field(request_.wanted_field)),
                          .body = std::string(reply.body)};
  }
  void on_failure(const HttpFailure& failure) override { answered = failure; }
  std::optional<milliseconds> on_sent(std::size_t left) override {
    if (request_.progress && !large_body.empty()) request_.progress(large_body.size() - left);
    // Each byte that is sent restarts the timeout.
    return at_most(left == 0 ? timeout_ + request_.extra_patience : timeout_);
  }

  std::optional<Answered> answered;

 private:
  /// The timeout of a step, as far as the request has that long.
  milliseconds at_most(milliseconds time) const {
    if (ends_ == Steady::time_point::max()) return time;
    return std::clamp(std::chrono::ceil<milliseconds>(ends_ - Steady::now()), milliseconds(1), time);
  }

  const HttpRequest& request_;
  const milliseconds timeout_;
  const Steady::time_point ends_;
};

}  // namespace

HttpClient::HttpClient(HttpClientOptions options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

std::variant<HttpAnswer, HttpFailure> HttpClient::ask(const HttpRequest& request) {
  const bool has_end = request.within.count() > 0;
  const auto ends = has_end ? Steady::now() + request.within : Steady::time_point::max();
  auto answered = ask_once(request, ends);
  const auto* const failure = std::get_if<HttpFailure>(&answered);
  if (failure == nullptr || failure->kind != Kind::lost) return answered;
  // Retried only if nothing was sent or the request is idempotent.
  if (failure->sent && !request.repeatable) return answered;
  return ask_once(request, ends);
}

std::variant<HttpAnswer, HttpFailure> HttpClient::ask_once(const HttpRequest& request,
                                                           Steady::time_point ends) {
  if (pool_ == nullptr) {
    auto made = HttpPool::make({.host = options_.host,
                                .port = options_.port,
                                .tls = options_.tls,
                                .ca_file = options_.ca_file,
                                .most_connections = 1,
                                .connect_within = options_.timeout,
                                .idle_for = std::chrono::hours(24),
                                .largest_body = options_.largest_body,
                                .limits = options_.limits});
    if (!made) return HttpFailure{Kind::tls, made.error().message};
    pool_ = *std::move(made);
  }
  // The server may have closed the connection meanwhile.
  pool_->loop().turn(Loop::Wait::not_at_all);
  Asked asked(request, options_.timeout, ends);
  pool_->send(asked);
  while (!asked.answered) pool_->loop().turn();
  return *std::move(asked.answered);
}

}  // namespace weir::net
