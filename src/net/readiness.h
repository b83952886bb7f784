// Which sockets can be read or written: the epoll of a loop.
//
// A socket is registered once and stays so while it is waited for again and again, as the sockets of busy
// connections are.
//
// A socket is watched level-triggered or edge-triggered. Level-triggered needs no care, but epoll looks once
// more at every socket that it reported, to find out that it need not report it again. Edge-triggered is for
// users that say when they have read everything.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>

namespace weir::net {

class Readiness;

/// A socket that is waited for. Lives on the thread of its Readiness, and until what runs there now has
/// ended: an event that was taken from the system is told even if the wait is over by then.
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
  /// A read found less than it had room for, or nothing. What the other end said before it ended its side
  /// does not count: the end itself is still to be read.
  void all_read() {
    if (!ended_) ready_ &= static_cast<std::uint8_t>(~reading);
  }
  /// A write found no room.
  void all_written() { ready_ &= static_cast<std::uint8_t>(~writing); }
  /// What was waited for is no longer; wait again if it is needed.
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
  std::uint8_t known_ = 0;  ///< to the system, which is told of changes only when they matter
  // Where it is edge-triggered:
  bool edge_triggered_;
  std::uint8_t ready_ = 0;  ///< what it told of, and it may still be so
  bool ended_ = false;      ///< the other end sends no more
};

/// The epoll of one loop.
class Readiness {
 public:
  Readiness();
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  /// Waits for events, for at most so many milliseconds; -1: for ever. True if there are some: call
  /// take_events().
  bool wait(int at_most);
  /// Tells those whose events have come, until none come any more or it was long enough for now.
  void take_events();

 private:
  friend class Watched;
  /// More events than this are taken in the next look.
  static constexpr int most_events = 128;

  const int epoll_;
  int count_ = 0;  ///< of events that were taken and not told yet
  std::array<epoll_event, most_events> events_;
};

}  // namespace weir::net
