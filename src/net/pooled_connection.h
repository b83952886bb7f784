// One connection of a pool: connects, agrees on TLS, carries one request after the other. Lives on the thread
// of the pool's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "net/address.h"
#include "net/http_pool.h"
#include "net/tls.h"
#include "net/transport.h"
#include "wire/buffer.h"
#include "wire/http_body.h"
#include "wire/http_response.h"

namespace weir::net {

/// Ends in its owner's hands: after on_closed() it does nothing more and can be destroyed, but not inside it.
class PooledConnection {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whom a connection tells. All calls are on the loop's thread.
  class Owner {
   public:
    /// It is free: connected for the first time, or done with a request.
    virtual void on_free(PooledConnection& connection) = 0;
    /// It is gone. `failure` is why it could not be made; nothing where it was made once.
    virtual void on_closed(PooledConnection& connection, const std::optional<HttpFailure>& failure) = 0;
    /// The end of a call: exactly one of both.
    virtual void on_reply(HttpCall& call, const HttpReply& reply) = 0;
    virtual void on_failure(HttpCall& call, const HttpFailure& failure) = 0;

   protected:
    ~Owner() = default;
  };

  /// The options must outlive it. `tls` is null without TLS.
  PooledConnection(boost::asio::io_context& context, const HttpPoolOptions& options, const TlsContext& tls,
                   Owner& owner)
      : context_(context),
        options_(options),
        tls_(tls),
        owner_(owner),
        parser_(options.limits),
        decoder_(options.limits) {}
  ~PooledConnection();

  void connect(const Address& address);
  /// Sends a request. Requires a connection that is free.
  void carry(HttpCall& call);
  /// Ends it; the call that it carries fails.
  void close(const HttpFailure& failure);
  /// Looks at deadlines.
  void tick(Clock::time_point now);

  bool is_free() const { return stage_ == Stage::idle; }
  bool is_closed() const { return stage_ == Stage::closed; }
  bool is_connecting() const { return stage_ == Stage::connecting || stage_ == Stage::securing; }

 private:
  enum class Stage : std::uint8_t { connecting, securing, idle, sending, head, body, closed };
  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  void drive();
  void connected();
  void secure();
  void become_free();
  void idle_readable();
  void write();
  void read();
  /// Takes what has arrived; false: more is needed.
  bool take_head();
  bool take_body();
  void arrived_end();
  void answered();
  void fail(HttpFailure::Kind kind, std::string detail);
  void wait(bool to_write);

  boost::asio::io_context& context_;
  const HttpPoolOptions& options_;
  const TlsContext& tls_;
  Owner& owner_;

  std::unique_ptr<Descriptor> descriptor_;
  std::optional<Transport> transport_;
  const ssl_st* secured_ = nullptr;  ///< of the transport
  bool waits_for_read_ = false;
  bool waits_for_write_ = false;
  Stage stage_ = Stage::connecting;
  bool was_made_ = false;
  Clock::time_point until_;  ///< of connecting, or of being idle

  HttpCall* call_ = nullptr;
  wire::Buffer output_;
  std::uint64_t sent_ = 0;  ///< bytes of the request
  wire::Buffer input_;
  wire::http::ResponseParser parser_;
  wire::http::ResponseHead head_;
  wire::http::BodyDecoder decoder_;
  std::string head_text_;
  std::string body_;
  bool keep_alive_ = false;
};

}  // namespace weir::net
