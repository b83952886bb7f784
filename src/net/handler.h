// The interface of a program that answers HTTP requests.
//
//   class Hello : public net::Handler {
//     void handle(net::Exchange exchange) override { exchange.answer({.body = "hello"}); }
//   };
//
// There are three ways to answer, the cheapest first:
//   inline    answer() before handle() returns. Nothing is allocated; answers to pipelined requests leave in
//             one write.
//   later     move the Exchange somewhere and answer() from any thread. Answers leave in the order of their
//             requests all the same.
//   streamed  observe() with read() for the request's body, start(), write() and finish() for the answer's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "net/address.h"
#include "wire/buffer.h"
#include "wire/http_request.h"

namespace weir::net {

struct ExchangeState;
class Loop;

/// A whole answer. The data that it points to is copied before answer() returns.
struct Answer {
  int status = 200;
  /// Fields as whole lines, made with wire::http::write_field(). Not Date, Content-Length,
  /// Transfer-Encoding or Connection: those are added.
  std::string_view fields;
  std::string_view body;  ///< left out for HEAD, 204 and 304
};

/// Whether the bytes may wait for those that follow immediately, so that both leave in one write.
enum class Sending : bool { now, with_next };

/// The head of a streamed answer.
struct AnswerHead {
  int status = 200;
  std::string_view fields;  ///< as in Answer; for 101 with Connection and Upgrade
  /// The length of the body, if it is known. Without it the body is sent in chunks, or to a client of
  /// HTTP/1.0 until the connection closes.
  std::optional<std::uint64_t> length = {};
  bool dated = false;  ///< `fields` has a Date: the answer comes from another server
};

/// Callbacks of a streamed exchange. Called on the exchange's worker thread.
class ExchangeObserver {
 public:
  /// A part of the body, valid during the call; after the last part, or with it, `end` is true.
  virtual void on_body(std::string_view data, bool end) = 0;
  /// More may be written, after write() has returned false.
  virtual void on_writable() = 0;
  /// The client is gone, or the rest of the body cannot be read: no more of it will come. The status is 0 if
  /// no answer can reach the client, else the status to answer with. Drop or answer the exchange.
  virtual void on_gone(const wire::http::Refusal& why) = 0;
  /// The client will send no more. Most clients have closed the connection then; some still read.
  virtual void on_ended() {}

 protected:
  ~ExchangeObserver() = default;
};

/// One request and the right to answer it, once. Movable; destroying it unanswered sends 500, or cuts the
/// connection if a streamed answer had begun. Views of request() and body() are valid until then. All members
/// are for one thread at a time; those under "streaming" only for the worker's thread.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(ExchangeState* state) : state_(state) {}
  Exchange(Exchange&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Exchange& operator=(Exchange&& other) noexcept;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (state_ != nullptr) give_up();
  }
  /// False once answered or moved from; then nothing but destruction and assignment is allowed.
  explicit operator bool() const { return state_ != nullptr; }

  const wire::http::RequestHead& request() const;
  /// The whole body, where the plan was to buffer it.
  std::string_view body() const;
  const Address& peer() const;
  bool tls() const;
  /// Which of the server's threads serves this connection, from 0.
  unsigned worker() const;

  /// Answers and ends the exchange. From any thread.
  void answer(const Answer& answer);

  // Streaming.

  /// Sets the observer, which must outlive the exchange or be replaced.
  void observe(ExchangeObserver* observer);
  /// Asks for the next part of the body: one on_body() follows, now or later. The first call sends 100 to a
  /// client that waits for it. Requires a plan to stream, or a started 101.
  void read();
  /// The trailer fields of a body that came in chunks. During the on_body() that ends it.
  const wire::http::Fields& trailers() const;
  /// Sends an interim answer: 102, 103. False as with write().
  bool interim(int status, std::string_view fields);
  /// Sends the head of the answer; write() and finish() follow. After 101 both directions carry opaque bytes
  /// until one side ends.
  void start(const AnswerHead& head, Sending sending = Sending::now);
  /// Sends a part of the body. False if too much is unsent: wait for on_writable(). Further writes are
  /// allowed and are buffered in memory.
  bool write(std::string_view data, Sending sending = Sending::now);
  /// Ends the answer and the exchange. Trailers are whole lines, sent if the body goes in chunks. A body
  /// shorter than promised cuts the connection instead.
  void finish(std::string_view trailers = {});
  /// Cuts the connection, so that the client sees an incomplete answer.
  void abort();

 private:
  void give_up();
  ExchangeState* state_ = nullptr;
};

/// How to treat the body of a request, decided when its head is known.
struct BodyPlan {
  enum class Kind : std::uint8_t {
    buffer,  ///< handle() is called when the whole body has arrived
    stream,  ///< handle() is called at once, and reads the body at its own pace
    refuse,  ///< answer with `status`, without reading the body
  };
  Kind kind = Kind::buffer;
  std::optional<std::uint64_t> largest;  ///< bytes; the server's max_body unless said. Beyond it: 413
  int status = 0;
  std::string_view reason;  ///< with static lifetime
};

/// Answers requests. One object serves all threads of a server, so its members are called from several
/// threads at once.
class Handler {
 public:
  virtual ~Handler() = default;

  /// Called before the body of a request is read, if it has one, and before 100 is sent to a client that
  /// waits for it.
  virtual BodyPlan plan(const wire::http::RequestHead& request);

  /// A request has arrived.
  virtual void handle(Exchange exchange) = 0;

  /// Called first on each of the server's threads. The handler may use the loop for its own connections and
  /// work: Loop::post() from any thread while an exchange of that loop is unanswered, everything else on the
  /// thread itself until on_thread_end().
  virtual void on_thread(Loop& /*loop*/) {}
  /// Called last on each of the server's threads, after all exchanges are answered.
  virtual void on_thread_end() {}
  /// A thread has work, or another thread hands it some; a thread has finished its work. The two calls
  /// alternate for each thread and may come from any thread, on_idle() sometimes slightly before its
  /// on_busy().
  virtual void on_busy() {}
  virtual void on_idle() {}

  /// Makes fields and body of the server's own answers: to a request that cannot be read (400, 408, 413,
  /// ...), or that the handler did not answer (500). The default is a line of text.
  virtual void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body);
};

}  // namespace weir::net
