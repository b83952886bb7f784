// An HTTP/1.1 server: listeners, threads and connections around a Handler.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/address.h"
#include "net/handler.h"
#include "net/options.h"
#include "weir/result.h"

namespace weir::net {

struct ServerStatus {
  unsigned open_connections = 0;
  std::uint64_t accepted = 0;  ///< connections, since the start
  std::uint64_t refused = 0;   ///< connections beyond max_connections
};

/// Members may be called from any thread, but wait(), reload_tls() and the destructor not from a handler.
class Server {
 public:
  /// Listens, and serves until drained. The handler must outlive the server. On failure, such as an address
  /// in use or an unreadable certificate, no socket is left listening.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler& handler);
  /// Drains without waiting, then waits for every exchange that a handler still holds.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The addresses it listens on, in the order of ServerOptions::listen, with the ports that were chosen.
  const std::vector<Address>& addresses() const;
  ServerStatus status() const;

  /// Has new connections use another certificate; those that are open keep theirs. On failure the old one
  /// stays.
  Result<void> reload_tls(const TlsFiles& files);

  /// Stops accepting, closes idle connections, and closes the others once the requests that had begun to
  /// arrive are answered, or after `at_most`. Returns at once.
  void drain(std::chrono::milliseconds at_most);
  /// Waits until every connection has ended after drain(), and every exchange is answered.
  void wait();

 private:
  class Threads;
  explicit Server(std::unique_ptr<Threads> threads);
  std::unique_ptr<Threads> threads_;
};

}  // namespace weir::net
