// TLS by OpenSSL, on sockets that do not block.
//
// A read or write is a plain call that may say "not yet", like one without TLS.
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

/// Reads the files and makes what connections of a server need: TLS 1.2 and 1.3, http/1.1.
Result<TlsContext> load_server_tls(const TlsFiles& files);

/// The server's side of TLS on a connected socket, which stays the caller's. Keeps the context alive. Null
/// if there is no memory for it.
TlsConnection accept_tls(const TlsContext& context, int socket);

/// What a client trusts, shows and speaks. All files are PEM.
struct ClientTls {
  std::string authorities = {};  ///< whose certificates are believed; empty: whom the machine trusts
  std::string certificate = {};  ///< to show to the server, with its key; empty: none
  std::string key = {};
  bool http = false;  ///< asks for http/1.1
};

/// Makes what connections of a client need: TLS 1.2 and 1.3, and a server that proves its name.
Result<TlsContext> load_client_tls(const ClientTls& wanted);

/// The client's side, as accept_tls(). The certificate must be for `host`, a name or a literal address.
TlsConnection connect_tls(const TlsContext& context, int socket, const std::string& host);

/// Why a handshake failed, in words, right after it did: what is wrong with the certificate, or else what
/// OpenSSL says.
std::string handshake_problem(const ssl_st& connection);

}  // namespace weir::net
