// Stands between a client and a server, lets bytes through later, and loses answers.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weir::tests {

class SlowProxy {
 public:
  enum class Fate : unsigned char { passes, answer_is_lost };
  /// What becomes of a request, by its bytes. Called on the thread of the proxy.
  using Rule = std::function<Fate(const std::string& request)>;

  explicit SlowProxy(std::uint16_t to)
      : to_(to), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    static_cast<void>(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size));
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(listener_, 64);
    thread_ = std::thread([this] { run(); });
  }
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;
  ~SlowProxy() {
    stopped_ = true;
    thread_.join();
    ::close(listener_);
  }
  std::uint16_t port() const { return port_; }
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay.count(); }
  /// A lost answer takes its connection with it.
  void set_rule(Rule rule) {
    const std::scoped_lock lock(mutex_);
    rule_ = std::move(rule);
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  struct Way {
    int from;
    int to;
    std::deque<Piece> pieces;
    bool ended = false;
    bool loses = false;  ///< what comes next, and the connection
  };

  static sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(to_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(client);
      ::close(server);
      return;
    }
    ways_.push_back(std::make_unique<Way>(Way{client, server, {}}));
    ways_.push_back(std::make_unique<Way>(Way{server, client, {}}));
  }
  void run() {
    while (!stopped_) {
      std::vector<pollfd> events{{listener_, POLLIN, 0}};
      for (const auto& way : ways_) events.push_back({way->ended ? -1 : way->from, POLLIN, 0});
      ::poll(events.data(), events.size(), 2);
      const std::size_t ways = ways_.size();
      if (events[0].revents != 0) accept();
      for (std::size_t i = 0; i < ways; ++i) {
        Way& way = *ways_[i];
        if (events[i + 1].revents != 0) take(way, *ways_[i ^ 1U], i % 2 == 0);
        give(way);
      }
    }
    for (const auto& way : ways_) ::close(way->from);
  }
  /// `back`: the other way of the same connection.
  void take(Way& way, Way& back, bool is_request) {
    char bytes[65536];
    const auto count = ::recv(way.from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0) {
      way.ended = true;
      ::shutdown(way.to, SHUT_WR);
    }
    if (count > 0 && way.loses) {
      way.ended = back.ended = true;
      ::shutdown(way.from, SHUT_RDWR);
      ::shutdown(way.to, SHUT_RDWR);
    } else if (count > 0) {
      const std::scoped_lock lock(mutex_);
      if (is_request && rule_)
        back.loses |= rule_({bytes, static_cast<std::size_t>(count)}) == Fate::answer_is_lost;
      way.pieces.push_back({Clock::now() + std::chrono::milliseconds(delay_.load()),
                            std::string(bytes, static_cast<std::size_t>(count))});
    }
  }
  static void give(Way& way) {
    while (!way.pieces.empty() && way.pieces.front().due <= Clock::now()) {
      const std::string& bytes = way.pieces.front().bytes;
      ::send(way.to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      way.pieces.pop_front();
    }
  }

  const std::uint16_t to_;
  const int listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopped_{false};
  std::atomic<long> delay_{0};
  std::mutex mutex_;
  Rule rule_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::thread thread_;
};

}  // namespace weir::tests
