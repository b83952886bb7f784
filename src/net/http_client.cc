#include "net/http_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "net/dial.h"
#include "net/http_connection.h"

namespace weir::net {
namespace {

using Kind = Failure::Kind;
using std::chrono::milliseconds;
using Answered = std::variant<HttpAnswer, HttpFailure>;

/// "Application/JSON; charset=utf-8" as "application/json".
std::string media_type(std::string_view value) {
  std::string type(value.substr(0, value.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

/// One request on its way.
class Asked final : public HttpCall {
 public:
  Asked(const HttpRequest& request, HttpConnection& connection, milliseconds timeout)
      : request_(request), connection_(connection), timeout_(timeout) {
    method = request.method;
    target = request.target;
    fields = request.fields;
  }
  void on_reply(const HttpReply& reply) override {
    const auto field = [&](std::string_view name) { return reply.fields.find(name).value_or(""); };
    answered = HttpAnswer{.status = reply.status,
                          .reason = std::string(reply.reason),
                          .content_type = media_type(field("content-type")),
                          .location = std::string(field("location")),
                          .server = std::string(field("server")),
                          .body = std::string(reply.body)};
  }
  void on_failure(const HttpFailure& failure) override { answered = failure; }
  void on_sent(std::size_t left) override {
    // As long as something moves, the time for it begins anew.
    connection_.allow(timeout_ + (left == 0 ? request_.extra_patience : milliseconds(0)));
    if (request_.progress) request_.progress(request_.body.size() - left);
  }

  std::optional<Answered> answered;

 private:
  const HttpRequest& request_;
  HttpConnection& connection_;
  const milliseconds timeout_;
};

}  // namespace

/// A loop that turns while somebody waits, and the connection on it.
class HttpClient::Inside final : public HttpConnection::Owner {
 public:
  explicit Inside(const HttpClientOptions& options)
      : timeout_(options.timeout),
        ca_file_(options.ca_file),
        options_{.host = options.host,
                 .port = options.port,
                 .tls = options.tls,
                 .idle_for = std::chrono::hours(24),
                 .largest_body = options.largest_body,
                 .limits = options.limits} {}

  Answered ask(const HttpRequest& request) {
    // The server may have closed it meanwhile.
    loop_.turn(Loop::Wait::not_at_all);
    if (connection_ == nullptr) {
      if (auto failed = open()) return *std::move(failed);
    }
    Asked asked(request, *connection_, timeout_);
    connection_->carry(asked, request.body, timeout_ + request.extra_patience);
    while (!asked.answered) loop_.turn();
    return *std::move(asked.answered);
  }

 private:
  std::optional<Failure> open() {
    const auto began = std::chrono::steady_clock::now();
    TlsContext tls;
    if (options_.tls) {
      auto loaded = load_client_tls({.authorities = ca_file_, .http = true});
      if (!loaded) return Failure{Kind::tls, loaded.error().message};
      tls = *std::move(loaded);
    }
    auto found = find_addresses(options_.host, options_.port, timeout_);
    if (auto* const failure = std::get_if<Failure>(&found)) return std::move(*failure);
    loop_.turn(Loop::Wait::not_at_all);
    failed_.reset();
    connection_ = std::make_unique<HttpConnection>(loop_, options_, *this);
    const auto left =
        timeout_ - std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
    connection_->connect(std::get<std::vector<Address>>(std::move(found)), tls, left);
    while (connection_ != nullptr && !connection_->is_free()) loop_.turn();
    if (connection_ == nullptr && !failed_) return Failure{Kind::lost, "the connection was cut"};
    return failed_;
  }

  void on_free(HttpConnection& /*connection*/) override {}
  void on_closed(HttpConnection& /*connection*/, const std::optional<Failure>& failure) override {
    failed_ = failure;
    loop_.retire(std::move(connection_));
  }
  void on_reply(HttpCall& call, const HttpReply& reply) override { call.on_reply(reply); }
  void on_failure(HttpCall& call, const Failure& failure) override { call.on_failure(failure); }

  const milliseconds timeout_;
  const std::string ca_file_;
  const HttpPoolOptions options_;
  Loop loop_{milliseconds(1)};
  std::unique_ptr<HttpConnection> connection_;
  std::optional<Failure> failed_;  ///< to connect
};

HttpClient::HttpClient(HttpClientOptions options) : inside_(std::make_unique<Inside>(options)) {}
HttpClient::~HttpClient() = default;

std::variant<HttpAnswer, HttpFailure> HttpClient::ask(const HttpRequest& request) {
  auto answered = inside_->ask(request);
  const auto* const failure = std::get_if<HttpFailure>(&answered);
  if (failure == nullptr || failure->kind != Kind::lost) return answered;
  // Nothing left, or nothing changes by asking again.
  if (failure->sent && !request.repeatable) return answered;
  return inside_->ask(request);
}

}  // namespace weir::net
