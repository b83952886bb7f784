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

/// A listening socket, which the caller closes.
struct ListenSocket {
  int socket = -1;
  Address address;  ///< with the port that was chosen

  /// Binds and listens. With reuse_port several sockets may listen on the same address.
  static Result<ListenSocket> open(const Address& address, bool reuse_port);
};

/// Accepts on its worker's thread and gives connections to `targets` in turn.
class Listener final : private Watched, private Timer {
 public:
  Listener(Worker& worker, int socket, bool tls, std::vector<Worker*> targets, Counters& counters);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void begin() { wait_for_read(); }
  /// Accepts the connections in the kernel's backlog, then stops.
  void stop();

 private:
  void on_ready() override;
  void on_deadline() override { wait_for_read(); }
  /// False if the system is out of descriptors or memory: wait before the next attempt.
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
