// Accepts connections on one address.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <memory>
#include <vector>

#include "net/address.h"
#include "net/options.h"
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
class Listener final : public Timer {
 public:
  Listener(Worker& worker, ListenSocket socket, bool tls, std::vector<Worker*> targets, Counters& counters);
  ~Listener() override;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void begin() { wait(); }
  /// Accepts what the system has already accepted for us, then stops.
  void stop();
  void on_deadline() override;

 private:
  void wait();
  /// False if the system is out of something and it is better to wait.
  bool accept_some(int most);
  void place(int socket, const Address& peer);
  void refuse(int socket) const;

  Worker& worker_;
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> descriptor_;
  bool tls_;
  std::vector<Worker*> targets_;
  std::size_t turn_ = 0;
  Counters& counters_;
};

}  // namespace weir::net
