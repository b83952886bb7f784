// Passes the upstream's answer to the client.
#include "base/text.h"
#include "gateway/gateway.h"
#include "gateway/proxied_request.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using net::Sending;
using wire::http::Framing;
using wire::http::Method;
using wire::http::Progress;

/// The idle timeout of a tunnel; tunnels in use send something more often.
constexpr std::chrono::hours longest_tunnel_silence{1};

}  // namespace

void ProxiedRequest::on_input() {
  switch (stage_) {
    case Stage::asking:
      if (read_head()) start_answer();
      return;
    case Stage::answering:
      return pump();
    case Stage::tunnel:
      return pump_tunnel();
    case Stage::draining:
      return drain();
    default:
      return;
  }
}

/// True once the head of the final answer has arrived. False if more input is needed or the request has
/// ended.
bool ProxiedRequest::read_head() {
  do {
    if (paused_) return false;
    wire::Buffer& in = upstream_->input();
    if (in.empty()) return false;
    switch (parser_.parse(in.view(), request().method(), answer_)) {
      case Progress::need_more:
        return false;
      case Progress::failed:
        malformed(parser_.refusal().reason);
        return false;
      case Progress::complete:
        break;
    }
    if (!answer_.interim()) return true;
  } while (pass_interim());
  return false;
}

/// False if the request may have ended.
bool ProxiedRequest::pass_interim() {
  const int status = answer_.status();
  bool room = true;
  if (status != 100) {
    wire::Buffer& fields = worker_.scratch();
    write_answer_fields(fields, answer_);
    room = exchange_.interim(status, fields.view());
  }
  upstream_->input().consume(parser_.size());
  parser_.clear();
  if (!room) {
    pause_answer();
    return false;
  }
  if (status == 100 && awaits_ == Awaits::go_ahead) {
    awaits_ = Awaits::answer;
    upstream_->allow_silence(std::nullopt);
    // May deliver the body at once, and so end this request.
    UpstreamConnection* const before = upstream_;
    exchange_.read();
    return upstream_ == before && stage_ == Stage::asking;
  }
  return true;
}

void ProxiedRequest::start_answer() {
  choices_->counts->upstream.add(Steady::now() - forwarded_, false);
  upstream_->pool().succeeded();
  if (answer_.status() == 101) return start_tunnel();
  awaits_ = Awaits::answer;
  stage_ = Stage::answering;
  answer_begun_ = true;
  if (calls_) {
    llm_->drop_body();
    start_model_answer();
  }
  wire::Buffer& fields = worker_.scratch();
  const AnswerFields found = write_answer_fields(fields, answer_, {.without_vendor_limits = calls_});
  fields.append(rate_fields_);
  const Framing body = answer_.body();
  net::AnswerHead head{
      .status = answer_.status(), .fields = fields.view(), .length = answer_.length(), .dated = found.dated};
  if (body.kind == Framing::Kind::none && request().method() != Method::head) head.length = 0;
  const bool unknown = body.kind == Framing::Kind::chunked || body.kind == Framing::Kind::until_close;
  if (unknown || (calls_ && llm_->shortens_answer())) head.length.reset();
  wire::Buffer& in = upstream_->input();
  in.consume(parser_.size());
  decoder_.start(body, ~std::uint64_t{0} >> 1U);
  upstream_->allow_silence(route_->settings.timeout);
  exchange_.start(head, in.empty() && !decoder_.complete() ? Sending::now : Sending::with_next);
  pump();
}

/// Passes on the body received so far, as far as the client takes it.
void ProxiedRequest::pump() {
  if (paused_) return;
  wire::Buffer& in = upstream_->input();
  bool unsent = false;
  while (true) {
    const auto step = decoder_.decode(in.view());
    if (step.progress == Progress::failed) {
      choices_->counts->troubles[static_cast<std::size_t>(Trouble::malformed)].add(1, false);
      return break_off();
    }
    const bool complete = step.progress == Progress::complete;
    const bool more = complete || in.size() > step.consumed;
    bool room = true;
    if (!step.data.empty()) {
      const Sending sending = more ? Sending::with_next : Sending::now;
      room = calls_ ? pass_answer(step.data, sending) : exchange_.write(step.data, sending);
      unsent = more;
    }
    in.consume(step.consumed);
    if (complete) return finish_answer();
    if (calls_ && call_lease_ && call_lease_->exhausted()) return end_exhausted();
    if (!room) return pause_answer();
    if (step.consumed == 0) break;
  }
  if (unsent) exchange_.write({}, Sending::now);
}

/// The client does not take more of the answer for now.
void ProxiedRequest::pause_answer() {
  paused_ = true;
  upstream_->want_input(false);
  upstream_->allow_silence(std::nullopt);
}

void ProxiedRequest::on_writable() {
  if (!paused_ || upstream_ == nullptr) return;
  paused_ = false;
  upstream_->want_input(true);
  upstream_->allow_silence(stage_ == Stage::tunnel ? longest_tunnel_silence : route_->settings.timeout);
  on_input();
}

void ProxiedRequest::start_tunnel() {
  const auto protocol = answer_.fields().find("upgrade");
  if (!protocol || !wire::http::list_has(upgrade_, *protocol))
    return malformed("an upgrade that was not asked for");
  wire::Buffer& fields = worker_.scratch();
  const AnswerFields found = write_answer_fields(fields, answer_, {.for_upgrade = true});
  fields.append(rate_fields_);
  stage_ = Stage::tunnel;
  body_ended_ = false;
  upstream_->input().consume(parser_.size());
  upstream_->allow_silence(longest_tunnel_silence);
  exchange_.start({.status = 101, .fields = fields.view(), .length = {}, .dated = found.dated});
  pump_tunnel();
  if (stage_ == Stage::tunnel && upstream_ != nullptr) exchange_.read();
}

void ProxiedRequest::pump_tunnel() {
  wire::Buffer& in = upstream_->input();
  if (paused_ || in.empty()) return;
  const bool room = exchange_.write(in.view());
  in.clear();
  if (room) return;
  paused_ = true;
  upstream_->want_input(false);
}

/// The whole answer has been passed on.
void ProxiedRequest::finish_answer() {
  answer_ended_ = true;
  if (calls_)
    llm_->finish_answer([this](std::string_view bytes) { exchange_.write(bytes, Sending::with_next); });
  settle_accounts(answer_.status(), decoder_.received());
  wire::Buffer& trailers = worker_.scratch();
  if (stage_ == Stage::answering && !decoder_.trailers().empty() && takes_trailers(request()))
    write_trailers(trailers, decoder_.trailers());
  const bool reusable = stage_ == Stage::answering && body_ended_ && answer_.keep_alive() &&
                        !upstream_->has_unsent() && upstream_->input().empty();
  let_go(reusable);
  exchange_.finish(trailers.view());
  finish();
}

/// The rest of the answer will not come: cuts the connection, so that the client sees an incomplete answer.
void ProxiedRequest::break_off() {
  settle_accounts(answer_.status(), decoder_.received());
  let_go(false);
  exchange_.abort();
  finish();
}

/// The upstream's bytes are no valid answer.
void ProxiedRequest::malformed(std::string_view why) {
  choices_->counts->troubles[static_cast<std::size_t>(Trouble::malformed)].add(1, false);
  upstream_->pool().failed();
  let_go(false);
  fail(502, "upstream-malformed",
       base::join("the server behind the gateway sent what is no HTTP answer: ", why));
}

}  // namespace weir::gateway
