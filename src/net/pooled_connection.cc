#include "net/pooled_connection.h"

#include <sys/socket.h>

#include <utility>

#include "base/text.h"
#include "net/dial.h"
#include "wire/http_write.h"
#include "wire/url.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;
using Status = Transport::Status;
using wire::http::Framing;
using wire::http::Method;
using wire::http::Progress;

constexpr std::size_t read_size = std::size_t{16} * 1024;

}  // namespace

std::string_view name_of(Method method) {
  switch (method) {
    case Method::head:
      return "HEAD";
    case Method::post:
      return "POST";
    case Method::put:
      return "PUT";
    case Method::delete_:
      return "DELETE";
    case Method::patch:
      return "PATCH";
    default:
      return "GET";
  }
}

PooledConnection::~PooledConnection() = default;

void PooledConnection::connect(const Address& address) {
  until_ = Clock::now() + options_.connect_within;
  auto started = start_connecting(address);
  if (auto* const failure = std::get_if<HttpFailure>(&started)) return close(*failure);
  descriptor_ = std::make_unique<Descriptor>(context_, std::get<int>(started));
  wait(/*to_write=*/true);
}

void PooledConnection::connected() {
  const int socket = descriptor_->native_handle();
  if (auto problem = problem_of(socket)) return close(*problem);
  if (!tls_) {
    transport_.emplace(socket);
    return become_free();
  }
  TlsConnection tls = connect_tls(tls_, socket, options_.host);
  if (tls == nullptr) return close({Kind::tls, "no memory for it"});
  secured_ = tls.get();
  transport_.emplace(socket, std::move(tls));
  stage_ = Stage::securing;
  secure();
}

void PooledConnection::secure() {
  switch (transport_->handshake().status) {
    case Status::done:
      return become_free();
    case Status::needs_read:
      return wait(false);
    case Status::needs_write:
      return wait(true);
    default:
      return close({Kind::tls, handshake_problem(*secured_)});
  }
}

void PooledConnection::become_free() {
  was_made_ = true;
  stage_ = Stage::idle;
  until_ = Clock::now() + options_.idle_for;
  // The server may close it while nobody uses it.
  wait(false);
  owner_.on_free(*this);
}

/// Something came that nobody asked for: the end, or with TLS a message between the two machines.
void PooledConnection::idle_readable() {
  char byte = 0;
  const auto outcome = transport_->read({&byte, 1});
  if (outcome.status == Status::needs_read) return wait(false);
  close({Kind::lost, "the server has closed the connection", false});
}

void PooledConnection::carry(HttpCall& call) {
  call_ = &call;
  stage_ = Stage::sending;
  sent_ = 0;
  output_.clear();
  wire::http::write_request_line(output_, name_of(call.method), call.target);
  wire::http::write_field(output_, "Host", wire::authority_of({options_.host, options_.port}, options_.tls));
  output_.append(call.fields);
  if (!call.body.empty() || call.method == Method::post || call.method == Method::put)
    wire::http::write_field(output_, "Content-Length", std::uint64_t{call.body.size()});
  output_.append("\r\n");
  output_.append(call.body);
  input_.clear();
  parser_.clear();
  body_.clear();
  write();
}

void PooledConnection::write() {
  while (!output_.empty()) {
    const auto outcome = transport_->write(output_.view());
    switch (outcome.status) {
      case Status::done:
        sent_ += outcome.bytes;
        output_.consume(outcome.bytes);
        break;
      case Status::needs_read:
        return wait(false);
      case Status::needs_write:
        return wait(true);
      default:
        return fail(Kind::lost, "the connection was cut");
    }
  }
  stage_ = Stage::head;
  wait(false);
}

void PooledConnection::drive() {
  switch (stage_) {
    case Stage::connecting:
      return connected();
    case Stage::securing:
      return secure();
    case Stage::idle:
      return idle_readable();
    case Stage::sending:
      return write();
    case Stage::head:
    case Stage::body:
      return read();
    default:
      return;
  }
}

