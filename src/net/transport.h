// Reading and writing a connected socket that does not block, with or without TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/tls.h"

namespace weir::net {

/// Does not own the socket. Not safe for use by several threads at once.
class Transport {
 public:
  enum class Status : std::uint8_t {
    done,         ///< `bytes` were moved
    needs_read,   ///< try again when the socket can be read
    needs_write,  ///< try again when the socket can be written
    ended,        ///< the peer sends no more
    failed,       ///< the connection is broken
  };
  struct Outcome {
    Status status;
    std::size_t bytes = 0;
  };

  explicit Transport(int socket) : socket_(socket) {}
  Transport(int socket, TlsConnection tls) : socket_(socket), tls_(std::move(tls)) {}

  bool tls() const { return tls_ != nullptr; }
  /// One step of the handshake. Done at once without TLS.
  Outcome handshake();
  /// Why it failed.
  std::string handshake_failure() const;
  Outcome read(std::span<char> into);
  Outcome write(std::string_view from);
  /// Whether TLS holds bytes that it has already read from the socket: epoll does not report them.
  bool has_pending() const;
  /// Ends the sending side. Input can still be read.
  void shut_down();
  /// Makes close() reset the connection instead of ending it in good order.
  void reset_on_close() const;

 private:
  Outcome outcome_of_tls(int result) const;

  int socket_;
  TlsConnection tls_;
};

}  // namespace weir::net
