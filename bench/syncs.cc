// Counts syncs: SQLite finds these functions before those of the C library.
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "arena.h"

namespace {

std::atomic<std::uint64_t> log_syncs{0};
std::atomic<std::uint64_t> file_syncs{0};

void count(int file) {
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), name, sizeof name);
  const std::string_view path(name, size < 0 ? 0 : static_cast<std::size_t>(size));
  (path.ends_with("-wal") ? log_syncs : file_syncs).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" int fdatasync(int file) {
  count(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}
extern "C" int fsync(int file) {
  count(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace weir::bench {
Syncs syncs() { return {log_syncs.load(), file_syncs.load()}; }
}  // namespace weir::bench
