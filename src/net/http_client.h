// A client for one HTTP/1.1 server, for programs that ask one thing after the other and wait for the answer.
// It blocks, but never for longer than it was told to; what it reads is as strict and as bounded as what the
// server reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "net/http_call.h"
#include "wire/http_message.h"

namespace weir::net {

struct HttpClientOptions {
  std::string host;  ///< a name, or a literal address without brackets
  std::uint16_t port = 80;
  bool tls = false;
  std::string ca_file = {};  ///< with TLS: whom to believe; empty: whom the machine believes
  /// How long each may take: looking up, connecting and agreeing on TLS; sending while nothing moves; and the
  /// whole answer.
  std::chrono::milliseconds timeout{30'000};
  std::uint64_t largest_body = std::uint64_t{64} * 1024 * 1024;
  wire::http::Limits limits = {};
};

struct HttpRequest {
  wire::http::Method method = wire::http::Method::get;
  std::string target;       ///< path and query, escaped
  std::string fields = {};  ///< whole lines, made with wire::http::write_field(); not Host or Content-Length
  std::string_view body = {};
  /// Whether asking twice is the same as asking once: then it is asked again, once, if the connection is
  /// lost.
  bool repeatable = false;
  /// How much longer than the timeout the answer may take, for work that is known to be long.
  std::chrono::milliseconds extra_patience{0};
  /// Told how many bytes of the body are sent.
  std::function<void(std::size_t sent)> progress = {};
};

struct HttpAnswer {
  int status = 0;
  std::string reason = {};
  std::string content_type = {};  ///< without parameters, in lower case
  std::string location = {};
  std::string server = {};
  std::string body = {};
};

/// Keeps its connection for the next request. Not safe for use by several threads at once.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  std::variant<HttpAnswer, HttpFailure> ask(const HttpRequest& request);

 private:
  std::variant<HttpAnswer, HttpFailure> ask_once(const HttpRequest& request);

  const HttpClientOptions options_;
  std::unique_ptr<class HttpPool> pool_;  ///< without a thread: its loop turns while somebody waits
};

}  // namespace weir::net
