// A worker in a process of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "crash/worker.h"

namespace weir::crash {

class Child {
 public:
  /// Starts this program again, as a worker.
  explicit Child(const Task& task);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line that it wrote; nothing: it is dead and there is no more.
  std::optional<std::string> line();
  void kill();

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string unread_;
};

/// What the command line of a worker says; nothing: this is no worker.
std::optional<Task> task_of(int argc, char** argv);

}  // namespace weir::crash
