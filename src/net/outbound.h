// One outgoing connection: connect, TLS handshake, input, output and deadlines. Its state machine
// (outbound_machine.h) decides each step; the socket, the buffers and the timer are here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/outbound_machine.h"
#include "net/transport.h"
#include "wire/buffer.h"

namespace weir::net {

class Outbound;

/// The callbacks of a connection, called on its thread. A callback may close or release the connection.
class OutboundUser {
 public:
  /// A new connection is open; the output is sent when this returns.
  virtual void on_open() {}
  /// Bytes have been added to input().
  virtual void on_input() {}
  /// Enough output has been sent; more may be added. After tell_when_sent(): all of it.
  virtual void on_drained() {}
  /// The server sends no more.
  virtual void on_end() {}
  /// The timeout has passed. The connection is unchanged.
  virtual void on_late() {}
  /// The connection is over, and its socket closed.
  virtual void on_failed(Outbound& connection, const Failure& why) = 0;

 protected:
  ~OutboundUser() = default;
};

/// Lives on the thread of its loop. If one of its members may be on the stack, destroy it with
/// Loop::retire().
class Outbound : private Watched, private Timer {
 public:
  explicit Outbound(Loop& loop) : Watched(loop.readiness(), -1), loop_(loop), transport_(-1) {}
  ~Outbound() override = default;

  /// The server: its addresses are tried in order, each for its share of the time, until one accepts.
  struct Target {
    std::vector<Address> addresses;
    TlsContext tls = {};    ///< null: without TLS
    std::string host = {};  ///< the name that the certificate must have
  };
  /// Starts connecting. False if that failed at once: see failure(); the user is not called.
  bool connect(OutboundUser& user, Target target, std::chrono::milliseconds within);
  /// Hands an idle connection to another user.
  void use(OutboundUser& user);
  /// Keeps the connection idle between two uses. The user is called when this time is over or the server
  /// closes the connection.
  void rest(OutboundUser& user, std::chrono::milliseconds at_most);
  /// Closes the connection. The user is not called.
  void close();

  /// The output: append, then flush().
  wire::Buffer& output();
  void flush();
  /// Sends as much as the socket takes, and buffers the rest: for parts of bodies.
  void send(std::string_view data);
  /// Whether no more should be added to output() before on_drained().
  bool congested() const { return out_.size() >= most_unsent; }
  static constexpr std::size_t most_unsent = maxima::unsent_requests;
  /// Ends the sending side once the output is sent.
  void end_output();
  bool has_unsent() const { return !out_.empty(); }
  /// Has on_drained() called once the loop has sent all output. A flush() that sends it calls nothing.
  void tell_when_sent() { tells_sent_ = true; }
  /// Frees the memory of output that has been sent, for a user that waits for long.
  void give_back_output() {
    if (out_.empty()) loop_.give_back(std::move(out_));
  }

  /// The bytes received and not consumed yet. want_input() turns reading on and off.
  wire::Buffer& input() { return in_; }
  void want_input(bool wanted);

  /// The idle timeout of an open connection; each byte in either direction restarts it. Nothing: none.
  void allow_silence(std::optional<std::chrono::milliseconds> silence);
  /// The timeout of the whole remaining exchange. For an open connection.
  void finish_within(std::chrono::milliseconds time);

  bool is_open() const { return machine_.is_open(); }
  bool is_idle() const { return machine_.stage() == OutboundMachine::Stage::idle; }
  bool is_closed() const { return machine_.stage() == OutboundMachine::Stage::closed; }
  /// Bytes since this user took the connection.
  std::uint64_t sent() const { return machine_.sent(); }
  std::uint64_t received() const { return machine_.received(); }
  const Failure& failure() const { return machine_.failure(); }
  /// Whether the peer has not closed the connection, as far as can be seen.
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
  bool tells_sent_ = false;   ///< on_drained() waits until all is sent
};

}  // namespace weir::net
