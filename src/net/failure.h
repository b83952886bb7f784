// Why there is no connection, or no answer on it.
#pragma once

#include <string>

namespace weir::net {

struct Failure {
  enum class Kind : unsigned char {
    no_such_host,  ///< the name leads nowhere
    refused,       ///< nobody listens there
    unreachable,   ///< no connection could be made otherwise
    slow,          ///< it took longer than the timeout
    tls,           ///< no secure connection, or not with the one that was meant
    lost,          ///< the connection ended before the answer did
    not_http,      ///< what came is no answer
    too_large,     ///< the answer is larger than what is read
  };
  Kind kind = Kind::unreachable;
  std::string detail = {};
  /// The request, or a part of it, was sent: it may have had its effect.
  bool sent = false;
};

}  // namespace weir::net
