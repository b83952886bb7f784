#include "decision_log/line_file.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

#include "base/file.h"
#include "base/text.h"

namespace weir::decision_log {
namespace {

Result<int> open_file(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int file = base::open_to_append(path, 0600);
  if (file < 0)
    return base::invalid("the decision log cannot be written to ", base::quoted(path), ": ",
                         base::why_not_appended(errno));
  return file;
}

/// Holds SIGPIPE off during a write: a pipe without a reader is an error like any other.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec at_once{};
    while (!sigismember(&before_, SIGPIPE) && sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

Result<std::unique_ptr<LineFile>> LineFile::open(const std::string& path) {
  auto file = open_file(path);
  if (!file) return file.error();
  return std::unique_ptr<LineFile>(new LineFile(path, *file));
}

LineFile::~LineFile() {
  const base::Guard guard(mutex_);
  if (file_ != STDOUT_FILENO) ::close(file_);
}

/// The file may be a pipe that is shared with other programs, such as stdout, so that its mode is not changed
/// to non-blocking: poll() says when a pipe has room for PIPE_BUF bytes, and no more are written at once.
LineFile::Written LineFile::write(std::string_view lines, std::chrono::milliseconds patience) {
  const WithoutSigpipe held_off;
  const base::Guard guard(mutex_);
  const auto end = std::chrono::steady_clock::now() + patience;
  Written done;
  while (done.bytes < lines.size()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{file_, POLLOUT, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (found == 0) return done;
    if (found < 0 && errno == EINTR) continue;
    const std::string_view part = lines.substr(done.bytes, PIPE_BUF);
    const ssize_t written = found < 0 ? -1 : ::write(file_, part.data(), part.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return done;
    if (written < 0) {
      done.failed = true;
      return done;
    }
    done.bytes += static_cast<std::size_t>(written);
  }
  return done;
}

Result<void> LineFile::reopen() {
  if (path_ == "-") return {};
  auto file = open_file(path_);
  if (!file) return file.error();
  const base::Guard guard(mutex_);
  ::close(file_);
  file_ = *file;
  return {};
}

}  // namespace weir::decision_log
