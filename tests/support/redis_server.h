// A redis-server for a test: from Debian's package, on a free port of 127.0.0.1, with nothing on the disk
// unless it is asked for. It ends with the test, however the test ends.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/folder.h"
#include "wire/resp.h"

namespace weir::tests {

/// A port that no process uses. Another process may take it before the server does; starting then fails.
inline std::uint16_t free_port(bool cluster = false) {
  for (;;) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    static_cast<void>(::bind(socket, reinterpret_cast<sockaddr*>(&address), size));
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(socket);
    const std::uint16_t port = ntohs(address.sin_port);
    // A node of a cluster also listens 10000 ports higher.
    if (!cluster || port < 55'000) return port;
  }
}

/// A plain connection that blocks, to look at a server beside weir.
class RedisProbe {
 public:
  explicit RedisProbe(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  RedisProbe(const RedisProbe&) = delete;
  RedisProbe& operator=(const RedisProbe&) = delete;
  ~RedisProbe() { ::close(socket_); }
  bool connected() const { return connected_; }

  /// The answer as text: lists are joined by spaces, errors begin with "-".
  std::string ask(std::initializer_list<std::string_view> words) {
    const std::string command = wire::resp::command(words);
    if (::send(socket_, command.data(), command.size(), MSG_NOSIGNAL) < 0) return "-gone";
    return next();
  }
  /// The next answer, such as a line of MONITOR.
  std::string next() {
    for (;;) {
      const auto status = reader_.read(bytes_);
      if (status == wire::resp::ReplyReader::Status::complete) {
        std::string text = words(reader_.reply(bytes_.data()));
        bytes_.erase(0, reader_.size());
        reader_.reset();
        return text;
      }
      char more[4096];
      const auto count = ::recv(socket_, more, sizeof more, 0);
      if (count <= 0 || status == wire::resp::ReplyReader::Status::malformed) return "-gone";
      bytes_.append(more, static_cast<std::size_t>(count));
    }
  }

 private:
  static std::string words(const wire::resp::Reply& reply) {
    if (reply.is_error()) return "-" + std::string(reply.text());
    if (reply.type() == wire::resp::Type::integer) return std::to_string(*reply.integer());
    if (!reply.is_list()) return std::string(reply.text());
    std::string text;
    for (auto child = reply.children(); !child.at_end(); ++child)
      text += (text.empty() ? "" : " ") + words(*child);
    return text;
  }

  const int socket_;
  bool connected_ = false;
  std::string bytes_;
  wire::resp::ReplyReader reader_;
};

class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> options = {}, bool cluster = false)
      : options_(std::move(options)) {
    // Another process may take the port between finding it and using it.
    for (int attempts = 1;; ++attempts) {
      port_ = free_port(cluster);
      try {
        start();
        return;
      } catch (const std::runtime_error&) {
        kill();
        if (attempts == 3) throw;
      }
    }
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer() { kill(); }

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "redis://" + address(); }
  /// For tests of what is answered, not of when: a sanitizer on a busy machine may take its time.
  std::string patient_url() const { return url() + "?deadline_ms=20000"; }
  std::string file(const std::string& name) const { return folder_.file(name); }

  void start() {
    ::unlink(folder_.file("log").c_str());
    std::vector<std::string> words{"redis-server",     "--port",    std::to_string(port_),
                                   "--bind",           "127.0.0.1", "--dir",
                                   folder_.file("."),  "--save",    "",
                                   "--daemonize",      "no",        "--logfile",
                                   folder_.file("log")};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nowhere, 1);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    wait_until_up();
  }
  /// As a crash would.
  void kill() { end(SIGKILL); }
  /// In good order.
  void stop() { end(SIGTERM); }
  void pause() const { ::kill(pid_, SIGSTOP); }
  void resume() const { ::kill(pid_, SIGCONT); }
  pid_t pid() const { return pid_; }

  std::string ask(std::initializer_list<std::string_view> words) const {
    return RedisProbe(port_).ask(words);
  }

 private:
  void end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGCONT);
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void wait_until_up() {
    for (int i = 0; i < 2000; ++i) {
      RedisProbe probe(port_);
      const std::string answer = probe.connected() ? probe.ask({"PING"}) : std::string();
      // One that wants a password is up, too. The log is ours, whoever else may have the port.
      if ((answer == "PONG" || answer.starts_with("-NOAUTH")) && says_ready()) return;
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = 0;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    throw std::runtime_error("redis-server does not start; is the package installed, and the port free?");
  }
  bool says_ready() const {
    std::ifstream log(folder_.file("log"));
    const std::string text{std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()};
    return text.find("Ready to accept connections") != std::string::npos;
  }

  std::uint16_t port_ = 0;
  const std::vector<std::string> options_;
  Folder folder_;
  pid_t pid_ = 0;
};

/// How many scripts the server has run. Everything that an acquire sends is one, once its limits are known.
inline long scripts_run(const RedisServer& server) {
  const std::string stats = server.ask({"INFO", "commandstats"});
  long calls = 0;
  for (const std::string name : {"cmdstat_evalsha:calls=", "cmdstat_eval:calls="}) {
    const std::size_t at = stats.find(name);
    if (at != std::string::npos) calls += std::stol(stats.substr(at + name.size()));
  }
  return calls;
}

}  // namespace weir::tests
