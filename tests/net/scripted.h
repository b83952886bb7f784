// A server that answers as it is told to, byte by byte.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "net/http_client.h"
#include "net/socket_address.h"

namespace weir::net {

/// Accepts one connection after the other; the n-th does what the n-th script says.
class Scripted {
 public:
  using Script = std::function<void(int client)>;
  explicit Scripted(std::vector<Script> scripts, const char* host = "127.0.0.1")
      : scripts_(std::move(scripts)) {
    const auto any = *Address::parse(host, 0);
    listening_ = ::socket(any.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SocketAddress name = to_socket(any);
    EXPECT_EQ(::bind(listening_, name.pointer(), name.size), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    EXPECT_EQ(::getsockname(listening_, name.pointer(), &name.size), 0);
    address = from_socket(name);
    thread_ = std::thread([this] {
      for (const Script& script : scripts_) {
        const int client = ::accept(listening_, nullptr, nullptr);
        if (client < 0) return;
        ++accepted;
        script(client);
        ::close(client);
      }
    });
  }
  ~Scripted() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  HttpClientOptions options(std::chrono::milliseconds timeout = std::chrono::seconds(60)) const {
    return {.host = address.host(), .port = address.port, .timeout = timeout};
  }

  Address address;
  std::atomic<int> accepted{0};

 private:
  std::vector<Script> scripts_;
  int listening_ = -1;
  std::thread thread_;
};

/// Reads the head of a request, and as much of its body as it says; empty if the client went first.
inline std::string read_request(int client) {
  std::string text;
  char byte = 0;
  while (!text.ends_with("\r\n\r\n")) {
    if (::recv(client, &byte, 1, 0) != 1) return {};
    text += byte;
  }
  const std::size_t at = text.find("Content-Length: ");
  std::size_t length = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
  for (; length > 0 && ::recv(client, &byte, 1, 0) == 1; --length) text += byte;
  return text;
}

inline void send_text(int client, const std::string& text) {
  ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

/// Answers requests with these texts, one after the other, and hangs up.
inline Scripted::Script answering(std::vector<std::string> answers) {
  return [answers = std::move(answers)](int client) {
    for (const std::string& answer : answers) {
      if (read_request(client).empty()) return;
      send_text(client, answer);
    }
  };
}

}  // namespace weir::net
