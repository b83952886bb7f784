// A handler that keeps its exchanges, for tests that answer them step by step.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session_driver.h"

namespace weir::net {

using Kind = Session::Wait::Kind;
using Milliseconds = SessionDriver::Milliseconds;
using Texts = std::vector<std::string>;

inline constexpr std::string_view told_to_continue = "HTTP/1.1 100 Continue\r\n\r\n";
inline constexpr std::string_view upgrade = "Connection: upgrade\r\nUpgrade: x\r\n";

inline std::string get(std::string_view path, std::string_view fields = {}) {
  std::string text = "GET ";
  return text.append(path).append(" HTTP/1.1\r\nHost: a\r\n").append(fields).append("\r\n");
}
inline std::string post(std::string_view path, std::size_t length, std::string_view fields = {}) {
  std::string text = "POST ";
  return text.append(path)
      .append(" HTTP/1.1\r\nHost: a\r\nContent-Length: ")
      .append(std::to_string(length))
      .append("\r\n")
      .append(fields)
      .append("\r\n");
}
inline std::string ok(std::string_view body, std::string_view fields = {}) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append(fields).append("\r\n").append(body);
}

/// Streams the bodies of paths that begin with /stream.
class KeepingHandler final : public Handler {
 public:
  std::vector<Exchange> kept;

  BodyPlan plan(const wire::http::RequestHead& request) override {
    const bool streams = request.path().starts_with("/stream");
    return {.kind = streams ? BodyPlan::Kind::stream : BodyPlan::Kind::buffer};
  }
  void handle(Exchange exchange) override { kept.push_back(std::move(exchange)); }
  void describe(const wire::http::Refusal& refusal, wire::Buffer& /*fields*/, wire::Buffer& body) override {
    body.append(std::to_string(refusal.status));
  }
};

class RecordingObserver final : public ExchangeObserver {
 public:
  explicit RecordingObserver(Exchange& exchange) : exchange_(exchange) { exchange.observe(this); }
  ~RecordingObserver() {
    if (exchange_) exchange_.observe(nullptr);
  }
  RecordingObserver(const RecordingObserver&) = delete;
  RecordingObserver& operator=(const RecordingObserver&) = delete;

  std::string body;
  Texts events;
  bool reads_on = true;
  bool drops = true;

  void on_body(std::string_view data, bool end) override {
    body += data;
    if (end) events.emplace_back("end");
    if (!end && reads_on) exchange_.read();
  }
  void on_writable() override { events.emplace_back("writable"); }
  void on_gone(const wire::http::Refusal& why) override {
    events.push_back("gone " + std::to_string(why.status));
    if (drops) exchange_ = {};
  }

 private:
  Exchange& exchange_;
};

class SessionKeepingTest : public testing::Test {
 protected:
  void start(const ServerOptions& options, std::size_t takes = SessionDriver::unlimited) {
    // Some tests look at the exchanges by reference.
    handler.kept.reserve(100);
    worker = std::make_unique<IdleWorker>(options, handler);
    client = std::make_unique<SessionDriver>(worker->worker(), takes);
  }
  void start(unsigned max_pipelined = 1) {
    ServerOptions options;
    options.max_pipelined = max_pipelined;
    start(options);
  }
  void answer(std::size_t index, std::string_view body = "hi") {
    handler.kept.at(index).answer({.body = body});
    client->run();
  }
  Exchange& kept(std::size_t index) { return handler.kept.at(index); }
  void TearDown() override {
    client->close();
    handler.kept.clear();
    EXPECT_TRUE(client->session().released());
    client.reset();
    EXPECT_EQ(worker->states_in_use(), 0U);
  }

  KeepingHandler handler;
  std::unique_ptr<IdleWorker> worker;
  std::unique_ptr<SessionDriver> client;
};

}  // namespace weir::net
