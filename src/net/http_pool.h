// A client for one HTTP/1.1 server, for programs that ask many things at once: calls from any thread share a
// few connections, which are kept, and end in a callback.
//
// A thread of its own does all input and output. A connection carries one request at a time; what finds no
// free connection waits for one. Nothing is ever sent twice: a call whose connection ends before anything of
// it was sent goes to another one, any other is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_client.h"
#include "weir/result.h"
#include "wire/http_message.h"

namespace weir::net {

struct HttpPoolOptions {
  std::string host;  ///< a name, or a literal address without brackets
  std::uint16_t port = 80;
  bool tls = false;
  std::string ca_file = {};  ///< with TLS: whom to believe; empty: whom the machine believes
  unsigned most_connections = 32;
  /// Calls that wait or are on their way. One more fails at once.
  std::size_t most_calls = 10'000;
  /// How long looking up, connecting and agreeing on TLS may take. Calls have their own deadlines beside it.
  std::chrono::milliseconds connect_within{3'000};
  /// A connection that was not used for this long is closed. Should be less than what the server allows, so
  /// that it does not close one while a request is on its way.
  std::chrono::milliseconds idle_for{15'000};
  std::uint64_t largest_body = std::uint64_t{16} * 1024 * 1024;
  wire::http::Limits limits = {};
};

/// An answer, valid until the function that was given it returns.
struct HttpReply {
  int status = 0;
  std::string_view reason;
  const wire::http::Fields& fields;
  std::string_view body;
};

/// One request and what becomes of it. Made and kept by its owner until one of the two functions was called,
/// which may destroy it, or send it again. They are called on the pool's thread, or, where the call cannot
/// even wait, inside HttpPool::send().
class HttpCall {
 public:
  HttpCall() = default;
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;
  virtual ~HttpCall() = default;

  wire::http::Method method = wire::http::Method::post;
  std::string target = "/";  ///< path and query, escaped
  std::string fields;        ///< whole lines, made with wire::http::write_field(); not Host or Content-Length
  std::string body;
  /// From send() to the end of the answer.
  std::chrono::milliseconds within{30'000};

  virtual void on_reply(const HttpReply& reply) = 0;
  /// `failure.sent`: some of the request has left, and it may have had its effect. Else it had none.
  virtual void on_failure(const HttpFailure& failure) = 0;
  /// Some of the body was handed to the connection, and so much is left of it.
  virtual void on_sent(std::size_t /*left*/) {}

 private:
  friend class HttpPool;
  std::chrono::steady_clock::time_point expires_;
};

/// Safe to use from any thread.
class HttpPool {
 public:
  /// Fails only if the certificates cannot be read; connections are made when they are needed.
  static Result<std::unique_ptr<HttpPool>> start(HttpPoolOptions options);
  /// Every call that is left fails. Not from a callback.
  ~HttpPool();
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  /// Fails every call that is left, and those to come. Not from a callback.
  void stop();
  void send(HttpCall& call);
  /// Runs something on the pool's thread after a while; at the pool's end at once, whatever is left. Not
  /// inline.
  void after(std::chrono::milliseconds pause, std::function<void()> work);
  /// Whether this is the thread on which calls end: waiting there for a call would never end.
  bool is_here() const;
  /// How many connections are open, for tests and metrics.
  unsigned connections() const;
  const HttpPoolOptions& options() const;

 private:
  class Inside;
  explicit HttpPool(std::shared_ptr<Inside> inside);
  static std::chrono::steady_clock::time_point& expiry_of(HttpCall& call) { return call.expires_; }
  std::shared_ptr<Inside> inside_;
};

}  // namespace weir::net
