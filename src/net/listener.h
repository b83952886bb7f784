// Accepts connections on one address.
#pragma once

#include <memory>
#include <vector>

#include "net/address.h"
#include "net/options.h"
#include "net/readiness.h"
#include "net/timer_wheel.h"
#include "weir/result.h"

namespace weir::net {

class Worker;
struct Counters;

/// A socket that listens; closed with it.
class ListenSocket {
 public:
  /// Binds and listens. With reuse_port several sockets may listen on the same address.
  static Result<ListenSocket> open(const Address& address, bool reuse_port);
  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&& other) noexcept;
  ~ListenSocket();

  /// With the port that was chosen.
  const Address& address() const { return address_; }
  int release();

 private:
  ListenSocket(int socket, const Address& address) : socket_(socket), address_(address) {}
  int socket_;
  Address address_;
};

/// Accepts on its worker's thread and gives connections to `targets` in turn.
class Listener final : private Watched, private Timer {
 public:
  Listener(Worker& worker, ListenSocket socket, bool tls, std::vector<Worker*> targets, Counters& counters);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void begin() { wait_for_read(); }
  /// Accepts what the system has already accepted for us, then stops.
  void stop();

 private:
  void on_ready() override;
  void on_deadline() override { wait_for_read(); }
  /// False if the system is out of something and it is better to wait.
  bool accept_some(int most);
  void place(int socket, const Address& peer);
  void refuse(int socket) const;

  Worker& worker_;
  bool tls_;
  std::vector<Worker*> targets_;
  std::size_t turn_ = 0;
  Counters& counters_;
};

}  // namespace weir::net
