// A gateway in this process between clients and upstreams that do exactly what they are told to.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gateway/gateway.h"
#include "net/client.h"
#include "net/server.h"
#include "net/socket_address.h"
#include "store/memory/memory_store.h"
#include "weir/weir.h"

namespace weir::gateway {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The upstream's end of one connection. Reads wait for long, then fail the test.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {
    const timeval patience{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  ~Peer() { close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Up to the text, with it; empty if the gateway closes first.
  std::string read_until(std::string_view text) {
    while (arrived_.find(text) == std::string::npos) {
      if (!more()) return {};
    }
    return take(arrived_.find(text) + text.size());
  }
  std::string read_head() { return read_until("\r\n\r\n"); }
  std::string read(std::size_t count) {
    while (arrived_.size() < count && more()) {
    }
    return take(std::min(count, arrived_.size()));
  }
  /// Whether the gateway closed the connection; takes what came before.
  bool sees_end() {
    while (more()) {
    }
    return true;
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void answer(std::string_view body, std::string_view fields = {}) const {
    send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(fields) +
         "\r\n" + std::string(body));
  }
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }
  void reset() {
    const linger immediately{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &immediately, sizeof immediately);
    close();
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  int socket() const { return socket_; }

 private:
  bool more() {
    char bytes[16384];
    const auto received = ::recv(socket_, bytes, sizeof bytes, 0);
    if (received <= 0) return false;
    arrived_.append(bytes, static_cast<std::size_t>(received));
    return true;
  }
  std::string take(std::size_t count) {
    std::string taken = arrived_.substr(0, count);
    arrived_.erase(0, count);
    return taken;
  }
  int socket_;
  std::string arrived_;
};

/// Answers every request on every connection with its head, as a body.
inline void mirror(Peer& peer, unsigned /*number*/) {
  for (std::string head; !(head = peer.read_head()).empty();) peer.answer(head);
}

/// Listens on a free port; each connection is given to `serve` on a thread of its own, with its number from
/// 0.
class Upstream {
 public:
  using Serve = std::function<void(Peer& peer, unsigned number)>;

  explicit Upstream(Serve serve) : serve_(std::move(serve)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
    EXPECT_EQ(::bind(socket_, name.pointer(), name.size), 0);
    EXPECT_EQ(::listen(socket_, 128), 0);
    name.size = sizeof name.storage;
    ::getsockname(socket_, name.pointer(), &name.size);
    port_ = net::from_socket(name).port;
    thread_ = std::thread([this] { run(); });
  }
  ~Upstream() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
    for (std::thread& thread : threads_) thread.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  unsigned accepted() const { return accepted_.load(); }

 private:
  void run() {
    while (true) {
      const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const unsigned number = accepted_.fetch_add(1);
      threads_.emplace_back([this, socket, number] {
        Peer peer(socket);
        serve_(peer, number);
      });
    }
  }
  const Serve serve_;
  int socket_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<unsigned> accepted_{0};
  std::vector<std::thread> threads_;
  std::thread thread_;
};

/// A port on which nobody listens.
inline std::uint16_t closed_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
  EXPECT_EQ(::bind(socket, name.pointer(), name.size), 0);
  name.size = sizeof name.storage;
  ::getsockname(socket, name.pointer(), &name.size);
  ::close(socket);
  return net::from_socket(name).port;
}

/// The gateway, on a free port, with a store in memory and a clock that stands still.
class Rig {
 public:
  explicit Rig(const std::string& yaml, const std::shared_ptr<store::Store>& store = nullptr,
               unsigned threads = 1, bool with_store = true, const NewClientBounds& new_clients = {},
               std::chrono::milliseconds call_lease = std::chrono::minutes(1),
               decision_log::Keeps keeps = decision_log::Keeps::off,
               telemetry::AccessLog* access_log = nullptr, std::size_t call_bodies = maxima::llm_bodies) {
    GatewayOptions options;
    options.call_bodies = call_bodies;
    options.access_log = access_log;
    if (keeps != decision_log::Keeps::off) {
      auto log = decision_log::DecisionLog::open({.keeps = keeps, .path = {}, .has_thread = false}, clock,
                                                 *entropy_);
      EXPECT_TRUE(log);
      decisions = *std::move(log);
      options.decisions = decisions.get();
    }
    options.call_lease = call_lease;
    options.new_clients = new_clients;
    options.clock = std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &clock);
    options.entropy = entropy_;
    gateway = std::make_unique<Gateway>(options);
    load(yaml);
    if (with_store)
      gateway->set_store(store ? store : std::make_shared<memory::MemoryStore>(clock, *entropy_));
    net::ServerOptions server_options;
    server_options.listen = {{.address = "127.0.0.1"}};
    server_options.threads = threads;
    server_options.tick = std::chrono::milliseconds(5);
    server_options.timeouts.linger = std::chrono::milliseconds(100);
    auto started = net::Server::start(server_options, *gateway);
    EXPECT_TRUE(started);
    server = *std::move(started);
  }
  /// One route to one upstream.
  static std::string route(const std::string& url, const std::string& more = "limits: {rpm: 1000000/min}") {
    return "routes: [{path: /, upstream: \"" + url + "\", " + more + "}]";
  }
  void load(const std::string& yaml) const {
    auto settings = read_gateway_file(yaml, "f");
    ASSERT_TRUE(settings) << settings.error().message;
    for (RouteSettings& route : settings->routes) {
      const auto key = [](const std::string&) { return std::optional<std::string>("gateway-key"); };
      if (!route.llm) continue;
      ASSERT_TRUE(load_llm_files(*route.llm, key));
    }
    const auto before = gateway->routing();
    auto routing = Routing::make(*settings, before.get());
    ASSERT_TRUE(routing) << routing.error().message;
    (*routing)->look_up(std::chrono::seconds(5), [](const UpstreamUrl&, const std::string&) {});
    gateway->set_routing(*routing);
  }
  net::Client client() const { return net::Client(server->addresses()[0]); }
  net::Response get(std::string_view path, std::string_view fields = {}) const {
    return client().ask(net::get(path, fields));
  }
  base::Entropy& entropy() { return *entropy_; }

  FakeClock clock{1'800'000'000'000};
  std::unique_ptr<decision_log::DecisionLog> decisions;
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<net::Server> server;

 private:
  std::shared_ptr<base::SystemEntropy> entropy_ = std::make_shared<base::SystemEntropy>();
};

}  // namespace weir::gateway
