// A client that sends exactly the bytes it is told to, over a blocking socket. What it waits for comes or the
// test fails after a long while; nothing here sleeps.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/address.h"
#include "net/socket_address.h"
#include "wire/http_body.h"
#include "wire/http_response.h"

namespace weir::net {

/// A response as it was read.
struct Response {
  int status = 0;  ///< 0: the connection ended first
  std::string head;
  std::string body;
  bool whole = false;  ///< the body came to its end

  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class Client {
 public:
  explicit Client(const Address& to) {
    socket_ = ::socket(to.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const SocketAddress name = to_socket(to);
    connected_ = ::connect(socket_, name.pointer(), name.size) == 0;
  }
  Client(Client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        connected_(other.connected_),
        tls_(std::move(other.tls_)),
        arrived_(std::move(other.arrived_)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    tls_.reset();
    if (socket_ >= 0) ::close(socket_);
  }

  bool connected() const { return connected_; }
  int socket() const { return socket_; }

  /// Goes on with TLS. False if the handshake fails.
  bool start_tls(SSL_CTX* context) {
    tls_.reset(SSL_new(context));
    SSL_set_fd(tls_.get(), socket_);
    return SSL_connect(tls_.get()) == 1;
  }
  SSL* tls() { return tls_.get(); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }
  /// Has close() reset the connection.
  void reset() {
    const linger immediately{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &immediately, sizeof immediately);
    ::close(std::exchange(socket_, -1));
  }

  /// The next response, interim ones included.
  Response receive(wire::http::Method request = wire::http::Method::get) {
    wire::http::ResponseParser parser(wire::http::Limits{});
    wire::http::ResponseHead head;
    while (true) {
      const auto progress = parser.parse(arrived_, request, head);
      if (progress == wire::http::Progress::complete) break;
      if (progress == wire::http::Progress::failed) {
        ADD_FAILURE() << parser.refusal().reason << " in: " << arrived_;
        return {};
      }
      if (!more()) return {};
    }
    Response response{head.status(), arrived_.substr(0, parser.size()), {}, false};
    const auto framing = head.body();
    arrived_.erase(0, parser.size());
    if (head.status() == 101) return response;
    receive_body(framing, response);
    return response;
  }

  Response ask(std::string_view request) {
    EXPECT_TRUE(send(request));
    return receive();
  }

  /// Everything until the server closes.
  std::string rest() {
    while (more()) {
    }
    return std::exchange(arrived_, {});
  }
  /// Exactly so many bytes, or fewer if the server closes.
  std::string take(std::size_t count) {
    while (arrived_.size() < count && more()) {
    }
    std::string taken = arrived_.substr(0, count);
    arrived_.erase(0, count);
    return taken;
  }

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  void receive_body(wire::http::Framing framing, Response& response) {
    wire::http::BodyDecoder decoder(wire::http::Limits{});
    decoder.start(framing, ~std::uint64_t{0});
    while (true) {
      const auto step = decoder.decode(arrived_);
      response.body += step.data;
      arrived_.erase(0, step.consumed);
      if (step.progress == wire::http::Progress::complete) break;
      if (step.progress == wire::http::Progress::failed) return;
      if (step.consumed == 0 && !more()) {
        response.whole = decoder.end_of_input();
        return;
      }
    }
    response.whole = true;
  }

  bool more() {
    char bytes[16384];
    const auto received =
        tls_ ? SSL_read(tls_.get(), bytes, sizeof bytes) : ::recv(socket_, bytes, sizeof bytes, 0);
    if (received <= 0) return false;
    arrived_.append(bytes, static_cast<std::size_t>(received));
    return true;
  }

  int socket_ = -1;
  bool connected_ = false;
  std::unique_ptr<SSL, FreeTls> tls_;
  std::string arrived_;
};

inline std::string get(std::string_view path, std::string_view fields = {}) {
  std::string request = "GET ";
  return request.append(path).append(" HTTP/1.1\r\nHost: a\r\n").append(fields).append("\r\n");
}

inline std::string post(std::string_view path, std::string_view body, std::string_view fields = {}) {
  std::string request = "POST ";
  request.append(path).append(" HTTP/1.1\r\nHost: a\r\nContent-Length: ").append(std::to_string(body.size()));
  return request.append("\r\n").append(fields).append("\r\n").append(body);
}

}  // namespace weir::net