void PooledConnection::read() {
  for (;;) {
    input_.reserve(read_size);
    const auto outcome = transport_->read(input_.room());
    switch (outcome.status) {
      case Status::needs_read:
        return wait(false);
      case Status::needs_write:
        return wait(true);
      case Status::ended:
      case Status::failed:
        return arrived_end();
      default:
        input_.commit(outcome.bytes);
    }
    if (stage_ == Stage::head && !take_head()) {
      if (stage_ == Stage::closed) return;
      continue;
    }
    if (take_body() || stage_ == Stage::closed) return;
  }
}

bool PooledConnection::take_head() {
  for (;;) {
    const Progress progress = parser_.parse(input_.view(), call_->method, head_);
    if (progress == Progress::need_more) return false;
    if (progress == Progress::failed)
      return fail(Kind::not_http, std::string(parser_.refusal().reason)), false;
    const bool interim = head_.interim();
    if (!interim) {
      // The buffer moves on under the body.
      head_text_.assign(input_.view().substr(0, parser_.size()));
      head_.rebase(head_text_.data());
    }
    input_.consume(parser_.size());
    parser_.clear();
    if (interim) continue;
    keep_alive_ = head_.keep_alive();
    decoder_.start(head_.body(), options_.largest_body);
    stage_ = Stage::body;
    return true;
  }
}

bool PooledConnection::take_body() {
  for (;;) {
    if (decoder_.complete()) return answered(), true;
    const auto step = decoder_.decode(input_.view());
    body_ += step.data;
    input_.consume(step.consumed);
    if (step.progress == Progress::complete) return answered(), true;
    if (step.progress == Progress::failed) {
      const bool large = decoder_.refusal().status == 413;
      fail(large ? Kind::too_large : Kind::not_http, std::string(decoder_.refusal().reason));
      return false;
    }
    if (step.consumed == 0) return false;
  }
}

void PooledConnection::arrived_end() {
  keep_alive_ = false;
  if (stage_ == Stage::body && decoder_.end_of_input()) return answered();
  fail(Kind::lost, "the connection was cut");
}

void PooledConnection::answered() {
  HttpCall& call = *std::exchange(call_, nullptr);
  // More than was asked for: where the next answer would begin is not known.
  const bool goes_on = keep_alive_ && input_.empty();
  stage_ = Stage::idle;
  until_ = Clock::now() + options_.idle_for;
  owner_.on_reply(call, {head_.status(), head_.fields(), body_});
  // A large answer is not worth keeping room for.
  if (body_.capacity() > 8 * read_size) body_ = std::string();
  if (!goes_on) return close({Kind::lost, "the server closes the connection", false});
  wait(false);
  owner_.on_free(*this);
}

void PooledConnection::fail(Kind kind, std::string detail) { close({kind, std::move(detail), sent_ > 0}); }

void PooledConnection::close(const HttpFailure& failure) {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closed;
  transport_.reset();
  descriptor_.reset();
  HttpCall* const call = std::exchange(call_, nullptr);
  owner_.on_closed(*this, was_made_ ? std::nullopt : std::optional(failure));
  if (call == nullptr) return;
  HttpFailure told = failure;
  told.sent = sent_ > 0;
  owner_.on_failure(*call, told);
}

void PooledConnection::tick(Clock::time_point now) {
  if (call_ != nullptr) {
    if (now >= call_->expires_) fail(Kind::slow, "no answer in time");
    return;
  }
  if (now < until_) return;
  if (is_connecting()) return close({Kind::slow, "no connection in time"});
  close({Kind::lost, "not used for long", false});
}

void PooledConnection::wait(bool to_write) {
  bool& waits = to_write ? waits_for_write_ : waits_for_read_;
  if (waits || !descriptor_) return;
  waits = true;
  descriptor_->async_wait(to_write ? Descriptor::wait_write : Descriptor::wait_read,
                          [this, to_write](const boost::system::error_code& error) {
                            // A closed one may be gone by now.
                            if (error == boost::asio::error::operation_aborted) return;
                            (to_write ? waits_for_write_ : waits_for_read_) = false;
                            error.failed() ? fail(Kind::lost, "the connection was cut") : drive();
                          });
}

}  // namespace weir::net
