#include "net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/file.h"
#include "base/text.h"
#include "net/address.h"

namespace weir::net {
namespace {

// OpenSSL's own BIO for sockets writes with write(), which raises SIGPIPE when the peer is gone. A library
// must not ask its program to ignore signals, so this BIO uses send().

int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto received = ::recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

/// In words, if the error is one of the usual mistakes.
std::string_view reason_of(unsigned long code) {
  if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE)
    return "it is empty, not in PEM form, or holds something else";
  if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_NO_CERTIFICATE_OR_CRL_FOUND)
    return "it is empty or has no certificate in PEM form";
  if (ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(code) == ERR_R_UNSUPPORTED)
    return "it is empty, not in PEM form, or holds something else";
  if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH)
    return "it does not belong to the certificate";
  if (ERR_GET_REASON(code) == ERR_R_INTERRUPTED_OR_CANCELLED)
    return "it has a passphrase; remove that with: openssl pkey -in OLD -out NEW";
  return {};
}

/// Why a file cannot be used: it cannot be read, or the first error in OpenSSL's queue.
Error tls_error(std::string_view what, const std::string& file) {
  const unsigned long code = ERR_get_error();
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  std::string reason = file.empty() ? std::string() : base::why_unreadable(file);
  if (reason.empty()) reason = reason_of(code);
  if (reason.empty()) reason = text.data();
  return base::invalid(what, " ", base::quoted(file), ": ", reason);
}

/// A program must not wait for a passphrase from its terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

constexpr std::string_view http_1_1 = "\x08http/1.1";

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  const auto* ours = reinterpret_cast<const unsigned char*>(http_1_1.data());
  if (SSL_select_next_proto(&found, size, ours, http_1_1.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void FreeTls::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void FreeTls::operator()(ssl_st* connection) const { SSL_free(connection); }

Result<TlsContext> load_server_tls(const TlsFiles& files) {
  TlsContext context(SSL_CTX_new(TLS_server_method()), FreeTls());
  if (context == nullptr) return tls_error("cannot use TLS with", files.certificate);
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // For TLS 1.2: only key exchanges with forward secrecy, and no CBC, because of padding-oracle attacks.
  if (SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
    return tls_error("cannot choose ciphers for", files.certificate);
  // A write may be partial, and may be retried from another address; idle connections hold no buffers.
  SSL_CTX_set_mode(
      raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
    return tls_error("cannot use the certificate", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("cannot use the key", files.key);
  }
  if (SSL_CTX_check_private_key(raw) != 1)
    return tls_error("the certificate does not belong to the key", files.key);
  return context;
}

namespace {

TlsConnection tls_on(const TlsContext& context, int socket) {
  TlsConnection connection(SSL_new(context.get()));
  BIO* bio = BIO_new(socket_method());
  if (connection == nullptr || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a BIO keeps a pointer, and only the socket is needed
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(connection.get(), bio, bio);
  return connection;
}

}  // namespace

TlsConnection accept_tls(const TlsContext& context, int socket) {
  TlsConnection connection = tls_on(context, socket);
  if (connection != nullptr) SSL_set_accept_state(connection.get());
  return connection;
}

Result<TlsContext> load_client_tls(const ClientTls& wanted) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()), FreeTls());
  if (context == nullptr) return tls_error("cannot use TLS with", wanted.authorities);
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
  if (wanted.http)
    SSL_CTX_set_alpn_protos(raw, reinterpret_cast<const unsigned char*>(http_1_1.data()), http_1_1.size());
  const int trusted = wanted.authorities.empty() ? SSL_CTX_set_default_verify_paths(raw)
                                                 : SSL_CTX_load_verify_file(raw, wanted.authorities.c_str());
  if (trusted != 1) return tls_error("cannot use the certificates in", wanted.authorities);
  if (wanted.certificate.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(raw, wanted.certificate.c_str()) != 1)
    return tls_error("cannot use the certificate", wanted.certificate);
  if (SSL_CTX_use_PrivateKey_file(raw, wanted.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return tls_error("cannot use the key", wanted.key);
  return context;
}

TlsConnection connect_tls(const TlsContext& context, int socket, const std::string& host) {
  TlsConnection connection = tls_on(context, socket);
  if (connection == nullptr) return nullptr;
  SSL_set_connect_state(connection.get());
  if (Address::parse(host, 0)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection.get()), host.c_str()) != 1) return nullptr;
    return connection;
  }
  SSL_set_hostflags(connection.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(connection.get(), host.c_str()) != 1) return nullptr;
  if (SSL_set_tlsext_host_name(connection.get(), host.c_str()) != 1) return nullptr;
  return connection;
}

std::string handshake_problem(const ssl_st& connection) {
  const long verified = SSL_get_verify_result(&connection);
  if (verified != X509_V_OK) {
    ERR_clear_error();
    return X509_verify_cert_error_string(verified);
  }
  const char* const reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return reason == nullptr ? "the connection was cut" : reason;
}

}  // namespace weir::net
