// One thread of a server: its loop, its connections, its timer.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "net/connection_counts.h"
#include "net/exchange_state.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/tls.h"

namespace weir::net {

class Connection;

/// Counters that all threads of a server share.
struct Counters {
  std::atomic<unsigned> open{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  ConnectionCounts by_address;  ///< only where the options bound them
};

/// All members are for the worker's own thread, except where said.
class Worker final : public Loop, private Timer {
 public:
  Worker(unsigned index, const ServerOptions& options, Handler& handler, Counters& counters);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Runs the loop on the calling thread until the worker has been drained.
  void serve();

  void set_tls(TlsContext tls) { tls_ = std::move(tls); }
  void listen(std::unique_ptr<Listener> listener);
  void stop_accepting();
  /// Takes over a connected socket.
  void adopt(int socket, const Address& peer, bool tls);
  /// Lets connections finish the requests that have begun, for at most this long; then serve() returns.
  void drain(std::chrono::milliseconds at_most);
  void remove(Connection& connection);
  /// Whether the connections of this address are counted.
  bool counts(const Address& peer) const;

  void post(Work work) override;
  Handler& handler() { return handler_; }
  const ServerOptions& options() const { return options_; }
  unsigned index() const { return index_; }
  /// From another thread: the state is finished, with its answer in `made_elsewhere`.
  void hand_over(ExchangeState& state);
  /// Like buffers, states are needed for the length of a request only, so all sessions of the thread share
  /// them: a state just returned is still in the CPU cache, and an idle connection holds none.
  ExchangeState* take_state();
  using Loop::give_back;
  void give_back(ExchangeState* state);
  std::size_t spare_states() const { return spare_states_.size(); }

 private:
  void on_deadline() override;
  void set_busy(bool busy) override;
  void take_handed_over();
  void close_all();
  void stop_if_empty();
  void count_closed(const Address& peer);

  const unsigned index_;
  const ServerOptions& options_;
  Handler& handler_;
  Counters& counters_;
  TlsContext tls_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  Connection* connections_ = nullptr;
  std::vector<std::unique_ptr<ExchangeState>> spare_states_;
  /// The exchanges that other threads have finished, last first.
  std::atomic<ExchangeState*> handed_over_{nullptr};
  WakeUp handed_over_wake_up_;
  std::atomic<bool> busy_{false};
  /// The number of other threads inside post() and hand_over(). The worker waits for them before it ends: it
  /// may have finished the work that they bring before they have returned.
  std::atomic<unsigned> visitors_{0};
  bool draining_ = false;
};

}  // namespace weir::net
