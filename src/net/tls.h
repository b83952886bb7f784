// TLS by OpenSSL, on sockets that do not block.
//
// As without TLS, a read or write is a plain call that may return "not yet".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/options.h"
#include "weir/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::net {

struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* connection) const;
};
using TlsContext = std::shared_ptr<ssl_ctx_st>;
using TlsConnection = std::unique_ptr<ssl_st, FreeTls>;

/// Reads the files and makes the context of a server's connections: TLS 1.2 and 1.3, http/1.1.
Result<TlsContext> load_server_tls(const TlsFiles& files);

/// The server's side of TLS on a connected socket, which the caller keeps and closes. Keeps the context
/// alive. Null if out of memory.
TlsConnection accept_tls(const TlsContext& context, int socket);

/// The trust, the certificate and the protocol of a client. All files are PEM.
struct ClientTls {
  std::string authorities = {};  ///< the trusted CA certificates; empty: those of the system
  std::string certificate = {};  ///< the client certificate, with its key; empty: none
  std::string key = {};
  bool http = false;  ///< asks for http/1.1
};

/// Makes the context of a client's connections: TLS 1.2 and 1.3, with verification of the server's name.
Result<TlsContext> load_client_tls(const ClientTls& wanted);

/// The client's side, as accept_tls(). The certificate must be for `host`, a name or a literal address.
TlsConnection connect_tls(const TlsContext& context, int socket, const std::string& host);

/// Why a handshake failed; to be called right after it did. The problem of the certificate, or else the error
/// of OpenSSL.
std::string handshake_problem(const ssl_st& connection);

}  // namespace weir::net
