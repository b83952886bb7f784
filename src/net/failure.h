// Why there is no connection, or no answer on it.
#pragma once

#include <string>

namespace weir::net {

struct Failure {
  enum class Kind : unsigned char {
    no_such_host,  ///< the name has no address
    refused,       ///< no process listens there
    unreachable,   ///< connecting failed for another reason
    slow,          ///< it took longer than the timeout
    tls,           ///< the handshake failed, or the certificate is not for this host
    lost,          ///< the connection ended before the answer did
    not_http,      ///< the bytes received are not an HTTP answer
    too_large,     ///< the answer is larger than the limit
  };
  Kind kind = Kind::unreachable;
  std::string detail = {};
  /// The request, or a part of it, was sent: it may have had its effect.
  bool sent = false;
};

}  // namespace weir::net
