// Stands between a client and DynamoDB Local and does harm: loses, cuts, repeats and delays answers, by a
// seed.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "net/socket_address.h"

namespace weir::tests {

class FaultyProxy {
 public:
  enum class Fault : unsigned char { none, lost_before, lost_after, cut, twice, late };
  /// Which fault the next request meets. Called on threads of the proxy, one at a time.
  using Choose = std::function<Fault(const std::string& request)>;

  /// On a free port, unless one is named.
  FaultyProxy(std::uint16_t backend, Choose choose, std::uint16_t at = 0)
      : backend_(backend), choose_(std::move(choose)) {
    const auto address = *net::Address::parse("127.0.0.1", at);
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    net::SocketAddress name = net::to_socket(address);
    if (::bind(listening_, name.pointer(), name.size) != 0 || ::listen(listening_, 64) != 0)
      throw std::runtime_error("no port for the proxy");
    ::getsockname(listening_, name.pointer(), &name.size);
    port_ = net::from_socket(name).port;
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~FaultyProxy() {
    ending_ = true;
    {
      const std::scoped_lock lock(mutex_);
      ended_.notify_all();
      ::shutdown(listening_, SHUT_RDWR);
      for (const int client : clients_) ::shutdown(client, SHUT_RDWR);
    }
    accepting_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listening_);
  }
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// How many requests met a fault.
  int harmed() const { return harmed_; }

 private:
  void accept_all() {
    for (;;) {
      const int client = ::accept(listening_, nullptr, nullptr);
      if (client < 0) return;
      const std::scoped_lock lock(mutex_);
      if (ending_) {
        ::close(client);
        return;
      }
      clients_.push_back(client);
      threads_.emplace_back([this, client] { serve(client); });
    }
  }

  void serve(int client) {
    net::HttpClient backend({.host = "127.0.0.1", .port = backend_, .timeout = std::chrono::seconds(60)});
    std::string request;
    while (read_request(client, request) && pass_on(client, backend, request)) {
    }
    const std::scoped_lock lock(mutex_);
    clients_.remove(client);
    ::close(client);
  }

  static bool read_request(int client, std::string& request) {
    request.clear();
    char buffer[8192];
    for (;;) {
      const std::size_t head = request.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = request.find("Content-Length: ");
        const std::size_t length = at < head ? std::stoul(request.substr(at + 16)) : 0;
        if (request.size() >= head + 4 + length) return true;
      }
      const auto got = ::recv(client, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      request.append(buffer, static_cast<std::size_t>(got));
    }
  }

  bool pass_on(int client, net::HttpClient& backend, const std::string& request) {
    Fault fault = Fault::none;
    {
      const std::scoped_lock lock(mutex_);
      if (!ending_) fault = choose_(request);
    }
    harmed_ += fault == Fault::none ? 0 : 1;
    if (fault == Fault::lost_before) return false;
    const std::size_t head = request.find("\r\n\r\n");
    std::string fields;
    for (std::size_t at = request.find("\r\n") + 2; at < head;) {
      const std::size_t end = request.find("\r\n", at);
      const std::string line = request.substr(at, end - at);
      if (!line.starts_with("Host:") && !line.starts_with("Content-Length:")) fields += line + "\r\n";
      at = end + 2;
    }
    const std::string body = request.substr(head + 4);
    auto answered = backend.ask({.method = wire::http::Method::post,
                                 .target = "/",
                                 .fields = fields,
                                 .body = body,
                                 .repeatable = false});
    const auto* const answer = std::get_if<net::HttpAnswer>(&answered);
    if (answer == nullptr || fault == Fault::lost_after) return false;
    std::string text = "HTTP/1.1 " + std::to_string(answer->status) +
                       " X\r\nContent-Length: " + std::to_string(answer->body.size()) + "\r\n\r\n" +
                       answer->body;
    if (fault == Fault::cut) text.resize(text.size() / 2);
    if (fault == Fault::twice) text += text;
    if (fault == Fault::late) {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, std::chrono::milliseconds(300), [this] { return ending_.load(); });
    }
    return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0 && fault != Fault::cut;
  }

  const std::uint16_t backend_;
  const Choose choose_;
  int listening_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ending_{false};
  std::atomic<int> harmed_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<int> clients_;
  std::list<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace weir::tests
