// The state behind an Exchange; private to this room.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/handler.h"
#include "wire/buffer.h"
#include "wire/http_message.h"
#include "wire/http_request.h"

namespace weir::net {

class Session;
class Worker;

/// One request in progress. Owned by its session, which keeps it and the request's bytes until the handler
/// has released it.
struct ExchangeState {
  Session* session = nullptr;
  Worker* worker = nullptr;
  wire::http::RequestHead head;
  std::string_view body;
  /// Bytes of the answer that may not be sent yet, since earlier answers are not complete. Like all members
  /// without another note, for the session's thread only.
  wire::Buffer held;
  /// An answer made on another thread, which owns it until hand_over().
  wire::Buffer made_elsewhere;
  ExchangeState* next = nullptr;           ///< in the order of requests
  ExchangeState* next_finished = nullptr;  ///< in the worker's list of exchanges answered on other threads
  ExchangeObserver* observer = nullptr;
  wire::http::Framing answer;     ///< of a streamed answer
  std::uint64_t answer_left = 0;  ///< bytes still due, where the length was promised
  bool keep_alive = true;         ///< whether the connection is kept after it
  bool started = false;           ///< a streamed answer has begun
  bool finished = false;          ///< the handler has released it
  bool wants_body = false;        ///< read() was called and not yet served
  bool owes_continue = false;     ///< the client waits for 100
  bool waits_for_room = false;    ///< write() has returned false

  /// Back to the initial state; allocations are kept.
  void reset();
};

/// The answer to a request that the handler released without one.
inline constexpr wire::http::Refusal unanswered{500, "the request was not answered"};

/// Appends the head of an answer, with the date of now unless the fields have one.
void write_answer_head(wire::Buffer& out, const ExchangeState& state, bool keep_alive,
                       wire::http::Framing framing, int status, std::string_view fields, bool dated = false);
/// Appends a whole answer. Safe on any thread: reads the state's head and keep_alive only.
void write_answer(wire::Buffer& out, const ExchangeState& state, bool keep_alive, const Answer& answer);

}  // namespace weir::net
