#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/text.h"
#include "store/sqlite/private_file.h"

namespace weir::sqlite {
namespace {

constexpr std::chrono::milliseconds pause_between_tries{5};

std::string lock_path(const std::string& path) { return path + "-lock"; }

std::string program_name() {
  std::ifstream comm("/proc/self/comm");
  std::string name;
  std::getline(comm, name);
  return name.empty() ? "a program" : name;
}

std::string read_all(int file) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string words(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words;
}

void write_all(int file, const std::string& words) {
  // Information for the operator; the lock holds even if this cannot be written.
  if (::ftruncate(file, 0) == 0) static_cast<void>(::pwrite(file, words.data(), words.size(), 0));
}

/// Whether the path still names the open file: its last holder may have removed it.
bool still_there(int file, const std::string& path) {
  struct stat open_file{};
  struct stat named{};
  return ::fstat(file, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

std::string whose(const std::string& words) { return words.empty() ? "another process" : words; }

/// An open file with the lock; -1 while another process holds it.
Result<int> try_lock(const std::string& path) {
  for (;;) {
    const int file = open_private(path, 0);
    if (file < 0) {
      const int reason = errno;
      if (auto checked = check_no_link(path); !checked) return checked.error();
      return base::error(ErrorCode::unavailable, path, ": cannot be made (", std::strerror(reason),
                         "); check that the folder exists and can be written");
    }
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      ::close(file);
      return -1;
    }
    if (still_there(file, path)) return file;
    ::close(file);
  }
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path, std::chrono::milliseconds patience) {
  const std::string lock = lock_path(path);
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto file = try_lock(lock);
    if (!file) return file.error();
    if (*file >= 0) {
      FileLock held(*file, lock);
      held.announce("");
      return held;
    }
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(pause_between_tries);
  }
  const std::string holder = holder_of(path).value_or("another process");
  const bool can_be_asked = holder.find("--server") != std::string::npos;
  return base::error(
      ErrorCode::conflict, path, ": in use by ", holder, "; one process owns the file at a time. ",
      can_be_asked ? "Reach that one, or stop it first"
                   : "Stop that one first, or use a store that processes share, such as Redis");
}

void FileLock::announce(const std::string& how) {
  write_all(file_, base::join(program_name(), " (process ", std::to_string(::getpid()), ")",
                              how.empty() ? "" : ", ", how, "\n"));
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  return *this;
}

FileLock::~FileLock() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());
  ::close(file_);
}

std::optional<std::string> holder_of(const std::string& path) {
  const int file = ::open(lock_path(path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<std::string> holder;
  if (::flock(file, LOCK_SH | LOCK_NB) != 0) holder = whose(read_all(file));
  ::close(file);
  return holder;
}

}  // namespace weir::sqlite
