// One outgoing connection: connects, agrees on TLS, moves bytes, watches the time. What happens next is
// decided by its machine (outbound_machine.h); here are the socket, the buffers and the timer.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"
#include "net/loop.h"
#include "net/outbound_machine.h"
#include "net/transport.h"
#include "wire/buffer.h"

namespace weir::net {

class Outbound;

/// Who uses a connection. Called on its thread; may close the connection or let go of it meanwhile.
class OutboundUser {
 public:
  /// A new connection is open; the output is sent when this returns.
  virtual void on_open() {}
  /// Bytes have been added to input().
  virtual void on_input() {}
  /// Enough of the output has been sent that more may be added.
  virtual void on_drained() {}
  /// The server sends no more.
  virtual void on_end() {}
  /// The time that was allowed has passed. The connection is as before.
  virtual void on_late() {}
  /// The connection is over, and its socket closed.
  virtual void on_failed(Outbound& connection, const Failure& why) = 0;

 protected:
  ~OutboundUser() = default;
};

/// Lives on the thread of its loop, which destroys it (Loop::retire()) if it can be in one of its members.
class Outbound : private Watched, private Timer {
 public:
  explicit Outbound(Loop& loop) : Watched(loop.readiness(), -1), loop_(loop), transport_(-1) {}
  ~Outbound() override = default;

  /// Whom to connect to: the first of the addresses that takes us, each tried for its share of the time.
  struct Target {
    std::vector<Address> addresses;
    TlsContext tls = {};    ///< null: without TLS
    std::string host = {};  ///< whose certificate it must be
  };
  /// Starts anew. False if it failed at once: failure() says why, and the user is not told.
  bool connect(OutboundUser& user, Target target, std::chrono::milliseconds within);
  /// For another user, of a connection that rests.
  void use(OutboundUser& user);
  /// Between two uses, for at most so long. The user is told when that is over, or the server closes it.
  void rest(OutboundUser& user, std::chrono::milliseconds at_most);
  /// Ends it. The user is not told.
  void close();

  /// What is to be sent: append, then flush().
  wire::Buffer& output();
  void flush();
  /// Sends what fits at once, and keeps the rest: for parts of bodies.
  void send(std::string_view data);
  /// Whether no more should be added to output() before on_drained().
  bool congested() const { return out_.size() >= most_unsent; }
  static constexpr std::size_t most_unsent = std::size_t{64} * 1024;
  /// Tells the server that nothing follows.
  void end_output();
  bool has_unsent() const { return !out_.empty(); }

  /// What was received and not taken yet. Whether more is to be read is said by want_input().
  wire::Buffer& input() { return in_; }
  void want_input(bool wanted);

  /// How long it may be silent once it is open, both ways; each byte that moves starts it anew. Nothing: for
  /// ever.
  void allow_silence(std::optional<std::chrono::milliseconds> silence);
  /// How long all that is still to come may take. For one that is open.
  void finish_within(std::chrono::milliseconds time);

  bool is_open() const { return machine_.is_open(); }
  bool is_idle() const { return machine_.stage() == OutboundMachine::Stage::idle; }
  bool is_closed() const { return machine_.stage() == OutboundMachine::Stage::closed; }
  /// Bytes since the user began.
  std::uint64_t sent() const { return machine_.sent(); }
  std::uint64_t received() const { return machine_.received(); }
  const Failure& failure() const { return machine_.failure(); }
  /// Whether the other end has not closed it, as far as can be seen now.
  bool looks_alive() const;

 private:
  using Next = OutboundMachine::Next;

  void on_ready() override;
  void on_deadline() override { settle(pursue(machine_.deadline())); }
  Next pursue(Next next);
  Next open_socket();
  Next take_tls_step();
  void settle(Next next);
  void transfer();
  bool write();
  bool read();
  void moved();
  void release();

  Loop& loop_;
  OutboundMachine machine_;
  Transport transport_;
  OutboundUser* user_ = nullptr;
  wire::Buffer in_;
  wire::Buffer out_;
  std::optional<std::chrono::milliseconds> silence_;
  Target target_;
  std::chrono::steady_clock::time_point connect_until_;
  bool wants_input_ = false;
  bool ends_output_ = false;  ///< once the output is sent
  bool drains_ = false;       ///< the user waits for on_drained()
};

}  // namespace weir::net
