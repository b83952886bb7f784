#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace weir::base {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

std::string reason_of(int problem) {
  switch (problem) {
    case ENOENT:
      return "no such file";
    case EACCES:
      return "permission denied";
    case EISDIR:
      return "it is a directory";
    default:
      return std::strerror(problem);
  }
}

}  // namespace

std::string why_unreadable(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0) return reason_of(errno);
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode) ? reason_of(EISDIR) : std::string();
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const auto unreadable = [&](const std::string& reason) {
    return invalid(path, " cannot be read: ", reason);
  };
  const OpenFile file(path);
  if (file.get() < 0) return unreadable(reason_of(errno));
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreadable(reason_of(errno));
    if (size == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(size));
    if (text.size() > most) return unreadable(join("it has more than ", std::to_string(most), " bytes"));
  }
}

}  // namespace weir::base
