// One connection to an HTTP/1.1 server: carries one request after the other. Lives on the thread of its loop.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_call.h"
#include "net/outbound.h"
#include "wire/http_body.h"
#include "wire/http_response.h"

namespace weir::net {

class HttpPool;

/// Made and kept by its pool. After HttpPool::on_closed() it does nothing more.
class HttpConnection final : private OutboundUser {
 public:
  explicit HttpConnection(HttpPool& pool);

  /// `tls` is null without TLS.
  void connect(std::vector<Address> addresses, const TlsContext& tls);
  /// Sends a request, whose answer must be complete within the time. Requires a free connection.
  void carry(HttpCall& call, std::chrono::milliseconds within);
  /// Closes the connection; the call that it carries fails.
  void close(const Failure& failure);

  bool is_free() const { return link_.is_idle(); }
  bool is_connecting() const { return !was_made_; }

 private:
  using Kind = Failure::Kind;

  void on_open() override;
  void on_input() override;
  void on_drained() override { send_body(); }
  void on_end() override;
  void on_late() override;
  void on_failed(Outbound& connection, const Failure& why) override;

  void send_body();
  /// False: more is needed, or it has failed.
  bool take_head();
  void take_body();
  void answered();
  void fail(Kind kind, std::string detail) { close({kind, std::move(detail)}); }

  HttpPool& pool_;
  const HttpPoolOptions& options_;
  Outbound link_;
  bool was_made_ = false;
  bool closed_ = false;

  HttpCall* call_ = nullptr;
  std::string_view body_left_;  ///< the part of the request's body not yet given to the link
  wire::http::ResponseParser parser_;
  wire::http::ResponseHead head_;
  wire::http::BodyDecoder decoder_;
  bool in_body_ = false;
  bool ended_ = false;  ///< the server sends no more
  std::string head_text_;
  std::string body_;
};

}  // namespace weir::net
