// Handlers for tests: one that echoes in every way there is to answer.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "net/handler.h"
#include "net/server.h"

namespace weir::net {

/// A thread that does what it is given, in order; stands for a store with a thread of its own.
class Elsewhere {
 public:
  Elsewhere() : thread_([this] { run(); }) {}
  ~Elsewhere() {
    run_later(nullptr);
    thread_.join();
  }
  void run_later(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_one();
  }

 private:
  void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !work_.empty(); });
      const auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;
};

/// A gate that opens once.
class Gate {
 public:
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

/// Sends the request's body back while it comes, holding back where the client does.
class Echo : public ExchangeObserver {
 public:
  static void start(Exchange exchange) {
    auto* echo = new Echo(std::move(exchange));
    echo->exchange_.observe(echo);
    if (echo->exchange_.request().upgrade()) {
      echo->exchange_.start({.status = 101, .fields = "Connection: upgrade\r\nUpgrade: echo\r\n"});
    }
    echo->exchange_.read();
  }
  void on_body(std::string_view data, bool end) override {
    if (!started_ && !exchange_.request().upgrade()) exchange_.start({});
    started_ = true;
    const bool more = exchange_.write(data);
    if (end) {
      exchange_.finish("X-End: yes\r\n");
      delete this;
    } else if (more) {
      exchange_.read();
    }
  }
  void on_writable() override { exchange_.read(); }
  void on_gone(const wire::http::Refusal& why) override {
    if (why.status != 0 && !started_) exchange_.answer({.status = why.status});
    delete this;
  }

 private:
  explicit Echo(Exchange exchange) : exchange_(std::move(exchange)) {}
  virtual ~Echo() = default;
  Exchange exchange_;
  bool started_ = false;
};

/// Answers with the method, the path and the body:
///   /later    from another thread        /echo     streams the body back
///   /forget   not at all                 /big?N    with N bytes
///   /hold     from another thread, once `gate` is open
class TestHandler : public Handler {
 public:
  Gate gate;

  BodyPlan plan(const wire::http::RequestHead& request) override {
    if (request.path() == "/echo")
      return {.kind = BodyPlan::Kind::stream, .largest = std::uint64_t{1} << 40U};
    if (request.path() == "/never") return {.kind = BodyPlan::Kind::refuse, .status = 403, .reason = "never"};
    return {};
  }
  void handle(Exchange exchange) override {
    const std::string_view path = exchange.request().path();
    if (path == "/forget") return;
    if (path == "/echo") return Echo::start(std::move(exchange));
    if (path == "/later" || path == "/hold") return answer_later(std::move(exchange), path == "/hold");
    if (path == "/big") {
      const std::string big(std::stoul(std::string(exchange.request().query())), 'x');
      return exchange.answer({.body = big});
    }
    answer(std::move(exchange));
  }

 private:
  static void answer(Exchange exchange) {
    std::string body(exchange.request().method_text());
    body.append(" ").append(exchange.request().target()).append(" ").append(exchange.body());
    if (exchange.tls()) body += " tls";
    const int status = exchange.request().path() == "/204" ? 204 : 200;
    exchange.answer({.status = status, .fields = "X-Test: yes\r\n", .body = body});
  }
  void answer_later(Exchange exchange, bool hold) {
    elsewhere_.run_later([this, hold, shared = std::make_shared<Exchange>(std::move(exchange))] {
      if (hold) gate.wait();
      answer(std::move(*shared));
    });
  }
  Elsewhere elsewhere_;
};

/// A server on a free port of 127.0.0.1, for the length of a test.
inline ServerOptions test_options() {
  ServerOptions options;
  options.listen = {{.address = "127.0.0.1"}};
  options.tick = std::chrono::milliseconds(5);
  options.timeouts.linger = std::chrono::milliseconds(100);
  return options;
}

}  // namespace weir::net
