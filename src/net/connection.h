// The shell around one session: waits for the socket, moves bytes, watches deadlines.
//
// Bytes are moved by plain non-blocking calls; the loop only reports when the next call can make progress. So
// an answer that fits into the socket's buffer never goes through the loop, an idle connection needs no
// buffer, and TLS is read and written the same way.
#pragma once

#include <chrono>
#include <cstdint>

#include "net/readiness.h"
#include "net/session.h"
#include "net/timer_wheel.h"
#include "net/transport.h"

namespace weir::net {

class Worker;

/// Lives on its worker's thread. Retires itself once the socket is closed and the handler holds none of its
/// exchanges.
class Connection final : public SessionShell, private Timer, private Watched {
 public:
  Connection(Worker& worker, int socket, const Address& peer, TlsConnection tls);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin();
  const Address& peer() const { return session_.peer(); }
  /// The server is shutting down: finishes the requests that have begun to arrive, then closes.
  void drain();
  /// Closes at once, even in the middle of a request.
  void close();

  // For its session.

  void wake() override;
  void cut() override;

  // The worker's list of connections.
  Connection* next = nullptr;
  Connection* previous = nullptr;

 private:
  enum class Stage : std::uint8_t { handshake, open, lingering, closed };
  /// The event that the deadline is for.
  enum class Awaits : std::uint8_t { nothing, handshake, idle, head, body, write, linger };

  void on_ready() override { drive(); }
  void on_deadline() override;
  void drive();
  void handshake();
  bool read();
  bool flush();
  void linger();
  void start_linger();
  /// Waits for the next event and sets its deadline.
  void update();
  void fail_soon();
  void drive_later();
  void arm(Awaits awaits, std::uint64_t serial);
  void arm_open();
  std::chrono::milliseconds timeout_of(Awaits awaits) const;
  void retire_if_done();

  Worker& worker_;
  Transport transport_;
  Session session_;
  std::uint64_t sent_ = 0;
  std::uint64_t serial_ = 0;
  Awaits awaits_ = Awaits::nothing;
  Stage stage_ = Stage::handshake;
  bool posted_ = false;   ///< a call of drive() or close() is posted
  bool failing_ = false;  ///< the posted call is close()
  bool retired_ = false;
};

}  // namespace weir::net
