// The program weir: connects the commands to the real environment.
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "cli/output_buffer.h"
#include "cli/run.h"

namespace weir::cli {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string login_name() {
  if (const passwd* user = getpwuid(geteuid()); user != nullptr && *user->pw_name != '\0')
    return user->pw_name;
  return "uid-" + std::to_string(geteuid());
}

Result<std::shared_ptr<Limiter>> open_limiter(std::string_view url, const Options& options) {
  auto limiter = Limiter::open(url, options);
  if (!limiter) return limiter.error();
  return std::make_shared<Limiter>(*std::move(limiter));
}

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C ends the command properly from the first wait on, and at once before it.
bool wait_for_user(std::chrono::milliseconds time) {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  // In short steps: the signal may arrive on a thread of the store.
  constexpr std::chrono::milliseconds step{50};
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
    if (interrupted != 0) return false;
    std::this_thread::sleep_for(step);
  }
  return interrupted == 0;
}

std::size_t terminal_rows() {
  struct winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

int run_here(const std::vector<std::string>& words) {
  const SystemClock clock;
  OutputBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  World world{.in = std::cin,
              .out = out,
              .err = std::cerr,
              .out_is_terminal = isatty(STDOUT_FILENO) == 1,
              .err_is_terminal = isatty(STDERR_FILENO) == 1,
              .environment = environment,
              .clock = clock,
              .login = login_name(),
              .open = open_limiter,
              .check = app::check_store,
              .wait =
                  [&](std::chrono::milliseconds time) {
                    // After a failed write the reader of the output is gone.
                    return buffer.problem() == 0 && wait_for_user(time);
                  },
              .terminal_rows = terminal_rows};
  const int ended = run(words, world);
  out.flush();
  // A closed pipe (`| head`) is no failure; a full disk is.
  if (buffer.problem() == 0 || buffer.problem() == EPIPE) return ended;
  std::cerr << "weir: cannot write the output: " << std::strerror(buffer.problem()) << '\n';
  return ended == 0 ? 1 : ended;
}

}  // namespace
}  // namespace weir::cli

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);  // so that the store is closed properly when the reader of a pipe is gone
  std::vector<std::string> given(words + (count > 0 ? 1 : 0), words + count);
  // AWS Lambda runs a file of this name, without arguments.
  if (given.empty() && count > 0 && std::string_view(words[0]).ends_with("/bootstrap")) given = {"aggregate"};
  return weir::cli::run_here(given);
}
