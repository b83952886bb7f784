// One thread of a server: its loop, its connections, its timer.
#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "base/lock.h"
#include "net/bell.h"
#include "net/exchange_state.h"
#include "net/listener.h"
#include "net/readiness.h"
#include "net/timer_wheel.h"
#include "net/tls.h"

namespace weir::net {

class Connection;

/// Counters that all threads of a server share.
struct Counters {
  std::atomic<unsigned> open{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
};

/// All members are for the worker's own thread, except where said.
class Worker final : public Host, public Thread, private Timer {
 public:
  Worker(unsigned index, const ServerOptions& options, Handler& handler, Counters& counters);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The loop. Posting to it is allowed from any thread.
  boost::asio::io_context& context() { return context_; }
  Readiness& readiness() override { return readiness_; }
  /// Runs the loop on the calling thread until the worker has been drained.
  void run();

  void set_tls(TlsContext tls) { tls_ = std::move(tls); }
  void listen(std::unique_ptr<Listener> listener);
  void stop_accepting();
  /// Takes over a connected socket.
  void adopt(int socket, const Address& peer, bool tls);
  /// Lets connections finish what they have begun, for at most so long; then run() returns.
  void drain(std::chrono::milliseconds at_most);
  void retire(Connection& connection);

  /// How many ticks make at least this long, wherever in a tick we are.
  std::uint64_t ticks(std::chrono::milliseconds time) const;
  void set_deadline(Timer& timer, std::uint64_t ticks_from_now);

  void post(Task task) override;
  void defer(Task task) override;
  void set_timer(Timer& timer, std::chrono::milliseconds in) override { set_deadline(timer, ticks(in)); }

  Handler& handler() override { return handler_; }
  const ServerOptions& options() const override { return options_; }
  unsigned index() const override { return index_; }
  bool is_here() const override;
  void hand_over(ExchangeState& state) override;
  ExchangeState* take_state() override;
  void give_back(ExchangeState* state) override;
  wire::Buffer take_buffer() override;
  void give_back(wire::Buffer&& buffer) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Executor = boost::asio::io_context::executor_type;

  void on_deadline() override;
  void start_ticking();
  void wait_for_tick();
  std::uint64_t tick_now() const;
  void turn();
  void set_busy(bool busy);
  void answer_bell();
  void take_handed_over();
  void close_all();
  void bury();
  void stop_if_empty();
  bool has_to_tick() const { return !stopped_ && (connections_ != nullptr || draining_ || timers_ != 0); }

  const unsigned index_;
  const ServerOptions& options_;
  Handler& handler_;
  Counters& counters_;
  boost::asio::io_context context_;
  Readiness readiness_;
  Bell bell_;
  boost::asio::executor_work_guard<Executor> work_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> ticker_;
  TimerWheel wheel_;
  TlsContext tls_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  Connection* connections_ = nullptr;
  std::vector<std::unique_ptr<Connection>> retired_;
  std::vector<std::unique_ptr<ExchangeState>> spare_states_;
  std::vector<wire::Buffer> spare_buffers_;
  /// The exchanges that other threads have finished, last first.
  std::atomic<ExchangeState*> handed_over_{nullptr};
  base::Mutex mutex_;
  std::vector<Task> posted_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> busy_{false};
  /// Other threads inside post() and hand_over(). What they brought may be all that the worker waits for, and
  /// be done before they are out again.
  std::atomic<unsigned> visitors_{0};
  Clock::time_point started_;
  unsigned timers_ = 0;  ///< of listeners that wait
  bool ticking_ = false;
  bool draining_ = false;
  bool stopped_ = false;

  friend class Listener;
};

}  // namespace weir::net
