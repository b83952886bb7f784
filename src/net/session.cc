// The input side of a session: from bytes to exchanges.
#include "net/session.h"

#include <cstring>

#include "net/worker.h"
#include "wire/http_write.h"

namespace weir::net {
namespace {

using wire::http::Framing;
using wire::http::Progress;
using wire::http::Refusal;

/// Less room than this is not worth a system call.
constexpr std::size_t least_room = 4096;

constexpr Refusal too_slow{408, "the request took too long to arrive"};
constexpr Refusal cut_short{400, "the request ended in the middle of its body"};

}  // namespace

Session::Session(Worker& worker, SessionShell& shell, const Address& peer, bool tls)
    : worker_(worker),
      shell_(shell),
      peer_(peer),
      parser_(worker.options().limits),
      decoder_(worker.options().limits),
      tls_(tls) {}

Session::~Session() {
  if (current_ != nullptr) worker_.give_back(current_);
  worker_.give_back(std::move(in_));
  worker_.give_back(std::move(out_));
}

/// Whether the bound of requests or of unsent bytes is reached, so that no further request is parsed.
bool Session::at_capacity() const {
  if (exchanges_ == 0) return out_.size() >= worker_.options().max_unsent;
  // The connection may carry other bytes after an upgrade, and may end with an answer to HTTP/1.0.
  return exchanges_ >= worker_.options().max_pipelined || out_.size() >= worker_.options().max_unsent ||
         last_->head.upgrade() || last_->head.version() == wire::http::Version::http_1_0;
}

bool Session::wants_input() const {
  if (ended_ || phase_ == Phase::closed) return false;
  // Back pressure: no more is read while earlier bytes wait to be parsed.
  const bool waits = phase_ == Phase::stream ? !stream_->wants_body : at_capacity();
  if (waits && !unparsed().empty()) return false;
  return phase_ == Phase::stream || !is_full();
}

/// Whether the buffer has no room and cannot grow, since the handler holds exchanges.
bool Session::is_full() const { return first_ != nullptr && in_.capacity() != 0 && !in_.has_room(); }

std::span<char> Session::room() {
  if (!wants_input()) return {};
  if (phase_ == Phase::stream && unparsed().empty()) {
    // The next part overwrites the last one, so that the buffer does not grow with the body.
    in_.truncate(body_start_);
    parsed_ = body_start_;
  }
  if (in_.capacity() == 0) in_ = worker_.take_buffer();
  if (first_ == nullptr && in_.room().size() < least_room) {
    in_.reserve(least_room);
    if (phase_ == Phase::body) current_->head.rebase(in_.data() + message_start_);
  }
  return in_.room();
}

void Session::received(std::size_t count) {
  in_.commit(count);
  process();
}

void Session::received_end() {
  ended_ = true;
  tell([](ExchangeObserver& observer) { observer.on_ended(); });
  process();
}

void Session::process() {
  if (processing_) return;
  processing_ = true;
  while (step()) {
  }
  processing_ = false;
  settle();
}

bool Session::step() {
  switch (phase_) {
    case Phase::head:
      return !at_capacity() && step_head();
    case Phase::body:
      return step_body();
    case Phase::stream:
      return step_stream();
    case Phase::closed:
      return false;
  }
  return false;
}

/// Called once no more of the input can be processed.
void Session::settle() {
  if (phase_ == Phase::head && first_ == nullptr && draining_ && in_.size() == message_start_) {
    stop_reading();
    idle_ = true;
  }
  if (ended_ && phase_ == Phase::body) refuse(cut_short);
  if (ended_ && nothing_will_arrive()) stop_reading();
  keep_only_unread();
}

/// Whether no further request or tunnel can begin, once the client sends no more.
bool Session::nothing_will_arrive() const {
  return phase_ == Phase::head && unparsed().empty() && (last_ == nullptr || !last_->head.upgrade());
}

bool Session::step_head() {
  const std::string_view bytes = in_.view().substr(message_start_);
  if (bytes.empty()) return false;
  if (current_ == nullptr) current_ = worker_.take_state();
  switch (parser_.parse(bytes, current_->head)) {
    case Progress::need_more:
      parsed_ = in_.size();
      return false;
    case Progress::failed:
      current_->head.clear();
      refuse(parser_.refusal());
      return false;
    case Progress::complete:
      break;
  }
  parsed_ = message_start_ + parser_.size();
  current_->keep_alive = current_->head.keep_alive();
  if (current_->head.upgrade() && first_ != nullptr) return postpone();
  if (current_->head.body().kind != Framing::Kind::none) return begin_body();
  body_start_ = body_end_ = parsed_;
  dispatch();
  return true;
}

/// A streamed request, and one that may become a tunnel, needs the buffer alone: it is parsed again when the
/// exchanges before it are done.
bool Session::postpone() {
  parser_.clear();
  parsed_ = message_start_;
  return false;
}

bool Session::begin_body() {
  const BodyPlan plan = worker_.handler().plan(current_->head);
  if (plan.kind == BodyPlan::Kind::refuse) {
    refuse({plan.status, plan.reason});
    return false;
  }
  const bool streams = plan.kind == BodyPlan::Kind::stream;
  if (streams && first_ != nullptr) return postpone();
  decoder_.start(current_->head.body(), plan.largest.value_or(worker_.options().max_body));
  current_->owes_continue = current_->head.expects_continue();
  body_start_ = body_end_ = parsed_;
  if (!streams) {
    phase_ = Phase::body;
    return true;
  }
  phase_ = Phase::stream;
  stream_ = current_;
  dispatch();
  return true;
}

bool Session::step_body() {
  while (true) {
    const auto step = decoder_.decode(unparsed());
    // Chunks are joined in place, so that the body is contiguous.
    if (!step.data.empty()) {
      char* to = in_.data() + body_end_;
      if (to != step.data.data()) std::memmove(to, step.data.data(), step.data.size());
      body_end_ += step.data.size();
    }
    parsed_ += step.consumed;
    if (step.progress == Progress::failed) {
      refuse(decoder_.refusal());
      return false;
    }
    if (step.progress == Progress::complete) break;
    if (step.consumed != 0) continue;
    drop_framing();
    if (current_->owes_continue && first_ == nullptr) tell_to_continue(*current_);
    return false;
  }
  current_->owes_continue = false;
  dispatch();
  return true;
}

/// Removes the framing between the decoded chunks and the unparsed input, so that the buffer grows with the
/// data of a body only.
void Session::drop_framing() {
  if (parsed_ == body_end_) return;
  const std::string_view rest = unparsed();
  if (!rest.empty()) std::memmove(in_.data() + body_end_, rest.data(), rest.size());
  in_.truncate(body_end_ + rest.size());
  parsed_ = body_end_;
}

/// Hands one part of the body to the observer that asked for it. May destroy the state.
bool Session::step_stream() {
  if (!stream_->wants_body) return false;
  auto step = decoder_.decode(unparsed());
  if (step.progress == Progress::failed) {
    body_failed(decoder_.refusal());
    return false;
  }
  if (step.progress == Progress::need_more && step.consumed == 0) {
    if (!ended_) return false;
    if (!decoder_.end_of_input()) {
      body_failed(cut_short);
      return false;
    }
    step.progress = Progress::complete;
  }
  parsed_ += step.consumed;
  ++serial_;
  const bool end = step.progress == Progress::complete;
  if (step.data.empty() && !end) return true;
  ExchangeState& state = *stream_;
  state.wants_body = false;
  if (end) {
    stream_ = nullptr;
    next_message();
    if (!state.keep_alive) phase_ = Phase::closed;
  }
  if (state.observer != nullptr) state.observer->on_body(step.data, end);
  return true;
}

void Session::next_message() {
  message_start_ = parsed_;
  parser_.clear();
  phase_ = Phase::head;
  ++serial_;
}

void Session::enqueue(ExchangeState& state) {
  state.session = this;
  state.worker = &worker_;
  if (last_ == nullptr) {
    first_ = &state;
  } else {
    last_->next = &state;
  }
  last_ = &state;
  ++exchanges_;
}

/// Gives the current request to the handler.
void Session::dispatch() {
  ExchangeState& state = *std::exchange(current_, nullptr);
  enqueue(state);
  if (first_ == &state && (phase_ == Phase::stream || state.head.upgrade())) {
    // Further input is read while the handler holds the exchange, and meanwhile the buffer cannot grow.
    in_.reserve(least_room);
    state.head.rebase(in_.data() + message_start_);
  }
  state.body = in_.view().substr(body_start_, body_end_ - body_start_);
  if (phase_ != Phase::stream) {
    next_message();
    if (!state.keep_alive) phase_ = Phase::closed;
  }
  worker_.handler().handle(Exchange(&state));
}

/// Answers a request that cannot be parsed, and ends the connection: the start of the next request is
/// unknown.
void Session::refuse(const Refusal& refusal) {
  if (current_ == nullptr) current_ = worker_.take_state();
  ExchangeState& state = *std::exchange(current_, nullptr);
  enqueue(state);
  state.keep_alive = false;
  stop_reading();
  answer_refusal(state, refusal);
}

/// The rest of a streamed body cannot be read.
void Session::body_failed(const Refusal& refusal) {
  ExchangeState& state = *std::exchange(stream_, nullptr);
  state.keep_alive = false;
  stop_reading();
  if (state.observer != nullptr) state.observer->on_gone(refusal);
}

void Session::timed_out() {
  switch (wait().kind) {
    case Wait::Kind::idle:
      stop_reading();
      break;
    case Wait::Kind::head:
      if (current_ != nullptr) current_->head.clear();
      refuse(too_slow);
      break;
    case Wait::Kind::body:
      if (phase_ == Phase::stream) {
        body_failed(too_slow);
      } else {
        refuse(too_slow);
      }
      break;
    case Wait::Kind::handler:
      break;
  }
  settle();
}

void Session::stop_reading() {
  phase_ = Phase::closed;
  closing_ = true;
  if (current_ != nullptr) worker_.give_back(std::exchange(current_, nullptr));
}

/// Discards input that is not needed, and returns the buffer if it is empty.
void Session::keep_only_unread() {
  if (first_ != nullptr) return;
  if (phase_ == Phase::closed) {
    in_.clear();
    message_start_ = parsed_ = 0;
  } else if (message_start_ != 0) {
    in_.consume(message_start_);
    parsed_ -= message_start_;
    body_start_ -= message_start_;
    body_end_ -= message_start_;
    message_start_ = 0;
  }
  if (!in_.empty() || in_.capacity() == 0) return;
  worker_.give_back(std::move(in_));
  if (current_ != nullptr) worker_.give_back(std::exchange(current_, nullptr));
}

Session::Wait Session::wait() const {
  using Kind = Wait::Kind;
  if (phase_ == Phase::closed) return {Kind::handler, serial_};
  // The idle timeout of a tunnel is the handler's business.
  if (phase_ == Phase::stream) return {stream_->wants_body && !tunnel_ ? Kind::body : Kind::handler, serial_};
  // A request that waits for the answers before it, to be read or parsed, is not late.
  if (phase_ == Phase::body) return {is_full() ? Kind::handler : Kind::body, serial_};
  if (at_capacity()) return {Kind::handler, serial_};
  if (in_.size() > message_start_) {
    return {is_full() || !unparsed().empty() ? Kind::handler : Kind::head, serial_};
  }
  return {exchanges_ == 0 ? Kind::idle : Kind::handler, serial_};
}

}  // namespace weir::net
