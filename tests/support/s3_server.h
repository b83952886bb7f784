// A whole S3 server for a test, on a free port of 127.0.0.1, with all objects in memory:
// tests/sync/s3/s3_server.py. It ends with the test, however the test ends.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests_folder.h"

namespace weir::tests {

class S3Server {
 public:
  struct Keys {
    std::string id;
    std::string secret;
  };

  /// Throws, with what to do, if it cannot be started.
  S3Server() {
    const std::filesystem::path tests = WEIR_TESTS_FOLDER;
    const std::string python = (tests.parent_path() / "build/venv/s3/bin/python").string();
    const std::string script = (tests / "sync/s3/s3_server.py").string();
    int out[2] = {};
    int in[2] = {};
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(in, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      // By its first argument the interpreter finds the packages beside it.
      ::execl(python.c_str(), python.c_str(), "-IB", script.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(in[0]);
    input_ = in[1];
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(out[0]);
    std::istringstream words(line);
    words >> port_ >> writer.id >> writer.secret >> reader.id >> reader.secret;
    if (reader.secret.empty()) {
      end();
      throw std::runtime_error("the S3 server does not start; run ./dev test, which installs it");
    }
  }
  ~S3Server() { end(); }
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  std::uint16_t port() const { return port_; }
  /// The bucket `weir` is there.
  std::string url(const std::string& bucket_and_prefix = "weir") const {
    return "s3://" + bucket_and_prefix + "?endpoint=http://127.0.0.1:" + std::to_string(port_);
  }
  void pause() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  void resume() const { ::kill(pid_, SIGCONT); }

  Keys writer;
  Keys reader;  ///< may not write

 private:
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(input_);
    pid_ = 0;
  }

  std::uint16_t port_ = 0;
  int input_ = -1;
  pid_t pid_ = 0;
};

}  // namespace weir::tests
