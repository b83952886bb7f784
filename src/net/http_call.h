// A request to an HTTP server, and its result.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/failure.h"
#include "wire/http_message.h"

namespace weir::net {

/// Why there is no answer.
using HttpFailure = Failure;

struct HttpPoolOptions {
  std::string host;  ///< a name, or a literal address without brackets
  std::uint16_t port = 80;
  bool tls = false;
  std::string ca_file = {};  ///< with TLS: the trusted CA certificates; empty: those of the system
  unsigned most_connections = 32;
  /// Calls that wait or are in flight. One more fails at once.
  std::size_t most_calls = 10'000;
  /// The timeout of lookup, connect and TLS handshake. Calls have their own deadlines besides.
  std::chrono::milliseconds connect_within{3'000};
  /// A connection that is idle for this long is closed. Should be shorter than the server's keep-alive
  /// timeout, so that the server does not close a connection while a request is in flight.
  std::chrono::milliseconds idle_for{15'000};
  std::uint64_t largest_body = std::uint64_t{16} * 1024 * 1024;
  wire::http::Limits limits = {};
};

/// An answer, valid until the callback returns.
struct HttpReply {
  int status = 0;
  std::string_view reason;
  const wire::http::Fields& fields;
  std::string_view body;
};

/// One request and its result. The owner keeps it until one of the two callbacks is called, which may destroy
/// it or send it again. They are called on the pool's thread or, if the call cannot be queued, inside
/// HttpPool::send().
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
  std::string_view large_body;  ///< instead of `body`, to avoid a copy
  /// From send() to the end of the answer.
  std::chrono::milliseconds within{30'000};

  virtual void on_reply(const HttpReply& reply) = 0;
  /// `failure.sent`: a part of the request was sent, and it may have taken effect. Else it has not.
  virtual void on_failure(const Failure& failure) = 0;
  /// Another part of the request was sent; `left` bytes of the body remain. Returns a new timeout for the
  /// rest and the answer; nothing: the old deadline stays.
  virtual std::optional<std::chrono::milliseconds> on_sent(std::size_t /*left*/) { return std::nullopt; }

 private:
  friend class HttpPool;
  std::chrono::steady_clock::time_point expires_;
};

}  // namespace weir::net
