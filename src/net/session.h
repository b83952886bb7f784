// HTTP/1.1 on one connection, without the socket: bytes come in, exchanges go to the handler, bytes go out in
// the order of requests. The shell around it reads, writes and enforces the deadlines that the session asks
// for: Connection with a socket, a test with its own bytes and clock.
//
//      in_:   | requests in the handler's hands | the request that is arriving | room |
//                                               ^ message_start_    ^ parsed_
//
// While the handler holds an exchange, the bytes of its request must not move; so the buffer moves or grows
// only when the handler holds none.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "net/exchange_state.h"
#include "wire/buffer.h"
#include "wire/http_body.h"
#include "wire/http_request.h"

namespace weir::net {

/// The calls from a session to the object that moves its bytes.
class SessionShell {
 public:
  /// An exchange was answered outside of received(): there is output, or reading may continue. Calls sent(),
  /// but not gone(), before it returns.
  virtual void wake() = 0;
  /// Cuts the connection; gone() is called after this returns.
  virtual void cut() = 0;

 protected:
  ~SessionShell() = default;
};

/// Not safe for use by several threads at once: everything happens on the thread of its worker.
class Session {
 public:
  /// The event that the session waits for. A new serial with the same kind is a new wait, with a new
  /// deadline.
  struct Wait {
    enum class Kind : std::uint8_t { idle, head, body, handler };
    Kind kind = Kind::idle;
    std::uint64_t serial = 0;
    friend bool operator==(const Wait&, const Wait&) = default;
  };

  Session(Worker& worker, SessionShell& shell, const Address& peer, bool tls);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Input.

  /// Whether anything is to be read now.
  bool wants_input() const;
  /// Where to read to; empty if nothing is to be read now. Call received() afterwards, with 0 if no bytes
  /// came: until then the session holds a buffer.
  std::span<char> room();
  /// Takes the first `count` bytes of room() and handles every request that is complete.
  void received(std::size_t count);
  /// The client will send no more.
  void received_end();
  /// The deadline of wait() has passed.
  void timed_out();
  /// The server is shutting down: accepts no request after those that have begun to arrive. Call received()
  /// afterwards.
  void drain() { draining_ = true; }
  /// The connection is gone. Exchanges stay until the handler releases them.
  void gone();

  // Output.

  std::string_view output() const { return out_.view(); }
  /// The first `count` bytes of output() are sent.
  void sent(std::size_t count);
  /// No more output is added and no more input is read. The connection may end once the output is sent.
  bool over() const { return closing_ && first_ == nullptr; }
  /// Whether the client has sent all that it will send.
  bool ended() const { return ended_; }
  /// Whether it ended while idle, so that a reset loses nothing.
  bool was_idle() const { return idle_; }
  /// Whether the handler has released all exchanges, so that the session may be destroyed.
  bool released() const { return first_ == nullptr; }

  Wait wait() const;
  const Address& peer() const { return peer_; }
  bool tls() const { return tls_; }

  // For Exchange, on the session's thread.

  void answer(ExchangeState& state, const Answer& answer);
  void finished_elsewhere(ExchangeState& state);
  void give_up(ExchangeState& state);
  void read(ExchangeState& state);
  bool interim(ExchangeState& state, int status, std::string_view fields);
  void start(ExchangeState& state, const AnswerHead& head, Sending sending);
  bool write(ExchangeState& state, std::string_view data, Sending sending);
  const wire::http::Fields& trailers() const { return decoder_.trailers(); }
  void finish(ExchangeState& state, std::string_view trailers);
  void abort(ExchangeState& state);

 private:
  enum class Phase : std::uint8_t {
    head,    ///< before or in the head of the next request
    body,    ///< in a body that is buffered
    stream,  ///< in a body that the handler reads as it comes
    closed,  ///< no further input is parsed
  };

  /// Calls the observers of all exchanges that the handler holds.
  template <class Call>
  void tell(Call&& call);
  void process();
  bool step();
  void settle();
  bool nothing_will_arrive() const;
  bool step_head();
  bool begin_body();
  bool postpone();
  bool step_body();
  void drop_framing();
  bool step_stream();
  void dispatch();
  void next_message();
  void enqueue(ExchangeState& state);
  void refuse(const wire::http::Refusal& refusal);
  void answer_refusal(ExchangeState& state, const wire::http::Refusal& refusal);
  void body_failed(const wire::http::Refusal& refusal);
  void stop_reading();
  void keep_only_unread();
  void tell_to_continue(ExchangeState& state);

  wire::Buffer& output_of(ExchangeState& state);
  bool keeps_alive(const ExchangeState& state) const;
  void end(ExchangeState& state);
  void advance();
  void start_tunnel(ExchangeState& state);
  bool has_room(ExchangeState& state);
  void send(const ExchangeState& state);
  void wake();
  std::string_view unparsed() const { return in_.view().substr(parsed_); }
  bool at_capacity() const;
  bool is_full() const;

  Worker& worker_;
  SessionShell& shell_;
  Address peer_;
  wire::Buffer in_;
  wire::Buffer out_;
  std::size_t message_start_ = 0;
  std::size_t parsed_ = 0;
  std::size_t body_start_ = 0;
  std::size_t body_end_ = 0;
  wire::http::RequestParser parser_;
  wire::http::BodyDecoder decoder_;
  ExchangeState* current_ = nullptr;  ///< the exchange whose head or buffered body is arriving
  ExchangeState* stream_ = nullptr;   ///< the exchange whose body is streamed
  ExchangeState* first_ = nullptr;    ///< the exchanges that the handler holds, in order
  ExchangeState* last_ = nullptr;
  unsigned exchanges_ = 0;
  std::uint64_t serial_ = 0;
  Phase phase_ = Phase::head;
  bool tls_;
  bool processing_ = false;
  bool draining_ = false;
  bool closing_ = false;
  bool ended_ = false;
  bool idle_ = false;
  bool gone_ = false;
  bool tunnel_ = false;   ///< after a 101
  bool telling_ = false;  ///< inside tell(): exchanges that end are kept until all observers are called
};

template <class Call>
void Session::tell(Call&& call) {
  telling_ = true;
  for (ExchangeState* state = first_; state != nullptr; state = state->next) {
    if (!state->finished && state->observer != nullptr) call(*state->observer);
  }
  telling_ = false;
  if (first_ != nullptr) advance();
}

}  // namespace weir::net
