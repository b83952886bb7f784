#include "net/http_connection.h"

#include <utility>

#include "net/http_pool.h"
#include "wire/http_write.h"
#include "wire/url.h"

namespace weir::net {
namespace {

using std::chrono::milliseconds;
using wire::http::Method;
using wire::http::Progress;

/// A larger buffer is not kept for the next answer.
constexpr std::size_t largest_kept = std::size_t{128} * 1024;

std::string_view name_of(Method method) {
  switch (method) {
    case Method::head:
      return "HEAD";
    case Method::post:
      return "POST";
    case Method::put:
      return "PUT";
    case Method::delete_:
      return "DELETE";
    case Method::patch:
      return "PATCH";
    default:
      return "GET";
  }
}

}  // namespace

HttpConnection::HttpConnection(HttpPool& pool)
    : pool_(pool),
      options_(pool.options()),
      link_(pool.loop()),
      parser_(options_.limits),
      decoder_(options_.limits) {}

void HttpConnection::connect(std::vector<Address> addresses, const TlsContext& tls) {
  if (!link_.connect(*this, {std::move(addresses), tls, options_.host}, options_.connect_within))
    close(link_.failure());
}

void HttpConnection::on_open() {
  was_made_ = true;
  // The server may close an idle connection.
  link_.rest(*this, options_.idle_for);
  pool_.on_free(*this);
}

void HttpConnection::carry(HttpCall& call, milliseconds within) {
  call_ = &call;
  in_body_ = false;
  parser_.clear();
  body_.clear();
  link_.use(*this);
  link_.finish_within(within);
  wire::Buffer& out = link_.output();
  wire::http::write_request_line(out, name_of(call.method), call.target);
  wire::http::write_field(out, "Host", wire::authority_of({options_.host, options_.port}, options_.tls));
  out.append(call.fields);
  body_left_ = call.large_body.empty() ? std::string_view(call.body) : call.large_body;
  if (!body_left_.empty() || call.method == Method::post || call.method == Method::put)
    wire::http::write_field(out, "Content-Length", std::uint64_t{body_left_.size()});
  out.append("\r\n");
  send_body();
}

/// Gives the link as much of the body as it takes without congestion.
void HttpConnection::send_body() {
  do {
    const std::string_view part = body_left_.substr(0, Outbound::most_unsent);
    body_left_.remove_prefix(part.size());
    link_.output().append(part);
    link_.flush();
    if (const auto within = call_->on_sent(body_left_.size())) link_.finish_within(*within);
  } while (!body_left_.empty() && !link_.congested());
}

void HttpConnection::on_input() {
  if (in_body_ || take_head()) take_body();
}

bool HttpConnection::take_head() {
  wire::Buffer& in = link_.input();
  for (;;) {
    const Progress progress = parser_.parse(in.view(), call_->method, head_);
    if (progress == Progress::need_more) return false;
    if (progress == Progress::failed)
      return fail(Kind::not_http, std::string(parser_.refusal().reason)), false;
    const bool interim = head_.interim();
    if (!interim) {
      // The buffer is reused for the body, so the head is copied.
      head_text_.assign(in.view().substr(0, parser_.size()));
      head_.rebase(head_text_.data());
    }
    in.consume(parser_.size());
    parser_.clear();
    if (interim) continue;
    decoder_.start(head_.body(), options_.largest_body);
    in_body_ = true;
    return true;
  }
}

void HttpConnection::take_body() {
  wire::Buffer& in = link_.input();
  for (;;) {
    if (decoder_.complete()) return answered();
    const auto step = decoder_.decode(in.view());
    body_ += step.data;
    in.consume(step.consumed);
    if (step.progress == Progress::complete) return answered();
    if (step.progress == Progress::failed) {
      const bool large = decoder_.refusal().status == 413;
      return fail(large ? Kind::too_large : Kind::not_http, std::string(decoder_.refusal().reason));
    }
    if (step.consumed == 0) return;
  }
}

void HttpConnection::on_end() {
  ended_ = true;
  if (in_body_ && decoder_.end_of_input()) return answered();
  if (!in_body_ && !link_.input().empty())
    return fail(Kind::not_http, "what came ends before the head of an answer does");
  fail(Kind::lost, "the connection was cut");
}

void HttpConnection::on_failed(Outbound& /*connection*/, const Failure& why) {
  // A body that ends with the connection may also end with a reset.
  if (call_ != nullptr && why.kind == Kind::lost) return on_end();
  close(why);
}

void HttpConnection::on_late() {
  const bool sending = !body_left_.empty() || link_.has_unsent();
  fail(Kind::slow, sending    ? "it takes nothing more of what is sent"
                   : in_body_ ? "the answer did not end in time"
                              : "no answer in time");
}

void HttpConnection::answered() {
  // A server may answer before it has read the whole request; no request can follow one that was cut short.
  // If it sends more than the answer, the start of the next answer is unknown.
  const bool goes_on =
      head_.keep_alive() && !ended_ && link_.input().empty() && body_left_.empty() && !link_.has_unsent();
  HttpCall& call = *std::exchange(call_, nullptr);
  pool_.on_reply(call, {head_.status(), head_.reason(), head_.fields(), body_});
  if (body_.capacity() > largest_kept) body_ = std::string();
  if (!goes_on) return close({Kind::lost, "the server closes the connection"});
  link_.rest(*this, options_.idle_for);
  pool_.on_free(*this);
}

void HttpConnection::close(const Failure& failure) {
  if (closed_) return;
  closed_ = true;
  Failure reported = failure;
  reported.sent = link_.sent() > 0;
  link_.close();
  HttpCall* const call = std::exchange(call_, nullptr);
  pool_.on_closed(*this, was_made_ ? std::nullopt : std::optional(failure));
  if (call != nullptr) pool_.on_failure(*call, reported);
}

}  // namespace weir::net
