#include "net/outbound_machine.h"

namespace weir::net {

using Kind = Failure::Kind;
using Next = OutboundMachine::Next;

Next OutboundMachine::start(std::size_t addresses, bool tls) {
  *this = {};
  stage_ = Stage::connecting;
  tls_ = tls;
  addresses_ = addresses;
  return addresses == 0 ? fail(Kind::no_such_host, "the name has no address") : Next::connect;
}

Next OutboundMachine::connected(std::optional<Failure> problem) {
  if (stage_ != Stage::connecting) return Next::nothing;
  if (problem) {
    // A refusal at one address is less informative than any other error.
    if (address_ == 0 || failure_.kind == Kind::refused) failure_ = *std::move(problem);
    if (++address_ < addresses_) return Next::connect;
    stage_ = Stage::closed;
    return Next::fail;
  }
  if (!tls_) return open();
  stage_ = Stage::securing;
  return Next::take_tls_step;
}

Next OutboundMachine::handshaken(Status status, std::string problem) {
  if (stage_ != Stage::securing) return Next::nothing;
  switch (status) {
    case Status::done:
      return open();
    case Status::needs_read:
      return Next::wait_for_read;
    case Status::needs_write:
      return Next::wait_for_write;
    default:
      return fail(Kind::tls, std::move(problem));
  }
}

Next OutboundMachine::deadline() {
  switch (stage_) {
    case Stage::connecting:
      return connected(Failure{Kind::slow, "no connection in time"});
    case Stage::securing:
      return fail(Kind::slow, "no secure connection in time");
    case Stage::open:
      return Next::tell_late;
    case Stage::idle:
      return fail(Kind::lost, "not used for long");
    default:
      return Next::nothing;
  }
}

Next OutboundMachine::read_nothing(Status status) {
  if (stage_ == Stage::closed) return Next::nothing;
  if (status == Status::needs_write) return Next::wait_for_write;
  if (status == Status::needs_read && !cut_) return Next::wait_for_read;
  // Unsolicited bytes are treated as an end.
  if (stage_ == Stage::idle) return fail(Kind::lost, "the server has closed the connection");
  if (status == Status::ended) return Next::tell_end;
  return lose();
}

Next OutboundMachine::written_nothing(Status status) {
  if (stage_ == Stage::closed) return Next::nothing;
  if (status == Status::needs_read) return Next::wait_for_read;
  if (status == Status::needs_write) return Next::wait_for_write;
  cut_ = true;
  return Next::read_what_came;
}

Next OutboundMachine::fail(Kind kind, std::string detail) {
  stage_ = Stage::closed;
  failure_ = {kind, std::move(detail)};
  return Next::fail;
}

}  // namespace weir::net
