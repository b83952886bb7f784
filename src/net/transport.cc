#include "net/transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weir::net {
namespace {

// Raw system calls: the functions of libc are cancellation points, which cost time on every call in a program
// with several threads. The sanitizers intercept the functions, so they get those.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
auto receive(int socket, std::span<char> into) { return ::recv(socket, into.data(), into.size(), 0); }
auto send(int socket, std::string_view from) {
  return ::send(socket, from.data(), from.size(), MSG_NOSIGNAL);
}
#else
auto receive(int socket, std::span<char> into) {
  return ::syscall(SYS_recvfrom, socket, into.data(), into.size(), 0, nullptr, nullptr);
}
auto send(int socket, std::string_view from) {
  return ::syscall(SYS_sendto, socket, from.data(), from.size(), MSG_NOSIGNAL, nullptr, 0);
}
#endif

}  // namespace

Transport::Outcome Transport::outcome_of_tls(int result) const {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {Status::needs_read};
    case SSL_ERROR_WANT_WRITE:
      return {Status::needs_write};
    case SSL_ERROR_ZERO_RETURN:
      return {Status::ended};
    default:
      return {Status::failed};
  }
}

Transport::Outcome Transport::handshake() {
  if (!tls_) return {Status::done};
  // Errors of other connections on this thread must not be taken for those of this one.
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  return result == 1 ? Outcome{Status::done} : outcome_of_tls(result);
}

std::string Transport::handshake_failure() const { return tls_ ? handshake_problem(*tls_) : std::string(); }

Transport::Outcome Transport::read(std::span<char> into) {
  if (tls_) {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_read_ex(tls_.get(), into.data(), into.size(), &bytes);
    return result == 1 ? Outcome{Status::done, bytes} : outcome_of_tls(result);
  }
  auto received = receive(socket_, into);
  while (received < 0 && errno == EINTR) received = receive(socket_, into);
  if (received > 0) return {Status::done, static_cast<std::size_t>(received)};
  if (received == 0) return {Status::ended};
  return {errno == EAGAIN ? Status::needs_read : Status::failed};
}

Transport::Outcome Transport::write(std::string_view from) {
  if (tls_) {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_write_ex(tls_.get(), from.data(), from.size(), &bytes);
    return result == 1 ? Outcome{Status::done, bytes} : outcome_of_tls(result);
  }
  auto sent = send(socket_, from);
  while (sent < 0 && errno == EINTR) sent = send(socket_, from);
  if (sent >= 0) return {Status::done, static_cast<std::size_t>(sent)};
  return {errno == EAGAIN ? Status::needs_write : Status::failed};
}

bool Transport::has_pending() const { return tls_ && SSL_has_pending(tls_.get()) == 1; }

void Transport::shut_down() {
  if (tls_) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());
  }
  ::shutdown(socket_, SHUT_WR);
}

void Transport::reset_on_close() const {
  const linger immediately{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &immediately, sizeof immediately);
}

}  // namespace weir::net
