// Which sockets can be read or written: the epoll of a loop.
//
// A socket is registered once and stays registered across repeated waits, as on busy connections.
//
// A socket is watched level-triggered or edge-triggered. Level-triggered is simpler, but epoll checks every
// reported socket once more before it drops it from the ready list. Edge-triggered is for users that call
// all_read() and all_written().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>

namespace weir::net {

class Readiness;

/// A socket that is waited for. Lives on the thread of its Readiness, at least until the end of the turn: an
/// event already taken from epoll is delivered even if the wait has ended.
class Watched {
 public:
  enum class Trigger : std::uint8_t { level, edge };
  Watched(Readiness& readiness, int socket, Trigger trigger = Trigger::level)
      : readiness_(readiness), socket_(socket), edge_triggered_(trigger == Trigger::edge) {}
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Asks for one on_ready() when the socket can be read (written) or is broken. Asking twice is asking once.
  void wait_for_read() { want(reading); }
  void wait_for_write() { want(writing); }
  /// Ends all waits and closes the socket.
  void close_socket();

 protected:
  virtual ~Watched() { close_socket(); }
  /// Closes the socket and watches another one.
  void watch(int socket, Trigger trigger);
  int socket() const { return socket_; }
  /// A read returned less than it had room for, or nothing. Ignored once the peer has ended its side, since
  /// the end itself is still to be read.
  void all_read() {
    if (!ended_) ready_ &= static_cast<std::uint8_t>(~reading);
  }
  /// A write found no room.
  void all_written() { ready_ &= static_cast<std::uint8_t>(~writing); }
  /// The socket is ready, and the wait has ended; wait again if needed.
  virtual void on_ready() = 0;

 private:
  friend class Readiness;
  static constexpr std::uint8_t reading = 1;
  static constexpr std::uint8_t writing = 2;

  void want(std::uint8_t what);
  void happened(std::uint32_t events);
  void sync();

  Readiness& readiness_;
  int socket_;
  std::uint8_t wanted_ = 0;
  std::uint8_t known_ = 0;  ///< to epoll, which is updated only when it matters
  // Where it is edge-triggered:
  bool edge_triggered_;
  std::uint8_t ready_ = 0;  ///< reported by epoll, and possibly still true
  bool ended_ = false;      ///< the other end sends no more
};

/// The epoll of one loop.
class Readiness {
 public:
  Readiness();
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  /// Waits for events, for at most this many milliseconds; -1: without a timeout. True if there are some:
  /// call take_events().
  bool wait(int at_most);
  /// Delivers events until there are none or the bound of one turn is reached.
  void take_events();

 private:
  friend class Watched;
  /// More events than this are taken by the next epoll_wait().
  static constexpr int most_events = 128;

  const int epoll_;
  int count_ = 0;  ///< of events that were taken and not delivered yet
  std::array<epoll_event, most_events> events_;
};

}  // namespace weir::net
