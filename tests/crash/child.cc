#include "crash/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace weir::crash {

Child::Child(const Task& task) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> words = {"crash",
                                    "--worker",
                                    task.path,
                                    std::to_string(task.population),
                                    std::to_string(task.seed),
                                    std::to_string(task.first_step),
                                    std::to_string(task.power_lost_at),
                                    std::to_string(ends[1])};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) {
    // It must not outlive a test that was interrupted.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::fcntl(ends[1], F_SETFD, 0);
    ::execv("/proc/self/exe", arguments.data());
    std::_Exit(127);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
}

Child::~Child() {
  kill();
  ::waitpid(process_, nullptr, 0);
  ::close(pipe_);
}

void Child::kill() { ::kill(process_, SIGKILL); }

std::optional<std::string> Child::line() {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char bytes[4096];
    const ssize_t size = ::read(pipe_, bytes, sizeof bytes);
    if (size <= 0) return std::nullopt;
    unread_.append(bytes, static_cast<std::size_t>(size));
  }
}

std::optional<Task> task_of(int argc, char** argv) {
  if (argc != 8 || std::string_view(argv[1]) != "--worker") return std::nullopt;
  return Task{.path = argv[2],
              .population = std::atoi(argv[3]),
              .seed = std::strtoull(argv[4], nullptr, 10),
              .first_step = std::strtoull(argv[5], nullptr, 10),
              .power_lost_at = std::strtoull(argv[6], nullptr, 10),
              .pipe = std::atoi(argv[7])};
}

}  // namespace weir::crash
