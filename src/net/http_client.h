// A blocking client for one HTTP/1.1 server, for programs that send one request after the other. It never
// blocks for longer than its timeout, and parses as strictly and with the same bounds as the server.
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
  std::string ca_file = {};  ///< with TLS: the trusted CA certificates; empty: those of the system
  /// The timeout of each step: lookup, connect and TLS handshake; sending, between two bytes; the whole
  /// answer.
  std::chrono::milliseconds timeout{30'000};
  std::uint64_t largest_body = std::uint64_t{64} * 1024 * 1024;
  wire::http::Limits limits = {};
};

struct HttpRequest {
  wire::http::Method method = wire::http::Method::get;
  std::string target;       ///< path and query, escaped
  std::string fields = {};  ///< whole lines, made with wire::http::write_field(); not Host or Content-Length
  std::string_view body = {};
  /// The request is idempotent: it is retried once if the connection is lost.
  bool repeatable = false;
  /// Added to the timeout of the answer, for requests that are known to take long.
  std::chrono::milliseconds extra_patience{0};
  /// The timeout of the whole request, retries included, besides that of each step; 0: none.
  std::chrono::milliseconds within{0};
  /// Called with the number of bytes of the body that are sent.
  std::function<void(std::size_t sent)> progress = {};
  /// The name of one more field of the answer to keep.
  std::string wanted_field = {};
};

struct HttpAnswer {
  int status = 0;
  std::string reason = {};
  std::string content_type = {};  ///< without parameters, in lower case
  std::string location = {};
  std::string server = {};
  std::string wanted_field = {};  ///< the field that the request named
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
  std::variant<HttpAnswer, HttpFailure> ask_once(const HttpRequest& request,
                                                 std::chrono::steady_clock::time_point ends);

  const HttpClientOptions options_;
  std::unique_ptr<class HttpPool> pool_;  ///< without a thread: its loop runs while a request waits
};

}  // namespace weir::net
