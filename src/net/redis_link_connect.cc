// How a link gets from nothing to a server that has accepted us: name, socket, TLS, greeting.
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "net/redis_link.h"

namespace weir::net {

namespace asio = boost::asio;
namespace resp = wire::resp;

namespace {

/// Those that need no lookup: literal ones, and this machine (RFC 6761), which has a name not everywhere.
std::vector<asio::ip::tcp::endpoint> known_addresses(const RedisAddress& address) {
  if (address.host == "localhost" || address.host.ends_with(".localhost"))
    return {{asio::ip::address_v4::loopback(), address.port},
            {asio::ip::address_v6::loopback(), address.port}};
  boost::system::error_code unknown;
  const auto literal = asio::ip::make_address(address.host, unknown);
  if (unknown.failed()) return {};
  return {{literal, address.port}};
}

/// An open socket on its way to the address, or -1.
int start_connecting(const asio::ip::tcp::endpoint& to) {
  const int socket = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (::connect(socket, to.data(), static_cast<socklen_t>(to.size())) == 0 || errno == EINPROGRESS)
    return socket;
  const int why = errno;
  ::close(socket);
  errno = why;
  return -1;
}

}  // namespace

void RedisLink::connect() {
  stage_ = Stage::resolving;
  attempt_ends_ = Clock::now() + options_.connect_within;
  const std::uint64_t serial = ++socket_serial_;
  const auto current = [this, serial] { return serial == socket_serial_ && stage_ == Stage::resolving; };
  addresses_ = known_addresses(address_);
  if (!addresses_.empty()) {
    return asio::post(context_, [this, current] {
      if (current()) try_next_address();
    });
  }
  resolver_.async_resolve(address_.host, std::to_string(address_.port),
                          [this, current](const boost::system::error_code& error, const auto& found) {
                            if (!current()) return;
                            if (error.failed()) return fail(base::join("cannot be found: ", error.message()));
                            resolved(found);
                          });
}

void RedisLink::resolved(const asio::ip::tcp::resolver::results_type& found) {
  addresses_.clear();
  for (const auto& one : found) addresses_.push_back(one.endpoint());
  try_next_address();
}

void RedisLink::try_next_address() {
  while (!addresses_.empty()) {
    const asio::ip::tcp::endpoint to = addresses_.front();
    addresses_.erase(addresses_.begin());
    const int socket = start_connecting(to);
    if (socket < 0) continue;
    ++socket_serial_;
    stage_ = Stage::connecting;
    descriptor_ = std::make_unique<Descriptor>(context_, socket);
    waits_for_read_ = waits_for_write_ = false;
    return wait_for_write();
  }
  fail(base::join("cannot be reached: ", std::strerror(errno)));
}

/// The socket can be written for the first time: it is connected, or it failed.
void RedisLink::connected() {
  int failure = 0;
  socklen_t size = sizeof failure;
  ::getsockopt(descriptor_->native_handle(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure != 0) {
    drop_socket();
    errno = failure;
    return try_next_address();
  }
  const int socket = descriptor_->native_handle();
  if (options_.tls) {
    transport_ = std::make_unique<Transport>(socket, connect_tls(options_.tls, socket, address_.host));
    stage_ = Stage::securing;
    return secure();
  }
  transport_ = std::make_unique<Transport>(socket);
  greet();
}

void RedisLink::secure() {
  switch (transport_->handshake().status) {
    case Transport::Status::needs_read:
      return wait_for_read();
    case Transport::Status::needs_write:
      return wait_for_write();
    case Transport::Status::done:
      return greet();
    default:
      return fail(base::join("does not agree on TLS: ", transport_->handshake_failure()));
  }
}

/// Says who we are. A server that does not know HELLO is spoken to in version 2.
void RedisLink::greet() {
  stage_ = Stage::greeting;
  input_.clear();
  output_.clear();
  reader_.reset();
  queued_bytes_ = written_bytes_ = 0;
  const std::string user = options_.user.empty() ? "default" : options_.user;
  greetings_left_ = 0;
  const auto say = [&](std::initializer_list<std::string_view> words) {
    output_.append(resp::command(words));
    ++greetings_left_;
  };
  if (!plain_greeting_) {
    options_.password.empty() ? say({"HELLO", "3"}) : say({"HELLO", "3", "AUTH", user, options_.password});
  } else if (!options_.password.empty()) {
    options_.user.empty() ? say({"AUTH", options_.password}) : say({"AUTH", user, options_.password});
  }
  if (options_.database != 0) say({"SELECT", std::to_string(options_.database)});
  say({"PING"});
  breaker_.break_silence(Clock::now());
  drive();
}

void RedisLink::greeted(const resp::Reply& reply) {
  if (reply.is_error()) {
    const std::string_view why = reply.text();
    const bool unknown = why.starts_with("ERR unknown command") || why.starts_with("NOPROTO");
    if (unknown && !plain_greeting_) {
      plain_greeting_ = true;
      attempts_ = 0;
    }
    return fail(base::join("does not accept us: ", why));
  }
  if (--greetings_left_ == 0) become_ready();
}

void RedisLink::become_ready() {
  stage_ = Stage::ready;
  attempts_ = 0;
  breaker_.answered();
  if (!first_words_.empty()) output_.append(first_words_);
  queued_bytes_ = output_.size();
  written_bytes_ = 0;
  std::deque<RedisCall*> waiting;
  waiting.swap(waiting_);
  for (RedisCall* call : waiting) append(*call);
  owner_.on_ready(*this);
  flush();
}

/// The first attempt follows at once, later ones after a pause that doubles, half of it by chance, so that a
/// thousand clients do not come back together.
void RedisLink::schedule_attempt(Clock::time_point now) {
  if (attempts_++ == 0) {
    attempt_at_ = now;
    return;
  }
  const unsigned doublings = attempts_ < 5 ? attempts_ : 5;
  const auto pause = std::min<std::chrono::milliseconds>(std::chrono::milliseconds(20U << doublings),
                                                         options_.longest_pause);
  const auto half = static_cast<std::uint64_t>(pause.count() / 2 + 1);
  attempt_at_ = now + std::chrono::milliseconds(half + entropy_.next() % half);
}

}  // namespace weir::net
