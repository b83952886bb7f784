// Drives a session with bytes: stands for the connection, without socket, thread or running loop. The test
// owns the clock, the bytes that the client has sent, and how many bytes the client takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/session.h"
#include "net/worker.h"

namespace weir::net {

/// A worker whose loop never runs. It starts with a known number of states and buffers, so that a session
/// that keeps one, or returns one twice, is seen.
class IdleWorker {
 public:
  static constexpr std::size_t spares = 100;

  IdleWorker(const ServerOptions& options, Handler& handler)
      : options_(options), worker_(0, options_, handler, counters_) {
    std::vector<ExchangeState*> states;
    std::vector<wire::Buffer> buffers;
    for (std::size_t i = 0; i < spares; ++i) {
      states.push_back(worker_.take_state());
      buffers.push_back(worker_.take_buffer());
    }
    for (ExchangeState* state : states) worker_.give_back(state);
    for (wire::Buffer& buffer : buffers) worker_.give_back(std::move(buffer));
  }
  Worker& worker() { return worker_; }
  std::size_t states_in_use() const { return spares - worker_.spare_states(); }
  std::size_t buffers_in_use() const { return spares - worker_.spare_buffers(); }
  /// Calls `work` as another thread would: answers come back through the worker.
  template <typename Work>
  void elsewhere(const Work& work) {
    {
      const Loop::OnThisThread scope(other_);
      work();
    }
    worker_.turn(Loop::Wait::not_at_all);
  }

 private:
  const ServerOptions options_;
  Counters counters_;
  Worker worker_;
  Loop other_{std::chrono::milliseconds(100)};
};

/// While it exists, the calling thread counts as the worker's.
class SessionDriver final : public SessionShell {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  explicit SessionDriver(Worker& worker, std::size_t takes = unlimited)
      : here_(worker),
        timeouts_(worker.options().timeouts),
        session_(worker, *this, Address(), false),
        takes_(takes) {
    arm();
  }
  ~SessionDriver() { close(); }
  SessionDriver(const SessionDriver&) = delete;
  SessionDriver& operator=(const SessionDriver&) = delete;

  // The client's side.

  void send(std::string_view bytes) {
    arrived_ += bytes;
    run();
  }
  void send_end() {
    ends_ = true;
    run();
  }
  /// The client takes this many bytes more.
  void take(std::size_t count) {
    make_room(count);
    run();
  }
  /// The same, and the loop has not seen it yet.
  void make_room(std::size_t count) { takes_ += std::min(count, unlimited - takes_); }
  /// The client is gone.
  void close() {
    if (std::exchange(closed_, true)) return;
    session_.gone();
  }
  /// All that was sent to the client, without the Date fields.
  std::string received() const {
    std::string text = sent_;
    for (std::size_t at = 0; (at = text.find("\r\nDate: ", at)) != std::string::npos;) {
      text.erase(at, text.find("\r\n", at + 2) - at);
    }
    return text;
  }
  /// Like received(), and forgets it.
  std::string take_received() {
    std::string text = received();
    sent_.clear();
    return text;
  }
  /// What the client has sent and the session has not read.
  std::size_t unread() const { return arrived_.size(); }

  // The server's side.

  void drain() {
    if (closed_) return;
    session_.drain();
    session_.received(0);
    run();
  }
  void pass(Milliseconds time) {
    now_ += time;
    while (!closed_ && deadline_ && *deadline_ <= now_) {
      deadline_.reset();
      waits_.reset();
      session_.timed_out();
      run();
    }
  }
  /// Reads and writes until neither is possible, as the loop would.
  void run() {
    if (closed_) return;
    while (!cut_ && (read() || std::exchange(woken_, false))) flush();
    flush();
    if (cut_ || (session_.over() && session_.output().empty())) return close();
    arm();
  }

  Session& session() { return session_; }
  bool closed() const { return closed_; }
  bool was_cut() const { return cut_; }
  Session::Wait::Kind waits_for() const { return session_.wait().kind; }

  void wake() override {
    if (closed_ || cut_) return;
    woken_ = true;
    flush();
  }
  void cut() override { cut_ = true; }

 private:
  /// Reads once. False if nothing changes by it.
  bool read() {
    const bool wanted = session_.wants_input();
    const std::span<char> room = session_.room();
    // A connection that waits for input and has no room for it would be called again and again.
    if (wanted == room.empty()) std::abort();
    if (!wanted) return false;
    const std::size_t count = std::min(room.size(), arrived_.size());
    arrived_.copy(room.data(), count);
    arrived_.erase(0, count);
    session_.received(count);
    if (count != 0) return true;
    if (!ends_ || session_.ended()) return false;
    session_.received_end();
    return true;
  }
  void flush() {
    while (!cut_ && takes_ != 0 && !session_.output().empty()) {
      const std::string_view output = session_.output().substr(0, takes_);
      if (takes_ != unlimited) takes_ -= output.size();
      sent_ += output;
      session_.sent(output.size());
    }
  }
  /// The same wait keeps its deadline; a new wait gets a new one.
  void arm() {
    const Session::Wait wait = session_.wait();
    if (waits_ == wait) return;
    waits_ = wait;
    deadline_.reset();
    using Kind = Session::Wait::Kind;
    if (wait.kind == Kind::idle) deadline_ = now_ + timeouts_.idle;
    if (wait.kind == Kind::head) deadline_ = now_ + timeouts_.head;
    if (wait.kind == Kind::body) deadline_ = now_ + timeouts_.body;
  }

  const Loop::OnThisThread here_;
  const Timeouts timeouts_;
  Session session_;
  std::string arrived_;
  std::string sent_;
  std::size_t takes_;
  Milliseconds now_{0};
  std::optional<Milliseconds> deadline_;
  std::optional<Session::Wait> waits_;
  bool ends_ = false;
  bool woken_ = false;
  bool cut_ = false;
  bool closed_ = false;
};

}  // namespace weir::net
