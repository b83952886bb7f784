#include "net/http_client.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "net/dial.h"
#include "net/http_pool.h"
#include "net/transport.h"
#include "wire/buffer.h"
#include "wire/http_body.h"
#include "wire/http_response.h"
#include "wire/http_write.h"
#include "wire/url.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;
using Status = Transport::Status;
using wire::http::Method;
using wire::http::Progress;

/// "Application/JSON; charset=utf-8" as "application/json".
std::string media_type(std::string_view value) {
  std::string type(value.substr(0, value.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

}  // namespace

/// One connection, and what has arrived on it.
class HttpClient::Connection {
 public:
  using Failed = std::optional<HttpFailure>;

  explicit Connection(const HttpClientOptions& options) : options_(options), transport_(-1) {}
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Failed open() {
    auto dialled = dial(options_.host, options_.port, options_.timeout);
    if (auto* const failure = std::get_if<HttpFailure>(&dialled)) return *failure;
    socket_ = std::get<int>(dialled);
    transport_ = Transport(socket_);
    return options_.tls ? start_tls() : std::nullopt;
  }

  /// Whether the server has neither closed it nor said anything that nobody asked for.
  bool usable() const {
    pollfd wanted{socket_, POLLIN, 0};
    return keep_alive_ && arrived_.empty() && !transport_.has_pending() && ::poll(&wanted, 1, 0) == 0;
  }

  Failed send(const HttpRequest& request) {
    wire::Buffer head;
    wire::http::write_request_line(head, name_of(request.method), request.target);
    wire::http::write_field(head, "Host", wire::authority_of({options_.host, options_.port}, options_.tls));
    head.append(request.fields);
    if (!request.body.empty() || request.method == Method::post || request.method == Method::put)
      wire::http::write_field(head, "Content-Length", std::uint64_t{request.body.size()});
    head.append("\r\n");
    // Small bodies leave together with their head.
    constexpr std::size_t small = 16384;
    std::string_view body = request.body;
    if (body.size() <= small) head.append(std::exchange(body, {}));
    if (auto failed = send(head.view(), {})) return failed;
    return send(body, request.progress);
  }

  std::variant<HttpAnswer, HttpFailure> receive(const HttpRequest& request) {
    const Method method = request.method;
    const Deadline deadline(options_.timeout + request.extra_patience);
    wire::http::ResponseParser parser(options_.limits);
    wire::http::ResponseHead head;
    do {
      if (auto failed = receive_head(parser, method, head, deadline)) return *failed;
      if (head.interim()) drop(parser);
    } while (head.interim());
    HttpAnswer answer{.status = head.status(), .reason = std::string(head.reason())};
    answer.content_type = media_type(head.fields().find("content-type").value_or(""));
    answer.location = head.fields().find("location").value_or("");
    answer.server = head.fields().find("server").value_or("");
    keep_alive_ = head.keep_alive() && !cut_short_;
    const auto framing = head.body();
    drop(parser);
    sent_ = 0;
    if (auto failed = receive_body(framing, answer.body, deadline)) return *failed;
    return answer;
  }

 private:
  static HttpFailure lost() { return {Kind::lost, "the connection was cut", true}; }

  Failed start_tls() {
    auto context = load_client_tls({.authorities = options_.ca_file, .http = true});
    if (!context) return HttpFailure{Kind::tls, context.error().message};
    TlsConnection tls = connect_tls(*context, socket_, options_.host);
    if (tls == nullptr) return HttpFailure{Kind::tls, "no memory for it"};
    const ssl_st& shown = *tls;
    transport_ = Transport(socket_, std::move(tls));
    const Deadline deadline(options_.timeout);
    for (;;) {
      const Status status = transport_.handshake().status;
      if (status == Status::done) return std::nullopt;
      if (status == Status::failed || status == Status::ended)
        return HttpFailure{Kind::tls, handshake_problem(shown)};
      if (!wait_for_socket(socket_, status == Status::needs_write, deadline))
        return HttpFailure{Kind::slow, "no secure connection in time"};
    }
  }

  /// Sends all of it. A server that has heard enough answers and hangs up: that is for receive() to see.
  Failed send(std::string_view bytes, const std::function<void(std::size_t)>& progress) {
    const std::size_t all = bytes.size();
    Deadline deadline(options_.timeout);
    while (!bytes.empty()) {
      const auto outcome = transport_.write(bytes);
      if (outcome.status == Status::done) {
        sent_ += outcome.bytes;
        bytes.remove_prefix(outcome.bytes);
        deadline = Deadline(options_.timeout);
        if (progress) progress(all - bytes.size());
        if (!bytes.empty() && answered_early()) return stop_sending();
      } else if (outcome.status == Status::failed || outcome.status == Status::ended) {
        if (sent_ > 0) return stop_sending();
        return HttpFailure{Kind::lost, "the connection was cut", false};
      } else if (!wait_for_socket(socket_, outcome.status == Status::needs_write, deadline)) {
        return HttpFailure{Kind::slow, "it takes nothing more of what is sent", sent_ > 0};
      }
    }
    return std::nullopt;
  }

  /// Whether an answer is there before all was sent. With TLS other things may be.
  bool answered_early() const {
    pollfd wanted{socket_, POLLIN, 0};
    return !transport_.tls() && ::poll(&wanted, 1, 0) > 0;
  }
  Failed stop_sending() {
    cut_short_ = true;
    return std::nullopt;
  }

  enum class More : unsigned char { some, end, late };
  /// Waits for more bytes and puts them behind those that arrived.
  More read_more(const Deadline& deadline) {
    for (;;) {
      arrived_.reserve(16384);
      const auto outcome = transport_.read(arrived_.room());
      if (outcome.status == Status::done) {
        arrived_.commit(outcome.bytes);
        return More::some;
      }
      if (outcome.status == Status::ended || outcome.status == Status::failed) return More::end;
      if (!wait_for_socket(socket_, outcome.status == Status::needs_write, deadline)) return More::late;
    }
  }

  Failed receive_head(wire::http::ResponseParser& parser, Method method, wire::http::ResponseHead& head,
                      const Deadline& deadline) {
    for (;;) {
      const Progress progress = parser.parse(arrived_.view(), method, head);
      if (progress == Progress::complete) return std::nullopt;
      if (progress == Progress::failed)
        return HttpFailure{Kind::not_http, std::string(parser.refusal().reason), true};
      switch (read_more(deadline)) {
        case More::late:
          return HttpFailure{Kind::slow, "no answer in time", true};
        case More::end:
          if (arrived_.empty()) return lost();
          return HttpFailure{Kind::not_http, "what came ends before the head of an answer does", true};
        default:
          break;
      }
    }
  }
  void drop(wire::http::ResponseParser& parser) {
    arrived_.consume(parser.size());
    parser.clear();
  }

  Failed receive_body(wire::http::Framing framing, std::string& body, const Deadline& deadline) {
    if (framing.kind == wire::http::Framing::Kind::none) return std::nullopt;
    if (framing.kind == wire::http::Framing::Kind::length)
      body.reserve(static_cast<std::size_t>(std::min(framing.length, options_.largest_body)));
    wire::http::BodyDecoder decoder(options_.limits);
    decoder.start(framing, options_.largest_body);
    for (;;) {
      const auto step = decoder.decode(arrived_.view());
      body += step.data;
      arrived_.consume(step.consumed);
      if (step.progress == Progress::complete) return std::nullopt;
      if (step.progress == Progress::failed) {
        const bool large = decoder.refusal().status == 413;
        return HttpFailure{large ? Kind::too_large : Kind::not_http, std::string(decoder.refusal().reason),
                           true};
      }
      if (step.consumed > 0) continue;
      const More more = read_more(deadline);
      if (more == More::late) return HttpFailure{Kind::slow, "the answer did not end in time", true};
      if (more == More::end) return decoder.end_of_input() ? std::nullopt : Failed(lost());
    }
  }

  const HttpClientOptions& options_;
  int socket_ = -1;
  Transport transport_;
  wire::Buffer arrived_;
  std::size_t sent_ = 0;  // of the request that is not answered yet
  bool keep_alive_ = false;
  bool cut_short_ = false;  // a request was not sent to its end: nothing can follow it
};

HttpClient::HttpClient(HttpClientOptions options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

std::variant<HttpAnswer, HttpFailure> HttpClient::ask(const HttpRequest& request) {
  auto answered = ask_once(request);
  const auto* const failure = std::get_if<HttpFailure>(&answered);
  if (failure == nullptr || failure->kind != Kind::lost) return answered;
  // Nothing left, or nothing changes by asking again.
  if (failure->sent && !request.repeatable) return answered;
  return ask_once(request);
}

std::variant<HttpAnswer, HttpFailure> HttpClient::ask_once(const HttpRequest& request) {
  if (connection_ == nullptr || !connection_->usable()) {
    connection_ = std::make_unique<Connection>(options_);
    if (auto failed = connection_->open()) {
      connection_.reset();
      return *failed;
    }
  }
  if (auto failed = connection_->send(request)) {
    connection_.reset();
    return *failed;
  }
  auto answered = connection_->receive(request);
  if (std::holds_alternative<HttpFailure>(answered)) connection_.reset();
  return answered;
}

}  // namespace weir::net
