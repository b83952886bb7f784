#include <ctime>

#include "net/exchange_state.h"
#include "net/handler.h"
#include "net/session.h"
#include "net/worker.h"
#include "wire/http_write.h"

namespace weir::net {
namespace {

/// The value of Date, formatted once a second on each thread.
std::string_view date_now() {
  thread_local std::int64_t second = -1;
  thread_local wire::http::DateText text;
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != second) {
    second = now.tv_sec;
    text = wire::http::format_date(second);
  }
  return {text.data(), text.size()};
}

}  // namespace

void ExchangeState::reset() {
  constexpr std::size_t kept = std::size_t{16} * 1024;
  body = {};
  for (wire::Buffer* buffer : {&held, &made_elsewhere}) {
    buffer->clear();
    if (buffer->capacity() > kept) *buffer = {};
  }
  next = next_finished = nullptr;
  observer = nullptr;
  answer = {};
  answer_left = 0;
  keep_alive = true;
  started = finished = wants_body = owes_continue = waits_for_room = false;
}

void write_answer_head(wire::Buffer& out, const ExchangeState& state, bool keep_alive,
                       wire::http::Framing framing, int status, std::string_view fields, bool dated) {
  wire::http::write_response_head(out, {.status = status,
                                        .body = framing,
                                        .request = state.head.version(),
                                        .keep_alive = keep_alive,
                                        .date = dated ? std::string_view() : date_now(),
                                        .fields = fields});
}

void write_answer(wire::Buffer& out, const ExchangeState& state, bool keep_alive, const Answer& answer) {
  const bool bodiless = wire::http::is_bodiless(answer.status);
  const wire::http::Framing framing =
      bodiless ? wire::http::Framing{}
               : wire::http::Framing{wire::http::Framing::Kind::length, answer.body.size()};
  write_answer_head(out, state, keep_alive, framing, answer.status, answer.fields);
  if (!bodiless && state.head.method() != wire::http::Method::head) out.append(answer.body);
}

BodyPlan Handler::plan(const wire::http::RequestHead&) { return {}; }

void Handler::describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) {
  wire::http::write_field(fields, "Content-Type", "text/plain");
  body.append(refusal.reason);
  body.append('\n');
}

Exchange& Exchange::operator=(Exchange&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) give_up();
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}

const wire::http::RequestHead& Exchange::request() const { return state_->head; }
std::string_view Exchange::body() const { return state_->body; }
const Address& Exchange::peer() const { return state_->session->peer(); }
bool Exchange::tls() const { return state_->session->tls(); }
unsigned Exchange::worker() const { return state_->worker->index(); }

void Exchange::answer(const Answer& answer) {
  ExchangeState& state = *std::exchange(state_, nullptr);
  if (state.worker->is_here()) return state.session->answer(state, answer);
  write_answer(state.made_elsewhere, state, state.keep_alive, answer);
  state.worker->hand_over(state);
}

void Exchange::give_up() {
  ExchangeState& state = *std::exchange(state_, nullptr);
  if (state.worker->is_here()) return state.session->give_up(state);
  wire::Buffer fields;
  wire::Buffer body;
  state.worker->handler().describe(unanswered, fields, body);
  write_answer(state.made_elsewhere, state, state.keep_alive,
               {unanswered.status, fields.view(), body.view()});
  state.worker->hand_over(state);
}

void Exchange::observe(ExchangeObserver* observer) { state_->observer = observer; }
void Exchange::read() { state_->session->read(*state_); }
bool Exchange::interim(int status, std::string_view fields) {
  return state_->session->interim(*state_, status, fields);
}
const wire::http::Fields& Exchange::trailers() const { return state_->session->trailers(); }
void Exchange::start(const AnswerHead& head, Sending sending) {
  state_->session->start(*state_, head, sending);
}
bool Exchange::write(std::string_view data, Sending sending) {
  return state_->session->write(*state_, data, sending);
}

void Exchange::finish(std::string_view trailers) {
  ExchangeState& state = *std::exchange(state_, nullptr);
  state.session->finish(state, trailers);
}

void Exchange::abort() {
  ExchangeState& state = *std::exchange(state_, nullptr);
  state.session->abort(state);
}

}  // namespace weir::net
