// A request to an HTTP server, and what becomes of it.
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
  std::string_view large_body;  ///< instead of `body`, where it is worth not to copy it
  /// From send() to the end of the answer.
  std::chrono::milliseconds within{30'000};

  virtual void on_reply(const HttpReply& reply) = 0;
  /// `failure.sent`: some of the request has left, and it may have had its effect. Else it had none.
  virtual void on_failure(const Failure& failure) = 0;
  /// The request is on its way, or more of it: so much of the body is left. Says how long the rest and the
  /// answer may take from now on; nothing: as long as before.
  virtual std::optional<std::chrono::milliseconds> on_sent(std::size_t /*left*/) { return std::nullopt; }

 private:
  friend class HttpPool;
  std::chrono::steady_clock::time_point expires_;
};

}  // namespace weir::net
