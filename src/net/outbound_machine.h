// The state machine of an outgoing connection, without socket and clock: events go in, the next step comes
// out. The shell around it (outbound.h) carries out the steps.
//
//   connecting -> [securing] -> open <-> idle
//        \------------\-----------\--------\----> closed
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "net/failure.h"
#include "net/transport.h"

namespace weir::net {

/// Not safe for use by several threads at once. A closed one answers every event with `nothing`.
class OutboundMachine {
 public:
  enum class Stage : std::uint8_t { connecting, securing, open, idle, closed };
  enum class Next : std::uint8_t {
    nothing,
    connect,         ///< to address(), then call connected() with the result
    take_tls_step,   ///< then call handshaken()
    wait_for_read,   ///< the same again when the socket can be read
    wait_for_write,  ///< the same again when the socket can be written
    tell_open,       ///< the user may send
    deliver,         ///< the bytes that were read
    tell_end,        ///< the server sends no more, and ended in good order
    tell_late,       ///< the timeout has passed; the user decides what follows
    read_what_came,  ///< the server accepts no more bytes, but an answer may have arrived
    fail,            ///< close the socket and pass failure() to the user
  };
  using Status = Transport::Status;

  Stage stage() const { return stage_; }
  bool is_open() const { return stage_ == Stage::open; }
  /// Which of the addresses is tried, and how many are left with it.
  std::size_t address() const { return address_; }
  std::size_t addresses_left() const { return addresses_ - address_; }
  /// Bytes since use() was called.
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  /// Why it is closed.
  const Failure& failure() const { return failure_; }

  Next start(std::size_t addresses, bool tls);
  /// The result of connecting to address(): nothing, or why it failed.
  Next connected(std::optional<Failure> problem);
  Next handshaken(Status status, std::string problem);
  /// The server accepts no more bytes, and its input is not needed.
  Next lose() { return fail(Failure::Kind::lost, "the connection was cut"); }
  /// The deadline of this stage, or of this address, has passed.
  Next deadline();
  Next read(Transport::Outcome outcome) {
    if (outcome.status != Status::done || stage_ != Stage::open) return read_nothing(outcome.status);
    received_ += outcome.bytes;
    return Next::deliver;
  }
  Next written(Transport::Outcome outcome) {
    if (outcome.status != Status::done) return written_nothing(outcome.status);
    sent_ += outcome.bytes;
    return Next::nothing;
  }

  /// Between two users: any byte from the server is a reason to close.
  void rest() {
    if (stage_ == Stage::open) stage_ = Stage::idle;
  }
  /// For the next user.
  void use() {
    if (stage_ == Stage::idle) stage_ = Stage::open;
    sent_ = received_ = 0;
  }
  void close() { stage_ = Stage::closed; }

 private:
  Next open() {
    stage_ = Stage::open;
    return Next::tell_open;
  }
  Next fail(Failure::Kind kind, std::string detail);
  Next read_nothing(Status status);
  Next written_nothing(Status status);

  Stage stage_ = Stage::closed;
  bool tls_ = false;
  bool cut_ = false;  ///< the server accepts no more bytes
  std::size_t addresses_ = 0;
  std::size_t address_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  Failure failure_;
};

}  // namespace weir::net
