// A client for one HTTP/1.1 server with many requests at once: calls from any thread share a few keep-alive
// connections and end in a callback.
//
// A thread of its own does all input and output. A connection carries one request at a time; a call that
// finds no free connection waits. Nothing is sent twice: a call whose connection ends before any of it was
// sent moves to another one, any other call fails.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "net/dial.h"
#include "net/http_call.h"
#include "net/http_connection.h"
#include "net/loop.h"
#include "weir/result.h"

namespace weir::net {

/// Safe to use from any thread.
class HttpPool final : private Timer {
 public:
  /// Fails only if the certificates cannot be read; connections are made when they are needed.
  static Result<std::unique_ptr<HttpPool>> start(HttpPoolOptions options);
  /// As start(), without a thread: the caller runs the loop.
  static Result<std::unique_ptr<HttpPool>> make(HttpPoolOptions options);
  /// Fails all outstanding calls. Not from a callback.
  ~HttpPool() override;
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  /// Fails all outstanding and all later calls. Not from a callback.
  void stop();
  void send(HttpCall& call);
  /// Runs `work` on the pool's thread after the pause; early when the pool ends, and inline after that.
  void after(std::chrono::milliseconds pause, std::function<void()> work);
  Loop& loop() { return *loop_; }
  /// Whether this is the thread of the callbacks: waiting there for a call would deadlock.
  bool is_here() const { return loop_->is_here(); }
  /// How many connections are open, for tests and metrics.
  unsigned connections() const { return open_.load(std::memory_order_relaxed); }
  const HttpPoolOptions& options() const { return options_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// Work for later.
  struct Later final : Timer {
    void on_deadline() override { work(); }
    std::function<void()> work;
  };

  HttpPool(HttpPoolOptions options, TlsContext tls) : options_(std::move(options)), tls_(std::move(tls)) {}

  // All below is for the loop's thread.
  void take();
  void start_timer(std::chrono::milliseconds pause, std::function<void()> work);
  void assign();
  void assign_later();
  void carry_next(HttpConnection& connection);
  void make_more();
  void find_server();
  void looked_up(const LookedUp& found);
  void fail_waiting(const Failure& failure);
  void released(std::size_t calls);
  void end();
  void on_deadline() override;

  // From connections.
  friend class HttpConnection;
  /// The connection is free: just connected, or done with a request.
  void on_free(HttpConnection& connection);
  /// The connection is closed. `failure`: why connecting failed; nothing if it had been connected.
  void on_closed(HttpConnection& connection, const std::optional<Failure>& failure);
  /// A call ends with exactly one of the two.
  void on_reply(HttpCall& call, const HttpReply& reply);
  void on_failure(HttpCall& call, const Failure& failure);

  const HttpPoolOptions options_;
  const TlsContext tls_;
  /// Shared with lookups, which may outlive the pool.
  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>(std::chrono::milliseconds(1));
  std::vector<std::unique_ptr<Later>> timers_;

  base::Mutex mutex_;
  std::vector<HttpCall*> handed_over_ WEIR_GUARDED_BY(mutex_);
  std::size_t outstanding_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::atomic<unsigned> open_{0};
  std::deque<HttpCall*> waiting_;
  std::vector<Address> addresses_;
  Clock::time_point addresses_until_;
  bool looking_up_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace weir::net
