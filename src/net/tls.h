// TLS by OpenSSL, on sockets that do not block. Asio's own stream for it keeps 34 KiB of buffers for each
// connection and completes every operation through the loop; here a read or write is a plain call that may
// say "not yet", like one without TLS.
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

/// What a client trusts and shows. All files are PEM.
struct ClientTlsFiles {
  std::string authorities = {};  ///< whom to trust; empty: whom the system trusts
  std::string certificate = {};  ///< to show to the server, with its key; empty: none
  std::string key = {};
};
/// What connections of a client need: TLS 1.2 and 1.3, and a server that proves its name.
Result<TlsContext> load_client_tls(const ClientTlsFiles& files);

/// The client's side of TLS on a connected socket, which stays the caller's. `host`: the name or the address
/// that the server's certificate must be for. Null if there is no memory for it.
TlsConnection connect_tls(const TlsContext& context, int socket, const std::string& host);
/// Why the last handshake on this thread failed.
std::string handshake_error(const ssl_st& connection);

/// The server's side of TLS on a connected socket, which stays the caller's. Keeps the context alive. Null
/// if there is no memory for it.
TlsConnection accept_tls(const TlsContext& context, int socket);

}  // namespace weir::net
