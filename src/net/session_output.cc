// The output side of a session: from exchanges to bytes, in the order of requests.
#include "net/session.h"
#include "net/worker.h"
#include "wire/http_write.h"

namespace weir::net {
namespace {

using wire::http::Framing;

}  // namespace

/// The buffer for the bytes of an answer: the output if all earlier answers are complete, else `held`.
wire::Buffer& Session::output_of(ExchangeState& state) {
  if (first_ != &state) return state.held;
  if (out_.capacity() == 0) out_ = worker_.take_buffer();
  return out_;
}

/// Whether another request may follow the answer to this one.
bool Session::keeps_alive(const ExchangeState& state) const {
  if (!state.keep_alive) return false;
  const bool nothing_follows = &state == last_ && in_.size() == message_start_;
  return !(nothing_follows && (draining_ || ended_));
}

void Session::answer(ExchangeState& state, const Answer& answer) {
  if (state.started) return abort(state);
  if (!gone_) {
    // If a part of its body is unread, the start of the next request is unknown.
    state.keep_alive = stream_ != &state && keeps_alive(state);
    write_answer(output_of(state), state, state.keep_alive, answer);
  }
  end(state);
}

void Session::finished_elsewhere(ExchangeState& state) {
  if (!gone_) output_of(state).append(state.made_elsewhere.view());
  end(state);
}

void Session::answer_refusal(ExchangeState& state, const wire::http::Refusal& refusal) {
  wire::Buffer fields;
  wire::Buffer body;
  worker_.handler().describe(refusal, fields, body);
  answer(state, {refusal.status, fields.view(), body.view()});
}

void Session::give_up(ExchangeState& state) {
  if (gone_) return end(state);
  if (state.started) return abort(state);
  answer_refusal(state, unanswered);
}

/// The handler has released the exchange.
void Session::end(ExchangeState& state) {
  state.finished = true;
  if (stream_ == &state) {
    // The rest of its body will not be read.
    stream_ = nullptr;
    state.keep_alive = false;
  }
  // No request follows an answer that closes the connection.
  if (!state.keep_alive) phase_ = Phase::closed;
  advance();
  wake();
}

/// Moves answers to the output, in order, as far as they are complete.
void Session::advance() {
  if (telling_) return;
  while (first_ != nullptr && first_->finished) {
    ExchangeState* done = first_;
    first_ = done->next;
    if (first_ == nullptr) last_ = nullptr;
    --exchanges_;
    if (!done->keep_alive) stop_reading();
    worker_.give_back(done);
    if (first_ != nullptr && !gone_ && !first_->held.empty()) {
      output_of(*first_).append(first_->held.view());
      first_->held.clear();
    }
  }
  if (first_ == nullptr && phase_ == Phase::body && current_->owes_continue) tell_to_continue(*current_);
}

void Session::tell_to_continue(ExchangeState& state) {
  state.owes_continue = false;
  if (out_.capacity() == 0) out_ = worker_.take_buffer();
  wire::http::write_interim(out_, 100);
}

/// Sends the output of an exchange. It gets no callback meanwhile: it could end in the callback, while one of
/// its members is still on the stack. Only the first exchange has output, so no other waits for a callback.
void Session::send(const ExchangeState& state) {
  if (processing_ || first_ != &state) return;
  processing_ = true;
  shell_.wake();
  processing_ = false;
}

/// Continues with input that waited for an answer, unless received() is about to do so.
void Session::wake() {
  if (processing_ || telling_) return;
  process();
  shell_.wake();
}

void Session::sent(std::size_t count) {
  out_.consume(count);
  if (out_.empty()) worker_.give_back(std::move(out_));
  if (processing_) return;
  const bool relieved = out_.size() <= worker_.options().max_unsent / 2;
  if (relieved && first_ != nullptr && first_->waits_for_room) {
    first_->waits_for_room = false;
    if (first_->observer != nullptr) first_->observer->on_writable();
  }
  if (relieved && phase_ != Phase::closed && !unparsed().empty()) process();
}

void Session::read(ExchangeState& state) {
  if (stream_ != &state) return;
  state.wants_body = true;
  if (state.owes_continue) {
    // A client that has already sent the body does not wait for 100, and inside an answer it would be data.
    if (unparsed().empty() && !state.started) tell_to_continue(state);
    state.owes_continue = false;
  }
  wake();
}

bool Session::interim(ExchangeState& state, int status, std::string_view fields) {
  if (gone_ || state.started || state.head.version() == wire::http::Version::http_1_0) return true;
  wire::http::write_interim(output_of(state), status, fields);
  send(state);
  return has_room(state);
}

/// Whether more may be written; if not, the observer is called once it may.
bool Session::has_room(ExchangeState& state) {
  const bool full = (first_ == &state ? out_ : state.held).size() >= worker_.options().max_unsent;
  state.waits_for_room = full;
  return !full;
}

void Session::start(ExchangeState& state, const AnswerHead& head, Sending sending) {
  state.started = true;
  if (gone_) return;
  if (head.status == 101) start_tunnel(state);
  state.keep_alive = keeps_alive(state);
  Framing framing;
  if (head.status == 101) {
    state.answer = {Framing::Kind::until_close};
  } else if (wire::http::is_bodiless(head.status)) {
    state.answer = {};
  } else {
    if (head.length) {
      framing = {Framing::Kind::length, *head.length};
    } else if (state.head.version() == wire::http::Version::http_1_1) {
      framing = {Framing::Kind::chunked};
    } else {
      framing = {Framing::Kind::until_close};
      state.keep_alive = false;
    }
    state.answer = state.head.method() == wire::http::Method::head ? Framing{} : framing;
  }
  if (!state.keep_alive && phase_ == Phase::head) phase_ = Phase::closed;
  state.answer_left = state.answer.length;
  write_answer_head(output_of(state), state, state.keep_alive, framing, head.status, head.fields, head.dated);
  if (sending == Sending::now) send(state);
}

/// From here on the connection carries opaque bytes in both directions.
void Session::start_tunnel(ExchangeState& state) {
  // A request that offers an upgrade is the only exchange, and no byte after it has been parsed. In the
  // middle of its body the begin of the tunnel is not known.
  if (phase_ == Phase::closed || stream_ != nullptr || &state != first_ || &state != last_ ||
      !state.head.upgrade()) {
    return shell_.cut();
  }
  state.keep_alive = false;
  stream_ = &state;
  tunnel_ = true;
  phase_ = Phase::stream;
  body_start_ = parsed_ = message_start_;
  decoder_.start({Framing::Kind::until_close}, ~std::uint64_t{0});
}

bool Session::write(ExchangeState& state, std::string_view data, Sending sending) {
  if (gone_) return false;
  wire::Buffer& out = output_of(state);
  switch (state.answer.kind) {
    case Framing::Kind::none:
      return true;
    case Framing::Kind::chunked:
      wire::http::write_chunk(out, data);
      break;
    case Framing::Kind::until_close:
      out.append(data);
      break;
    case Framing::Kind::length:
      // Bytes beyond the promised length would be parsed as the next answer.
      if (data.size() > state.answer_left) data = data.substr(0, state.answer_left);
      state.answer_left -= data.size();
      out.append(data);
      break;
  }
  if (sending == Sending::now) send(state);
  return has_room(state);
}

void Session::finish(ExchangeState& state, std::string_view trailers) {
  if (!state.started || state.answer_left != 0) return abort(state);
  if (!gone_ && state.answer.kind == Framing::Kind::chunked) {
    wire::http::write_last_chunk(output_of(state), trailers);
  }
  end(state);
}

void Session::abort(ExchangeState& state) {
  state.keep_alive = false;
  if (!gone_) shell_.cut();
  end(state);
}

void Session::gone() {
  if (gone_) return;
  gone_ = true;
  stream_ = nullptr;
  stop_reading();
  worker_.give_back(std::move(out_));
  tell([](ExchangeObserver& observer) { observer.on_gone({0, "the client is gone"}); });
  keep_only_unread();
}

}  // namespace weir::net
